"""Routes for servers: list, add, remove, switch, restart."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query

from pegboard.core.commands import AddServer, RemoveServer, SetSwitch
from pegboard.core.ids import ProviderKey, ServerKey, ToolsetId, ToolsetKey, provider_title
from pegboard.core.reference import closest_names
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.trials import ServerTrials
from pegboard.ports import SignIns

from .answers import make_router
from .bodies import ServerBody, SwitchBody
from .deciding import IfMatchVersion, run_command
from .health import wait_until_settled
from .pages import MAX_PAGE_SIZE, AfterParam, LimitParam, paginate
from .problems import ProblemError
from .server_shapes import ServerAddedResponse, ServerRemovedResponse, ServersResponse
from .server_trials import baseline_from_trial, to_installation
from .shapes import ServerInfo, notice_infos, server_info, server_infos


def server_routes(gateway: Gateway, sign_ins: Callable[[], SignIns], trials: ServerTrials) -> APIRouter:
    routes = make_router("servers")
    board = gateway.board

    def current_server_info(key: ProviderKey) -> ServerInfo:
        server = board.policy.servers.get(key)
        if server is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"{provider_title(key)} was removed just now.")
        return server_info(server, board, board.resolution(View()))

    @routes.get("/servers")
    async def list_servers(limit: LimitParam = MAX_PAGE_SIZE, after: AfterParam = None) -> ServersResponse:
        """Every server with its health and the counts of its tools."""
        await gateway.unknown_names.refresh()
        resolution, servers = board.resolution(View()), board.policy.servers
        keys, following = paginate([key for key in servers if isinstance(key, ServerKey)], str, limit, after)
        return {
            **following,
            "servers": server_infos([servers[key] for key in keys], board, resolution),
            "policyVersion": board.policy.version,
            "notices": notice_infos(board.notices),
        }

    @routes.post("/servers", status_code=HTTPStatus.CREATED)
    async def add_server(body: ServerBody, if_match: IfMatchVersion = None) -> ServerAddedResponse:
        """Install a server. It is started at once. With `seen`, exactly what a try showed counts as its first sight."""
        made = await to_installation(body, gateway)
        seen = await baseline_from_trial(body, made, gateway, trials)
        await run_command(gateway, AddServer(made.server, made.toolset, seen), if_match)
        return {**current_server_info(made.server.key), "warnings": list(made.warnings)}

    @routes.get("/servers/{name}")
    async def show_server(name: str, settle: Annotated[float, Query(ge=0, le=60)] = 0) -> ServerInfo:
        """One server, or what a toolset brings itself. With `settle`, so many seconds are waited for its start."""
        key = find_provider(gateway, name)
        await wait_until_settled(board, key, settle)
        return current_server_info(key)

    @routes.delete("/servers/{name}")
    async def remove_server(name: str, if_match: IfMatchVersion = None) -> ServerRemovedResponse:
        """Take an installed server away."""
        key = find_server(gateway, name)
        await run_command(gateway, RemoveServer(key), if_match)
        await sign_ins().sign_out(key)
        return {"removed": str(key)}

    @routes.post("/servers/{name}/switch")
    async def switch_server(name: str, body: SwitchBody, if_match: IfMatchVersion = None) -> ServerInfo:
        """Switch a server on or off."""
        key = find_server(gateway, name)
        await run_command(gateway, SetSwitch(key, body.on, body.note), if_match)
        return current_server_info(key)

    @routes.post("/servers/{name}/restart")
    async def restart_server(name: str) -> ServerInfo:
        """Start one server anew, or what a toolset brings itself."""
        key = find_provider(gateway, name)
        if not gateway.providers.restart(key):
            enable = "servers enable" if isinstance(key, ServerKey) else "toolset enable"
            raise ProblemError(
                HTTPStatus.CONFLICT, f"{provider_title(key)} is not running. Try: pegboard {enable} {key}"
            )
        return current_server_info(key)

    return routes


def find_server(gateway: Gateway, name: str) -> ServerKey:
    """By server key, or by server id while only one server has it."""
    servers = [key for key in gateway.board.policy.servers if isinstance(key, ServerKey)]
    found = [key for key in servers if name in (str(key), key.server)]
    exact = [key for key in found if str(key) == name] or found
    if len(exact) == 1:
        return exact[0]
    if exact:
        keys = ", ".join(str(key) for key in exact)
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, f"Several servers have the id {name!r}: {keys}. Name one by its key."
        )
    near = closest_names(name, {str(key) for key in servers} | {key.server for key in servers})
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else "See: pegboard servers list"
    raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no server {name!r}. {hint}")


def find_provider(gateway: Gateway, name: str) -> ProviderKey:
    """A server, as above; or by its toolset's id what that brings itself."""
    own = ToolsetKey(ToolsetId(name))
    return own if own in gateway.board.policy.servers else find_server(gateway, name)
