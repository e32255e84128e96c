"""Routes for servers: list, add, remove, switch, restart."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query

from pegboard.core.commands import AddServer, RemoveServer, ThrowSwitch
from pegboard.core.ids import ProviderKey, ServerKey, ToolsetId, ToolsetKey, titled
from pegboard.core.reference import closest
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.trials import Trials
from pegboard.ports import SignIns

from .answers import routes_about
from .bodies import ServerBody, SwitchBody
from .deciding import Version, done
from .health import settled
from .pages import MOST, After, Limit, page_of
from .problems import Problem
from .server_shapes import AddedShape, RemovedServerShape, ServersShape
from .server_trials import seen_before, to_install
from .shapes import ServerShape, notices_shape, server_shape, server_shapes


def server_routes(gateway: Gateway, sign_ins: Callable[[], SignIns], trials: Trials) -> APIRouter:
    routes = routes_about("servers")
    board = gateway.board

    def listed(key: ProviderKey) -> ServerShape:
        server = board.policy.servers.get(key)
        if server is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"{titled(key)} was removed just now.")
        return server_shape(server, board, board.resolution(View()))

    @routes.get("/servers")
    async def list_servers(limit: Limit = MOST, after: After = None) -> ServersShape:
        """Every server with its health and the counts of its tools."""
        await gateway.unknown_names.refresh()
        resolution, servers = board.resolution(View()), board.policy.servers
        keys, following = page_of([key for key in servers if isinstance(key, ServerKey)], str, limit, after)
        return {
            **following,
            "servers": server_shapes([servers[key] for key in keys], board, resolution),
            "policyVersion": board.policy.version,
            "notices": notices_shape(board.notices),
        }

    @routes.post("/servers", status_code=HTTPStatus.CREATED)
    async def add_server(body: ServerBody, if_match: Version = None) -> AddedShape:
        """Install a server. It is started at once. With `seen`, exactly what a try showed counts as its first sight."""
        made = await to_install(body, gateway)
        seen = await seen_before(body, made, gateway, trials)
        await done(gateway, AddServer(made.server, made.toolset, seen), if_match)
        return {**listed(made.server.key), "warnings": list(made.warnings)}

    @routes.get("/servers/{name}")
    async def show_server(name: str, settle: Annotated[float, Query(ge=0, le=60)] = 0) -> ServerShape:
        """One server, or what a toolset brings itself. With `settle`, so many seconds are waited for its start."""
        key = provider_named(gateway, name)
        await settled(board, key, settle)
        return listed(key)

    @routes.delete("/servers/{name}")
    async def remove_server(name: str, if_match: Version = None) -> RemovedServerShape:
        """Take an installed server away."""
        key = server_named(gateway, name)
        await done(gateway, RemoveServer(key), if_match)
        await sign_ins().forget(key)
        return {"removed": str(key)}

    @routes.post("/servers/{name}/switch")
    async def switch_server(name: str, body: SwitchBody, if_match: Version = None) -> ServerShape:
        """Switch a server on or off."""
        key = server_named(gateway, name)
        await done(gateway, ThrowSwitch(key, body.on, body.note), if_match)
        return listed(key)

    @routes.post("/servers/{name}/restart")
    async def restart_server(name: str) -> ServerShape:
        """Start one server anew, or what a toolset brings itself."""
        key = provider_named(gateway, name)
        if not gateway.roster.restart(key):
            enable = "servers enable" if isinstance(key, ServerKey) else "toolset enable"
            raise Problem(HTTPStatus.CONFLICT, f"{titled(key)} is not running. Try: pegboard {enable} {key}")
        return listed(key)

    return routes


def server_named(gateway: Gateway, name: str) -> ServerKey:
    """By server key, or by server id while only one server has it."""
    servers = [key for key in gateway.board.policy.servers if isinstance(key, ServerKey)]
    found = [key for key in servers if name in (str(key), key.server)]
    exact = [key for key in found if str(key) == name] or found
    if len(exact) == 1:
        return exact[0]
    if exact:
        keys = ", ".join(str(key) for key in exact)
        raise Problem(HTTPStatus.BAD_REQUEST, f"Several servers have the id {name!r}: {keys}. Name one by its key.")
    near = closest(name, {str(key) for key in servers} | {key.server for key in servers})
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else "See: pegboard servers list"
    raise Problem(HTTPStatus.NOT_FOUND, f"There is no server {name!r}. {hint}")


def provider_named(gateway: Gateway, name: str) -> ProviderKey:
    """A server, as above; or by its toolset's id what that brings itself."""
    own = ToolsetKey(ToolsetId(name))
    return own if own in gateway.board.policy.servers else server_named(gateway, name)
