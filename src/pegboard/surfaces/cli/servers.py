"""`pegboard servers …`: see, add, remove, switch, restart and read the servers."""

from typing import Any
from urllib.parse import quote

import click

from .link import Api
from .options import asked, asks
from .output import clean_lines, document, say, table, tell


@click.group()
def servers() -> None:
    """MCP servers: the sources of tools."""


@servers.command("list")
@asks()
async def list_servers(api: Api, *, as_json: bool) -> None:
    """Every server with its health and how many of its tools are callable or locked."""
    body = await asked(api, "GET", "/servers")
    if as_json:
        document({**body, "gatewayRunning": api.running})
        return
    _told(body, api)
    if not body["servers"]:
        say("No servers yet. Add one:  pegboard servers add NAME -- COMMAND ARGS…   or   pegboard import")
        return
    rows = [
        (
            server["id"],
            server["health"]["state"],
            server["trust"],
            _tally(server["tools"]),
            _from(server["origin"]),
            server["health"]["sentence"] if server["health"]["state"] == "down" else "",
        )
        for server in body["servers"]
    ]
    say(table(("SERVER", "STATE", "TRUST", "TOOLS", "FROM", ""), rows))


@servers.command("add")
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="Reach a server at this URL instead of starting a command.")
@click.option("--transport", type=click.Choice(["http", "sse"]), default="http", show_default=True)
@click.option(
    "--header", "headers", multiple=True, help="NAME=VALUE, sent with every request. May be given many times."
)
@click.option("--env", "env", multiple=True, help="NAME=VALUE for the child process. May be given many times.")
@click.option("--cwd", type=click.Path(file_okay=False), help="The folder the command starts in.")
@click.option("--toolset", help="The toolset it belongs to.  [default: NAME]")
@click.option("--trust", type=click.Choice(["open", "baseline", "strict"]), default="baseline", show_default=True)
@asks()
async def add(
    api: Api,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    transport: str,
    headers: tuple[str, ...],
    env: tuple[str, ...],
    cwd: str | None,
    toolset: str | None,
    trust: str,
    *,
    as_json: bool,
) -> None:
    """Install a server: pegboard servers add NAME -- COMMAND ARGS…, or with --url.

    Secrets are best given as references, which are read when the server starts: --env 'TOKEN=${MY_TOKEN}'.
    """
    body: dict[str, Any] = {"id": name, "trust": trust}
    if toolset:
        body["toolset"] = toolset
    if url is not None:
        body |= {"url": url, "transport": transport, "headers": _pairs(headers, "--header")}
    if command:
        body |= {"command": command[0], "args": list(command[1:]), "env": _pairs(env, "--env"), "cwd": cwd}
    added = await asked(api, "POST", "/servers", body=body)
    if as_json:
        document(added)
    else:
        say(f"Added {added['id']}.{'' if api.running else ' It starts with the gateway: pegboard serve'}")


@servers.command("remove")
@click.argument("server")
@asks()
async def remove(api: Api, server: str, *, as_json: bool) -> None:
    """Take an installed server away, with its switches and approvals."""
    body = await asked(api, "DELETE", f"/servers/{_path(server)}")
    document(body) if as_json else say(f"Removed {body['removed']}.")


@servers.command("enable")
@click.argument("server")
@asks()
async def enable(api: Api, server: str, *, as_json: bool) -> None:
    """Switch a server on."""
    await _switch(api, server, True, as_json, "")


@servers.command("disable")
@click.argument("server")
@click.option("--note", default="", help="Why, for whoever asks later.")
@asks()
async def disable(api: Api, server: str, note: str, *, as_json: bool) -> None:
    """Switch a server off. Its tools stay on the board, locked."""
    await _switch(api, server, False, as_json, note)


@servers.command("restart")
@click.argument("server")
@asks()
async def restart(api: Api, server: str, *, as_json: bool) -> None:
    """Start one server anew; the others are not touched."""
    if not api.running:
        tell("No gateway is running, so there is nothing to restart. Start it: pegboard serve")
    body = await asked(api, "POST", f"/servers/{_path(server)}/restart")
    document(body) if as_json else say(f"Restarting {body['id']}.")


@servers.command("logs")
@click.argument("server")
@asks(live=True)
async def logs(api: Api, server: str, *, as_json: bool) -> None:
    """What a server last wrote to its standard error."""
    body = await asked(api, "GET", f"/servers/{_path(server)}/log")
    if as_json:
        document(body)
    elif body["lines"]:
        say(clean_lines("\n".join(body["lines"])))
    else:
        tell(f"{body['id']} has written nothing.")


async def _switch(api: Api, server: str, on: bool, as_json: bool, note: str) -> None:
    body = await asked(api, "POST", f"/servers/{_path(server)}/switch", body={"on": on, "note": note})
    document(body) if as_json else say(f"{body['id']} is {'on' if on else 'off'}.")


def _told(body: dict[str, Any], api: Api) -> None:
    for notice in body.get("notices", []):
        tell(f"! {notice['text']}")
    if not api.running:
        tell("No gateway is running here; this is what the store and the file say. Start it: pegboard serve")


def _tally(tools: dict[str, int]) -> str:
    locked = ", ".join(f"{count} {status}" for status, count in tools.items() if status != "callable")
    return f"{tools['callable']} callable{', ' + locked if locked else ''}"


def _from(origin: dict[str, Any]) -> str:
    if origin["kind"] == "declared":
        return f"{origin['file'].rsplit('/', 1)[-1]}:{origin['line']}"
    return f"installed by {origin['by']}"


def _pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{name!r} is not NAME=VALUE", param_hint=option)
        pairs[name] = value
    return pairs


def _path(name: str) -> str:
    return quote(name, safe="~")
