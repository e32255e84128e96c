"""`pegboard servers`."""

import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import anyio
import click

from pegboard.config.masked_servers import is_secret_key
from pegboard.config.paths import CONFIG_FILE_NAME
from pegboard.config.references import is_only_references
from pegboard.surfaces.cli.api import ApiClient
from pegboard.surfaces.cli.approvals import risk_lines
from pegboard.surfaces.cli.client import SETTLE_TIMEOUT_S
from pegboard.surfaces.cli.confirm import ask_yes_no
from pegboard.surfaces.cli.options import call_api, gateway_command, named_server, parse_names, parse_pairs, server_path
from pegboard.surfaces.cli.output import Exit, fail, one_line, print_json, print_progress, print_text, table

# A server that was just started, watched until it has answered or failed.


async def wait_until_settled(api: ApiClient, server: dict[str, Any]) -> dict[str, Any]:
    """The server as it is once it is up or down. Without a running gateway there is nothing to wait for."""
    if not api.is_running or not server["active"]:
        return server
    params = [("wait", str(SETTLE_TIMEOUT_S))]
    return await call_api(api, "GET", f"/servers/{server['id']}", params=params, waiting=f"{server['id']} to start")


def tool_count_text(server: dict[str, Any]) -> str:
    """How many of its tools can be called; how many are locked, and by what; how many are not on this board."""
    tools, absent = server["tools"], server["hiddenTools"]
    locked = [f"{count} {status}" for status, count in tools.items() if status != "callable"]
    return ", ".join([f"{tools['callable']} callable", *locked, *([f"{absent} not selected"] if absent else [])])


def state_sentence(server: dict[str, Any], api: ApiClient) -> str:
    """What follows the news that it was added or switched on, as a sentence of its own."""
    if server["review"]:
        return f"\n{server['review']} Look at it: pegboard servers review {server['id']}"
    if not api.is_running:
        return " It starts with the gateway: pegboard serve" if server["active"] else ""
    match server["health"]["state"]:
        case "up":
            why = f"\nThe board's selection leaves tools of it out: see selection: in {CONFIG_FILE_NAME}"
            return f" It is up: {tool_count_text(server)}.{why if server['hiddenTools'] else ''}"
        case "down":
            told = one_line(server["health"]["message"]).rstrip(".")
            return f"\nIt is down: {told}.{_logs_hint(server)}"
        case "needs_sign_in":
            return f"\nIt needs a sign-in: pegboard servers sign-in {server['id']}"
        case "starting":
            return " It has not answered yet. See: pegboard servers list"
        case _:
            return ""


def print_server_result(
    api: ApiClient, server: dict[str, Any], done: str, body: dict[str, Any], *, as_json: bool
) -> None:
    """Ends the command in failure when the server that was to be up is not: who scripts it must know."""
    told = f"{done}{state_sentence(server, api)}"
    if api.is_running and server["health"]["state"] in ("down", "needs_sign_in", "starting"):
        fail(Exit.FAILED, told, {"id": server["id"], "health": server["health"]})
    print_json(body) if as_json else print_text(told)


def _logs_hint(server: dict[str, Any]) -> str:
    """Only a program of ours has an error stream that we could show."""
    if server["connection"]["transport"] == "stdio":
        return f"\nSee: pegboard servers logs {server['id']}"
    return "\nIt is tried again by itself." if server["health"].get("retryAt") else ""


@click.command("add")
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="Reach a server at this URL instead of starting a command.")
@click.option(
    "--transport", type=click.Choice(["http", "sse"]), help="How the server at the URL speaks.  [default: http]"
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    callback=parse_pairs,
    help="NAME=VALUE, sent with every request. May be repeated.",
)
@click.option(
    "--env", multiple=True, callback=parse_pairs, help="NAME=VALUE for the command's environment. May be repeated."
)
@click.option(
    "--cwd",
    type=click.Path(file_okay=False),
    help="The folder the command starts in.  [default: this folder, if the command names a file in it]",
)
@click.option("--toolset", help="The toolset it belongs to.  [default: NAME]")
@click.option(
    "--trust",
    type=click.Choice(["open", "baseline", "strict"]),
    default="baseline",
    show_default=True,
    help="When its tools wait for approval: never, when new or changed after first sight, always.",
)
@click.option(
    "--enabled-tools", callback=parse_names, help="Only these of its tools may ever be used, separated by commas."
)
@click.option(
    "--disabled-tools", callback=parse_names, help="These of its tools may never be used, separated by commas."
)
@click.option("--disabled", "off", is_flag=True, help="Install it switched off.")
@click.option(
    "--quarantine", is_flag=True, help="Keep it from starting until you have reviewed it. For what an agent proposes."
)
@click.option(
    "--start",
    type=click.Choice(["always", "on-demand", "on_demand"]),
    help="Start it with the gateway, or by a call.  [default: always]",
    metavar="[always|on-demand]",
)
@click.option(
    "--idle-stop", metavar="TIME", help="With --start on-demand: how long nobody must have called before it is stopped."
)
@click.option(
    "--protocol",
    type=click.Choice(["latest", "handshake"]),
    help="With handshake, none after 2025-11-25 is spoken: for tools that ask while they work.  [default: latest]",
)
@click.option("--start-timeout", metavar="TIME", help="How long it may take to start: seconds, 30s, 2m.  [default: 30]")
@click.option("--call-timeout", metavar="TIME", help="How long one call may take.  [default: 120]")
@click.option("--stop-timeout", metavar="TIME", help="How long it may take to stop before it is killed.  [default: 5]")
@click.option("--no-oauth", is_flag=True, help="Never ask anybody to sign in to it.")
@click.option("--client-id", metavar="ID", help="The client that you registered for Pegboard, to sign in with.")
@click.option("--client-secret", metavar="REFERENCE", help="The client's secret; best a reference: '${MY_SECRET}'.")
@click.option("--client-metadata-url", metavar="URL", help="A client metadata document of yours, in place of an id.")
@click.option("--scopes", callback=parse_names, help="What to ask for when signing in, separated by commas.")
@gateway_command()
async def add(
    api: ApiClient,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    transport: str | None,
    headers: dict[str, str],
    env: dict[str, str],
    cwd: str | None,
    toolset: str | None,
    trust: str,
    enabled_tools: list[str] | None,
    disabled_tools: list[str] | None,
    off: bool,
    quarantine: bool,
    start: str | None,
    idle_stop: str | None,
    protocol: str | None,
    start_timeout: str | None,
    call_timeout: str | None,
    stop_timeout: str | None,
    no_oauth: bool,
    client_id: str | None,
    client_secret: str | None,
    client_metadata_url: str | None,
    scopes: list[str] | None,
    *,
    as_json: bool,
) -> None:
    """Install a server: pegboard servers add NAME -- COMMAND ARGS…, or with --url.

    Every option says what a key of a server in pegboard.yaml says, by the same rules. Secrets are best given as
    references, which are read when the server starts: --env 'TOKEN=${MY_TOKEN}'.
    """
    said: dict[str, Any] = {
        "toolset": toolset,
        "command": command[0] if command else None,
        "args": list(command[1:]),
        "env": env,
        "cwd": _working_folder(command, cwd),
        "url": url,
        "transport": transport,
        "headers": headers,
        "start": None if start is None else start.replace("-", "_"),
        "idle_stop": idle_stop,
        "protocol": protocol,
        "timeouts": _given_options(start=start_timeout, call=call_timeout, stop=stop_timeout),
    }
    given = {key: value for key, value in said.items() if value}
    # Said and empty is not unsaid: no tool at all may be used then.
    given |= _given_options(enabled_tools=enabled_tools, disabled_tools=disabled_tools)
    given |= {"enabled": False} if off else {}
    given |= _oauth_options(
        no_oauth,
        client_id=client_id,
        client_secret=client_secret,
        client_metadata_url=client_metadata_url,
        scopes=scopes,
    )
    body = {"id": name, "trust": trust, "folder": str(Path.cwd()), "quarantine": quarantine, **given}
    _warn_of_secrets({**env, **headers, **_given_options(client_secret=client_secret)})
    added = await wait_until_settled(api, await call_api(api, "POST", "/servers", body=body))
    for warning in added.get("warnings", []):
        print_progress(f"! {warning}")
    print_json(added) if as_json else print_text(f"Added {added['id']}.{state_sentence(added, api)}")


def _given_options(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _oauth_options(never: bool, **said: Any) -> dict[str, Any]:
    told = _given_options(**said)
    if never and told:
        raise click.UsageError("--no-oauth and the options to sign in exclude each other. Keep one of them.")
    return {"oauth": False} if never else {"oauth": told} if told else {}


def _working_folder(command: tuple[str, ...], said: str | None) -> str | None:
    """A gateway runs in a folder of its own, so whoever names a file of this one means it to start here."""
    if said is not None:
        return str(Path(said).absolute())
    return str(Path.cwd()) if any(_is_local_file(word) for word in command) else None


def _is_local_file(word: str) -> bool:
    try:
        return bool(word) and not Path(word).is_absolute() and Path(word).exists()
    except (OSError, ValueError):
        return False


def _warn_of_secrets(pairs: dict[str, str]) -> None:
    for name, value in pairs.items():
        if is_secret_key(name) and value and not is_only_references(value.removeprefix("Bearer ")):
            print_progress(f"! {name} is kept in the store as you wrote it. A reference is not: {name}=${{A_VARIABLE}}")


# `pegboard servers review|release`: a server in quarantine, looked at once and let out.


@click.command("review")
@click.argument("server")
@click.option("--start", is_flag=True, help="Start it once without asking, to see what it lists.")
@gateway_command(named_server)
async def review(api: ApiClient, server: str, start: bool, *, as_json: bool) -> None:
    """What a server in quarantine is, and what it would bring.

    To see its tools it has to be started: once, aside from the board, and it is stopped again. You are shown what
    would run, and asked.
    """
    path = server_path(server)
    body = await call_api(api, "GET", f"/servers/{path}")
    if not body["review"]:
        key = body["id"]
        fail(Exit.REFUSED, f"{key} is not in quarantine. What waits of it: pegboard approvals list --server {key}")
    if not as_json:
        print_text(_describe_server(body))
    if not start and (as_json or not sys.stdin.isatty() or not await ask_yes_no("\nStart it once to see its tools?")):
        print_json(body) if as_json else print_text(f"\nIt was not started. To see its tools: {_review_command(body)}")
        return
    # By what was shown: somebody may have put another program in its place meanwhile.
    read = {"fingerprint": body["fingerprint"]}
    found = await call_api(api, "POST", f"/servers/{path}/review", body=read, waiting=f"{body['id']} to answer")
    if as_json:
        print_json(found)
    else:
        print_text(_tool_lines(found))
    if not found["answered"]:
        fail(Exit.FAILED, f"{found['id']} did not come up: {found['health']['message']}", {"id": found["id"]})


@click.command("release")
@click.argument("server")
@click.option("--fingerprint", help="What servers review ended with: if the server is another one by now, it stays in.")
@gateway_command()
async def release(api: ApiClient, server: str, fingerprint: str | None, *, as_json: bool) -> None:
    """Let a server out of quarantine. It is started, and every tool it lists waits for your approval.

    At a terminal you are shown what will run, and asked, unless you name what you read.
    """
    path = server_path(server)
    if fingerprint is None and not as_json and sys.stdin.isatty():
        fingerprint = await _ask_release(await call_api(api, "GET", f"/servers/{path}"))
    reviewed = None if fingerprint is None else {"fingerprint": fingerprint}
    body = await wait_until_settled(api, await call_api(api, "POST", f"/servers/{path}/release", body=reviewed))
    if as_json:
        print_json(body)
        return
    print_text(f"{body['id']} is out of quarantine.{state_sentence(body, api)}")
    if body["trust"] != "open":
        print_text(f"Its tools wait for you: pegboard approvals list --server {body['id']}")


async def _ask_release(body: dict[str, Any]) -> str | None:
    if body["review"]:
        print_text(_describe_server(body))
        if body["trust"] != "strict":
            print_text(
                "\nIts prompts and resources, if it has any, pass from then on; only the trust strict withholds them."
            )
        if not await ask_yes_no("\nLet it out of quarantine and start it?"):
            fail(Exit.REFUSED, "not released; nothing was changed.")
    return str(body["fingerprint"])


def _describe_server(body: dict[str, Any]) -> str:
    """What would run, in the words of whoever added it; secrets are masked."""
    connection = body["connection"]
    rows = [f"  {name}: {value}" for name, value in connection.items() if value not in (None, [], {}, "")]
    origin = body["origin"]
    by = f"  added by {origin['by']} on {origin['at'][:10]}" if origin["kind"] == "installed" else ""
    return "\n".join([body["id"], f"  {body['review']}", *([by] if by else []), *rows, f"  trust: {body['trust']}"])


def _review_command(body: dict[str, Any]) -> str:
    return f"pegboard servers review {shlex.quote(body['id'])} --start"


def _parameter_lines(found: list[dict[str, Any]]) -> list[str]:
    lines = ["takes"] if found else ["takes nothing that it names"]
    for each in found:
        needed = ", required" if each["required"] else ""
        told = f": {each['description']}" if each["description"] else ""
        lines.append(f"  {each['name']}{needed}  {each['schema']}{told}")
    return lines


def _tool_lines(body: dict[str, Any]) -> str:
    lines: list[str] = []
    for tool in body["tools"]:
        lines.append(f"\n{one_line(tool['name'])}")
        lines += [f"  {tool['description']}"] if tool["description"] else []
        lines += [f"  {line}" for line in _parameter_lines(tool["parameters"])]
        lines += [f"  says of itself  {tool['annotations']}"] if tool["annotations"] else []
        lines += [f"  {line}" for line in risk_lines(tool["findings"], tool["cautions"])]
    for flaw in body["problems"]:
        lines.append(f"\nIt {one_line(flaw['message'])}")
    key = body["id"]
    if body["answered"]:
        lines.append(f"\nIt lists {len(body['tools'])} tools, and was stopped again.")
        command = f"pegboard servers release {key} --fingerprint {body['fingerprint']}"
        lines.append(f"Let it out, to approve them one by one:  {command}")
    lines.append(f"If you do not want it:  pegboard servers remove {key}")
    return "\n".join(lines)


# `pegboard servers sign-in` and `sign-out`: a person's own rights at a server, lent to the gateway.

SIGN_IN_TIMEOUT_S: Final = 1_200.0
"""Seconds: as long as a link and a page together last."""
START_TIMEOUT_S: Final = 10.0
_POLL_INTERVAL_S: Final = 0.5


@click.command("sign-in")
@click.argument("server")
@click.option("--open", "opens", is_flag=True, help="Open the link in your browser.")
@gateway_command(named_server, listens=True)
async def sign_in(api: ApiClient, server: str, opens: bool, *, as_json: bool) -> None:
    """Sign in to a server that asks for it: prints a link to open in a browser, and waits until you have.

    Ends with 1 when nobody signs in or the server does not come up then.

    Without a running gateway the link leads to this command itself; a gateway that runs later is signed in.
    """
    path = server_path(server)
    begun = await call_api(api, "POST", f"/servers/{path}/sign-in", body={})
    (print_progress if as_json else print_text)(
        f"Open this link in your browser to sign in to {begun['id']}:\n\n  {begun['url']}\n"
    )
    if opens and click.launch(begun["url"]):
        print_progress("! No browser could be opened. Open the link yourself.")
    print_progress("  … waiting for you; Ctrl-C gives up")
    state = await _wait_for_sign_in(api, path, begun)
    done = f"Signed in to {state['id']}."
    if not api.is_running:
        # Nothing runs here that could be up: a gateway that runs later is signed in.
        print_json(state) if as_json else print_text(done)
        return
    shown = await _wait_until_up(api, path, datetime.fromisoformat(state["lastAttemptAt"]))
    print_server_result(api, shown, done, {**state, "health": shown["health"]}, as_json=as_json)


@click.command("sign-out")
@click.argument("server")
@gateway_command(named_server)
async def sign_out(api: ApiClient, server: str, *, as_json: bool) -> None:
    """Forget the sign-in to a server, and have the server forget it too where it can be told."""
    path = server_path(server)
    before = await call_api(api, "GET", f"/servers/{path}/sign-in")
    body = await call_api(api, "DELETE", f"/servers/{path}/sign-in")
    print_json(body) if as_json else print_text(f"{_sign_out_text(body, before['lastAttemptAt'] is not None)}")


def _sign_out_text(body: dict[str, Any], known: bool) -> str:
    if body["revoked"]:
        return f"Signed out of {body['id']}. Its authorization server has forgotten the sign-in too."
    if not known:
        return f"Nobody was signed in to {body['id']}."
    there = "Its authorization server could not be told: to end the access there too, revoke it in your account there."
    return f"Signed out of {body['id']}. {there}"


async def _wait_until_up(api: ApiClient, path: str, signed_in: datetime) -> dict[str, Any]:
    """The sign-in is known before the server has taken it up. One that asks for another since did not take it."""
    shown = await wait_until_settled(api, await call_api(api, "GET", f"/servers/{path}"))
    with anyio.move_on_after(START_TIMEOUT_S):
        while _needs_older_sign_in(signed_in, shown["health"]):
            await anyio.sleep(_POLL_INTERVAL_S)
            shown = await wait_until_settled(api, shown)
    return shown


def _needs_older_sign_in(signed_in: datetime, health: dict[str, Any]) -> bool:
    return health["state"] == "needs_sign_in" and datetime.fromisoformat(health["since"]) <= signed_in


async def _wait_for_sign_in(api: ApiClient, path: str, begun: dict[str, Any]) -> dict[str, Any]:
    with anyio.move_on_after(SIGN_IN_TIMEOUT_S):
        while True:
            state = await call_api(api, "GET", f"/servers/{path}/sign-in")
            if state["lastAttemptAt"] not in (None, begun["lastAttemptAt"]):
                return state
            if state["error"] not in (None, begun["error"]):
                fail(Exit.FAILED, str(state["error"]))
            await anyio.sleep(_POLL_INTERVAL_S)
    fail(Exit.FAILED, f"nobody signed in to {begun['id']} in time. Try again: pegboard servers sign-in {begun['id']}")


# `pegboard servers …`: see, remove, switch, restart and read the servers.


@click.group()
def servers() -> None:
    """MCP servers: the sources of tools."""


servers.add_command(add)
servers.add_command(sign_in)
servers.add_command(sign_out)
servers.add_command(review)
servers.add_command(release)


@servers.command("list")
@gateway_command()
async def list_servers(api: ApiClient, *, as_json: bool) -> None:
    """Every server with its health and how many of its tools are callable or locked."""
    body = await call_api(api, "GET", "/servers")
    if as_json:
        print_json({**body, "gatewayRunning": api.is_running})
        return
    if not api.is_running:
        print_progress("No gateway is running here; this is what the store and the file say. Start it: pegboard serve")
    if not body["servers"]:
        print_text("No servers yet. Add one:  pegboard servers add NAME -- COMMAND ARGS…   or   pegboard import")
        return
    rows = [
        (
            server["id"],
            _state_text(server, api),
            server["trust"],
            tool_count_text(server) if api.is_running else "",
            origin_text(server["origin"]),
            _problem_text(server),
        )
        for server in body["servers"]
    ]
    print_text(table(("SERVER", "STATE", "TRUST", "TOOLS" if api.is_running else "", "FROM", ""), rows))


@servers.command("remove")
@click.argument("server")
@gateway_command()
async def remove(api: ApiClient, server: str, *, as_json: bool) -> None:
    """Take an installed server away, with its switches and approvals."""
    body = await call_api(api, "DELETE", f"/servers/{server_path(server)}")
    print_json(body) if as_json else print_text(f"Removed {body['removed']}.")


@servers.command("enable")
@click.argument("server")
@gateway_command()
async def enable(api: ApiClient, server: str, *, as_json: bool) -> None:
    """Switch a server on."""
    body = await _switch_server(api, server, True, "")
    if not body["active"]:
        # Its own switch is on now, so what holds it back is above it.
        toolset = body["toolsetId"]
        print_progress(
            f"! The toolset {toolset} is off, so {body['id']} stays off with it: pegboard toolset enable {toolset}"
        )
    body = await wait_until_settled(api, body)
    print_json(body) if as_json else print_text(f"{body['id']} is switched on.{state_sentence(body, api)}")


@servers.command("disable")
@click.argument("server")
@click.option("--note", default="", help="Why, for whoever asks later.")
@gateway_command()
async def disable(api: ApiClient, server: str, note: str, *, as_json: bool) -> None:
    """Switch a server off. Its tools stay on the board, locked."""
    body = await _switch_server(api, server, False, note)
    print_json(body) if as_json else print_text(f"{body['id']} is switched off.")


@servers.command("restart")
@click.argument("server")
@gateway_command()
async def restart(api: ApiClient, server: str, *, as_json: bool) -> None:
    """Start one server anew; the others are not touched. Ends with 1 when it does not come up."""
    path = server_path(server)
    if not api.is_running:
        fail(Exit.UNREACHABLE, "no gateway is running here, so there is nothing to restart. Start it: pegboard serve")
    body = await wait_until_settled(api, await call_api(api, "POST", f"/servers/{path}/restart"))
    print_server_result(api, body, f"{body['id']} was restarted.", body, as_json=as_json)


@servers.command("logs")
@click.argument("server")
@gateway_command(named_server)
async def logs(api: ApiClient, server: str, *, as_json: bool) -> None:
    """What a server last wrote to its standard error.

    Without a running gateway, the server is started to see what it writes, and stopped again.
    """
    body = await call_api(api, "GET", f"/servers/{server_path(server)}/log")
    if as_json:
        print_json(body)
    elif body["lines"]:
        print_text("\n".join(body["lines"]))
    else:
        print_progress(f"{body['id']} has written nothing.")


def origin_text(origin: dict[str, Any]) -> str:
    if origin["kind"] == "declared":
        name = origin["file"].replace(chr(92), "/").rsplit("/", 1)[-1]
        return f"{name}:{origin['line']}" if origin["line"] else name
    return f"installed by {origin['by']}"


async def _switch_server(api: ApiClient, server: str, on: bool, note: str) -> dict[str, Any]:
    return await call_api(api, "POST", f"/servers/{server_path(server)}/switch", body={"enabled": on, "note": note})


def _problem_text(server: dict[str, Any]) -> str:
    if server["review"]:
        return f"waits for review: pegboard servers review {server['id']}"
    health = server["health"]
    match health["state"]:
        case "down" | "asleep":
            return str(health["message"])
        case "needs_sign_in":
            return f"pegboard servers sign-in {server['id']}"
        case _:
            return ""


def _state_text(server: dict[str, Any], api: ApiClient) -> str:
    """Without a gateway nothing runs, so only the switch can be told."""
    state: str = server["health"]["state"]
    return state if api.is_running else ("on" if server["active"] else "off")
