"""`pegboard servers …`: see, remove, switch, restart and read the servers."""

from typing import Any

import click

from .adding import add
from .link import ApiClient
from .options import call_api, gateway_command, named_server, server_path
from .output import Exit, fail, print_json, print_progress, print_text
from .reviewing import release, review
from .signing import sign_in, sign_out
from .starting import print_server_result, state_sentence, tool_count_text, wait_until_settled
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
    if not body["on"]:
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
    return await call_api(api, "POST", f"/servers/{server_path(server)}/switch", body={"on": on, "note": note})


def _problem_text(server: dict[str, Any]) -> str:
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


def _state_text(server: dict[str, Any], api: ApiClient) -> str:
    """Without a gateway nothing runs, so only the switch can be told."""
    state: str = server["health"]["state"]
    return state if api.is_running else ("on" if server["on"] else "off")
