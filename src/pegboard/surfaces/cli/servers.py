"""`pegboard servers …`: see, remove, switch, restart and read the servers."""

from typing import Any

import click

from .adding import add
from .link import Api
from .options import asked, asks, path_of, the_server
from .output import Exit, document, fail, say, tell
from .reviewing import release, review
from .signing import sign_in, sign_out
from .starting import settled, state_now, tally, tell_of
from .text import table


@click.group()
def servers() -> None:
    """MCP servers: the sources of tools."""


servers.add_command(add)
servers.add_command(sign_in)
servers.add_command(sign_out)
servers.add_command(review)
servers.add_command(release)


@servers.command("list")
@asks()
async def list_servers(api: Api, *, as_json: bool) -> None:
    """Every server with its health and how many of its tools are callable or locked."""
    body = await asked(api, "GET", "/servers")
    if as_json:
        document({**body, "gatewayRunning": api.running})
        return
    if not api.running:
        tell("No gateway is running here; this is what the store and the file say. Start it: pegboard serve")
    if not body["servers"]:
        say("No servers yet. Add one:  pegboard servers add NAME -- COMMAND ARGS…   or   pegboard import")
        return
    rows = [
        (
            server["id"],
            _state(server, api),
            server["trust"],
            tally(server) if api.running else "",
            origin_text(server["origin"]),
            _trouble(server),
        )
        for server in body["servers"]
    ]
    say(table(("SERVER", "STATE", "TRUST", "TOOLS" if api.running else "", "FROM", ""), rows))


@servers.command("remove")
@click.argument("server")
@asks()
async def remove(api: Api, server: str, *, as_json: bool) -> None:
    """Take an installed server away, with its switches and approvals."""
    body = await asked(api, "DELETE", f"/servers/{path_of(server)}")
    document(body) if as_json else say(f"Removed {body['removed']}.")


@servers.command("enable")
@click.argument("server")
@asks()
async def enable(api: Api, server: str, *, as_json: bool) -> None:
    """Switch a server on."""
    body = await _switched(api, server, True, "")
    if not body["on"]:
        # Its own switch is on now, so what holds it back is above it.
        toolset = body["toolsetId"]
        tell(f"! The toolset {toolset} is off, so {body['id']} stays off with it: pegboard toolset enable {toolset}")
    body = await settled(api, body)
    document(body) if as_json else say(f"{body['id']} is switched on.{state_now(body, api)}")


@servers.command("disable")
@click.argument("server")
@click.option("--note", default="", help="Why, for whoever asks later.")
@asks()
async def disable(api: Api, server: str, note: str, *, as_json: bool) -> None:
    """Switch a server off. Its tools stay on the board, locked."""
    body = await _switched(api, server, False, note)
    document(body) if as_json else say(f"{body['id']} is switched off.")


@servers.command("restart")
@click.argument("server")
@asks()
async def restart(api: Api, server: str, *, as_json: bool) -> None:
    """Start one server anew; the others are not touched. Ends with 1 when it does not come up."""
    path = path_of(server)
    if not api.running:
        fail(Exit.UNREACHABLE, "no gateway is running here, so there is nothing to restart. Start it: pegboard serve")
    body = await settled(api, await asked(api, "POST", f"/servers/{path}/restart"))
    tell_of(api, body, f"{body['id']} was restarted.", body, as_json=as_json)


@servers.command("logs")
@click.argument("server")
@asks(the_server)
async def logs(api: Api, server: str, *, as_json: bool) -> None:
    """What a server last wrote to its standard error.

    Without a running gateway, the server is started to see what it writes, and stopped again.
    """
    body = await asked(api, "GET", f"/servers/{path_of(server)}/log")
    if as_json:
        document(body)
    elif body["lines"]:
        say("\n".join(body["lines"]))
    else:
        tell(f"{body['id']} has written nothing.")


def origin_text(origin: dict[str, Any]) -> str:
    if origin["kind"] == "declared":
        name = origin["file"].replace(chr(92), "/").rsplit("/", 1)[-1]
        return f"{name}:{origin['line']}" if origin["line"] else name
    return f"installed by {origin['by']}"


async def _switched(api: Api, server: str, on: bool, note: str) -> dict[str, Any]:
    return await asked(api, "POST", f"/servers/{path_of(server)}/switch", body={"on": on, "note": note})


def _trouble(server: dict[str, Any]) -> str:
    if server["review"]:
        return f"waits for review: pegboard servers review {server['id']}"
    health = server["health"]
    match health["state"]:
        case "down" | "asleep":
            return str(health["sentence"])
        case "needs_sign_in":
            return f"pegboard servers sign-in {server['id']}"
        case _:
            return ""


def _state(server: dict[str, Any], api: Api) -> str:
    """Without a gateway nothing runs, so only the switch can be told."""
    state: str = server["health"]["state"]
    return state if api.running else ("on" if server["on"] else "off")
