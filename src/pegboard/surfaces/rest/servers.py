"""Routes for servers: list, add, remove, switch, restart, log."""

from http import HTTPStatus

from fastapi import APIRouter, Header

from pegboard.core.commands import AddServer, Command, Rejected, RemoveServer, ThrowSwitch
from pegboard.core.ids import LOCAL, BadId, ServerKey, ToolsetId
from pegboard.core.reference import closest
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.ports import Stale

from .bodies import ServerBody, SwitchBody
from .problems import Problem
from .shapes import Shape, notices_shape, server_shape


def server_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter(tags=["servers"])
    board = gateway.board

    def listed(key: ServerKey) -> Shape:
        return server_shape(board.policy.servers[key], board, board.resolution(View()))

    @routes.get("/servers")
    async def list_servers() -> Shape:
        resolution = board.resolution(View())
        return {
            "servers": [server_shape(server, board, resolution) for server in board.policy.servers.values()],
            "notices": notices_shape(board.notices),
        }

    @routes.post("/servers", status_code=HTTPStatus.CREATED)
    async def add(body: ServerBody, if_match: str | None = Header(None)) -> Shape:
        made = body.server(LOCAL, gateway.clock())
        if isinstance(made, BadId):
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, made.why)
        server, toolset = made
        await _done(gateway, AddServer(server, toolset), if_match)
        return listed(server.key)

    @routes.get("/servers/{name}")
    async def show(name: str) -> Shape:
        return listed(server_named(gateway, name))

    @routes.delete("/servers/{name}")
    async def remove(name: str, if_match: str | None = Header(None)) -> Shape:
        key = server_named(gateway, name)
        await _done(gateway, RemoveServer(key), if_match)
        return {"removed": str(key)}

    @routes.post("/servers/{name}/switch")
    async def switch(name: str, body: SwitchBody, if_match: str | None = Header(None)) -> Shape:
        key = server_named(gateway, name)
        await _done(gateway, ThrowSwitch(key, body.on, body.note), if_match)
        return listed(key)

    @routes.post("/toolsets/{name}/switch")
    async def switch_toolset(name: str, body: SwitchBody, if_match: str | None = Header(None)) -> Shape:
        await _done(gateway, ThrowSwitch(ToolsetId(name), body.on, body.note), if_match)
        return {"toolset": name, "on": body.on}

    @routes.post("/servers/{name}/restart")
    async def restart(name: str) -> Shape:
        key = server_named(gateway, name)
        if not gateway.roster.restart(key):
            raise Problem(HTTPStatus.CONFLICT, f"Server {key} is not running. Try: pegboard servers enable {key}")
        return listed(key)

    @routes.get("/servers/{name}/log")
    async def log(name: str) -> Shape:
        key = server_named(gateway, name)
        return {"id": str(key), "lines": list(gateway.roster.log(key))}

    return routes


def server_named(gateway: Gateway, name: str) -> ServerKey:
    """By server key, or by server id while only one server has it."""
    servers = gateway.board.policy.servers
    found = [key for key in servers if name in (str(key), key.server)]
    exact = [key for key in found if str(key) == name] or found
    if len(exact) == 1:
        return exact[0]
    if exact:
        keys = ", ".join(str(key) for key in exact)
        raise Problem(HTTPStatus.CONFLICT, f"Several servers have the id {name!r}: {keys}. Name one by its key.")
    near = closest(name, {str(key) for key in servers} | {key.server for key in servers})
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else "See: pegboard servers list"
    raise Problem(HTTPStatus.NOT_FOUND, f"There is no server {name!r}. {hint}")


async def _done(gateway: Gateway, command: Command, if_match: str | None) -> None:
    """`If-Match` carries the policy version a person looked at; without it the command stands on what is true now."""
    expecting: int | None = None
    if if_match is not None:
        digits = if_match.strip().strip('"')
        if not digits.isdecimal():
            raise Problem(HTTPStatus.BAD_REQUEST, f"If-Match {if_match!r} is not a policy version: send a number.")
        expecting = int(digits)
    match await gateway.operator.do(command, LOCAL, expecting=expecting):
        case Rejected(why):
            raise Problem(HTTPStatus.CONFLICT, why)
        case Stale(current):
            raise Problem(
                HTTPStatus.PRECONDITION_FAILED,
                f"The policy is at version {current} now. Look at it again before you decide.",
                {"policyVersion": current},
            )
        case _:
            gateway.roster.follow(gateway.board.policy)
