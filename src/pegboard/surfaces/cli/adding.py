"""`pegboard servers add`: a server installed by a person, as they would start it here."""

from pathlib import Path
from typing import Any

import click

from pegboard.config.masking import is_secret_key
from pegboard.config.references import is_only_references

from .link import ApiClient
from .options import call_api, gateway_command
from .output import print_json, print_progress, print_text
from .pairs import parse_names, parse_pairs
from .starting import state_sentence, wait_until_settled


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
