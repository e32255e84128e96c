"""Routes: servers."""

from collections.abc import Callable
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, cast

import anyio
import anyio.to_thread
from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.commands.commands import AddServer, ReleaseServer, RemoveServer, SetSwitch, SetTrust
from pegboard.core.decision.facts import servers_under_review
from pegboard.core.model.catalogue import Health, Listing, ProviderOff, is_first_start
from pegboard.core.model.ids import ProviderKey, ServerKey, ToolsetId, ToolsetKey, provider_title
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.model.server import Trust, server_fingerprint
from pegboard.core.model.text import LogLineLevel, log_levels
from pegboard.core.presentations.entries import rough_tool_cost
from pegboard.core.review.review import preview_approvals
from pegboard.gateway.board import BoardState
from pegboard.gateway.maintenance import UnknownNames
from pegboard.gateway.operator import Operator
from pegboard.gateway.providers import ProviderRegistry
from pegboard.gateway.trials import ServerTrials, try_server
from pegboard.ports.providers import Clock, LogLines, ProviderFor, SignIns, SignInUnavailable
from pegboard.surfaces.rest.auth import decision_author
from pegboard.surfaces.rest.commands import IfMatchVersion, run_command
from pegboard.surfaces.rest.requests import ServerBody, ServerFingerprintBody, SwitchBody, TrustBody
from pegboard.surfaces.rest.responses import (
    MAX_PAGE_SIZE,
    AfterParam,
    LimitParam,
    PageResponse,
    ProblemError,
    make_router,
    paginate,
)
from pegboard.surfaces.rest.review_schemas import ServerPreviewInfo, ServerReviewResponse, server_preview_info
from pegboard.surfaces.rest.schemas import (
    NoticeInfo,
    ServerInfo,
    ToolHintsInfo,
    ToolInfo,
    hints_info,
    iso_time,
    notice_infos,
    server_info,
    server_infos,
    tool_info,
)
from pegboard.surfaces.rest.server_setup import baseline_from_trial, require_admin_for_program, to_installation

# What routes about servers answer beside a server itself.


class ServersResponse(PageResponse):
    servers: list[ServerInfo]
    policyVersion: int
    notices: list[NoticeInfo]


class ServerAddedResponse(ServerInfo):
    warnings: list[str]


class ServerRemovedResponse(TypedDict):
    removed: str


class SignInResponse(TypedDict):
    id: str
    signedIn: bool
    since: str | None
    lastAttemptAt: str | None
    error: str | None


class SignInLinkResponse(SignInResponse):
    url: str
    """Works once, and for a few minutes."""


class SignOutResponse(TypedDict):
    id: str
    signedIn: bool
    revoked: bool
    """Whether the server was told to forget too."""


# Waiting for servers: which of them have not said yet whether they are well.


async def wait_until_settled(board: BoardState, key: ProviderKey, within: float) -> None:
    """Until the server has answered or failed, or is no more; but not longer than `within` seconds."""
    with anyio.move_on_after(within), board.changes.subscribe() as bell:
        while key in board.policy.servers and _is_undecided(board.catalogue.health(key)) and not board.is_closed:
            await bell.wait()


def _is_undecided(health: Health | None) -> bool:
    return health is None or is_first_start(health)


def server_routes(
    board: BoardState,
    clock: Clock,
    operator: Operator,
    provider_registry: ProviderRegistry,
    name_watch: UnknownNames,
    sign_ins: Callable[[], SignIns],
    trials: ServerTrials,
) -> APIRouter:
    routes = make_router("servers")

    def current_server_info(key: ProviderKey) -> ServerInfo:
        server = board.policy.servers.get(key)
        if server is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"{provider_title(key)} was removed just now.")
        return server_info(server, board, board.resolution(View()))

    @routes.get("/servers")
    async def list_servers(limit: LimitParam = MAX_PAGE_SIZE, after: AfterParam = None) -> ServersResponse:
        """Every server with its health and the counts of its tools."""
        await name_watch.refresh()
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
        """Install a server. It is started at once. With `baseline`, what a trial listed is its first sight."""
        made = await to_installation(body, clock)
        seen = await baseline_from_trial(body, made, board, trials)
        await run_command(operator, AddServer(made.server, made.toolset, seen), if_match)
        return {**current_server_info(made.server.key), "warnings": list(made.warnings)}

    @routes.get("/servers/{name}")
    async def show_server(name: str, wait: Annotated[float, Query(ge=0, le=60)] = 0) -> ServerInfo:
        """One server, or what a toolset brings itself. `wait` is for how many seconds to wait for its start."""
        key = find_provider(board, name)
        await wait_until_settled(board, key, wait)
        return current_server_info(key)

    @routes.delete("/servers/{name}")
    async def remove_server(name: str, if_match: IfMatchVersion = None) -> ServerRemovedResponse:
        """Take an installed server away."""
        key = find_server(board, name)
        await run_command(operator, RemoveServer(key), if_match)
        await sign_ins().sign_out(key)
        return {"removed": str(key)}

    @routes.post("/servers/{name}/switch")
    async def switch_server(name: str, body: SwitchBody, if_match: IfMatchVersion = None) -> ServerInfo:
        """Switch a server on or off."""
        key = find_server(board, name)
        await run_command(operator, SetSwitch(key, body.enabled, body.note), if_match)
        return current_server_info(key)

    @routes.post("/servers/{name}/restart")
    async def restart_server(name: str) -> ServerInfo:
        """Start one server anew, or what a toolset brings itself."""
        key = find_provider(board, name)
        if not provider_registry.restart(key):
            enable = "servers enable" if isinstance(key, ServerKey) else "toolset enable"
            raise ProblemError(
                HTTPStatus.CONFLICT, f"{provider_title(key)} is not running. Try: pegboard {enable} {key}"
            )
        return current_server_info(key)

    return routes


def find_server(board: BoardState, name: str) -> ServerKey:
    """By server key, or by server id while only one server has it."""
    servers = [key for key in board.policy.servers if isinstance(key, ServerKey)]
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


def find_provider(board: BoardState, name: str) -> ProviderKey:
    """A server, as above; or by its toolset's id what that brings itself."""
    own = ToolsetKey(ToolsetId(name))
    return own if own in board.policy.servers else find_server(board, name)


# Routes for one server on the board: its log, its tools, what it is given, and how far it is trusted.


class LogLevelParam(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ServerLogResponse(TypedDict):
    """The last lines, oldest first, and how grave each is by its own words."""

    id: str
    lines: list[str]
    levels: list[LogLevelParam]
    next: str | None
    """Send it as `after` to be told only what is written from now on."""
    continues: bool
    """Whether these lines go on where `after` was. If not, they are all there is."""


class ServerToolInfo(ToolInfo):
    hints: ToolHintsInfo
    tokens: int


class ServerTrustResponse(ServerInfo):
    policyVersion: int


class ServerToolsResponse(TypedDict):
    id: str
    tools: list[ServerToolInfo]
    tokens: int
    next: str | None
    policyVersion: int


def server_detail_routes(board: BoardState, operator: Operator, provider_registry: ProviderRegistry) -> APIRouter:
    routes = make_router("servers")

    @routes.get("/servers/{name}/log")
    async def show_server_log(
        name: str,
        level: Annotated[LogLevelParam, Query(description="Only what is at least so grave.")] = LogLevelParam.DEBUG,
        after: Annotated[str | None, Query(max_length=64, description="The `next` of an earlier answer.")] = None,
    ) -> ServerLogResponse:
        """The last lines that a server, or what a toolset brings itself, wrote to its error stream."""
        key = find_provider(board, name)
        lines = provider_registry.log(key)
        tail = lines if isinstance(lines, LogLines) else LogLines(lines)
        told = [*log_levels(tail)]
        fresh, continues = tail.lines_after(after)
        pairs = [*zip(fresh, told[len(told) - len(fresh) :], strict=True)]
        least = LogLineLevel[level.name]
        kept = [(line, grade) for line, grade in pairs if grade >= least]
        return {
            "id": str(key),
            "lines": [line for line, _ in kept],
            "levels": [LogLevelParam[grade.name] for _, grade in kept],
            "next": tail.cursor if tail.log_id else None,
            "continues": continues,
        }

    @routes.get("/servers/{name}/tools")
    async def list_server_tools(
        name: str,
        limit: Annotated[int, Query(ge=1, le=2000)] = 500,
        after: Annotated[int, Query(ge=0, description="The `next` of an earlier answer.")] = 0,
    ) -> ServerToolsResponse:
        """The tools of one server with their verdicts, what they claim, and what each costs a model."""
        key = find_provider(board, name)
        resolution = board.resolution(View())
        tools = (board.catalogue.listings.get(key) or Listing(key, ProviderOff())).tools
        page = tools[after : after + limit]
        return {
            "id": str(key),
            "tools": [
                {**tool_info(tool.id, resolution), "hints": hints_info(tool.spec), "tokens": rough_tool_cost(tool.spec)}
                for tool in page
            ],
            "tokens": sum(rough_tool_cost(tool.spec) for tool in tools),
            "next": str(after + limit) if after + limit < len(tools) else None,
            "policyVersion": board.policy.version,
        }

    @routes.put("/servers/{name}/trust")
    async def set_trust(name: str, body: TrustBody, if_match: IfMatchVersion = None) -> ServerTrustResponse:
        """When its tools wait for a person: never, when new or changed after first sight, always."""
        key = find_provider(board, name)
        await run_command(operator, SetTrust(key, Trust(body.trust)), if_match)
        return {
            **server_info(board.policy.servers[key], board, board.resolution(View())),
            "policyVersion": board.policy.version,
        }

    return routes


# Routes for servers that wait for their review: one look at what they would bring, and their release.


def quarantine_routes(board: BoardState, clock: Clock, operator: Operator, provider_for: ProviderFor) -> APIRouter:
    routes = make_router("servers")

    def current_server_info(key: ProviderKey) -> ServerInfo:
        server = board.policy.servers.get(key)
        if server is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"{provider_title(key)} was removed just now.")
        return server_info(server, board, board.resolution(View()))

    def as_read(key: ProviderKey, body: ServerFingerprintBody | None) -> None:
        """What a person has read is what they decide about."""
        if body is not None and body.fingerprint not in (None, server_fingerprint(board.policy.servers[key])):
            told = (
                f"{provider_title(key)} is not the one that you read: somebody put another in its place. Nothing "
                "was done. "
            )
            raise ProblemError(HTTPStatus.CONFLICT, f"{told}Look again: pegboard servers review {key}")

    @routes.post("/servers/{name}/review")
    async def review_server(name: str, body: ServerFingerprintBody | None = None) -> ServerReviewResponse:
        """Start a server in quarantine once, aside from the board, to see what it lists; it is stopped again."""
        key = find_provider(board, name)
        as_read(key, body)
        if key not in {reason.server for reason in servers_under_review(board.policy)}:
            told = (
                f"{provider_title(key)} is not in quarantine. What waits of it: pegboard approvals list --server {key}"
            )
            raise ProblemError(HTTPStatus.CONFLICT, told)
        require_admin_for_program(board.policy.servers[key])
        trial = await try_server(board.policy.servers[key], provider_for, clock)
        everything = tuple(board.catalogue.tools.values())
        board.publish_preview(trial.listing)

        def brings() -> ServerPreviewInfo:
            """Not for the event loop: the scanner reads all of it."""
            return server_preview_info(trial, preview_approvals(trial.listing.tools, everything))

        return cast(ServerReviewResponse, {**current_server_info(key), **await anyio.to_thread.run_sync(brings)})

    @routes.post("/servers/{name}/release")
    async def release_server(
        name: str, body: ServerFingerprintBody | None = None, if_match: IfMatchVersion = None
    ) -> ServerInfo:
        """Let a server out of quarantine. It is started, and every tool it lists waits for approval."""
        key = find_provider(board, name)
        as_read(key, body)
        require_admin_for_program(board.policy.servers[key])
        if if_match is None and body is not None and body.fingerprint is not None:
            # What the board shows now may be another one in the store already.
            if_match = str(board.policy.version)
        await run_command(operator, ReleaseServer(key), if_match)
        return current_server_info(key)

    return routes


# Routes for signing in to servers, and out again. Tokens are in none of their answers.


def sign_in_routes(
    board: BoardState, operator: Operator, provider_registry: ProviderRegistry, sign_ins: Callable[[], SignIns]
) -> APIRouter:
    """`sign_ins` is asked for only when somebody signs in: it takes a while to load."""
    routes = make_router("servers")

    @routes.get("/servers/{name}/sign-in")
    async def show_sign_in(name: str) -> SignInResponse:
        """Whether somebody is signed in to a server, since when, and what went wrong at the last try."""
        key = find_server(board, name)
        found = sign_ins().state(key)
        if isinstance(found, SignInUnavailable):
            raise ProblemError(HTTPStatus.CONFLICT, found.why)
        return {
            "id": str(key),
            "signedIn": found.since is not None,
            "since": iso_time(found.since),
            "lastAttemptAt": iso_time(found.last_at),
            "error": found.problem,
        }

    @routes.post("/servers/{name}/sign-in")
    async def begin_sign_in(name: str) -> SignInLinkResponse:
        """A link by which a person signs in to a server: it works once, and for a few minutes."""
        before = await show_sign_in(name)
        link = sign_ins().create_link(find_server(board, name), decision_author())
        if isinstance(link, SignInUnavailable):
            raise ProblemError(HTTPStatus.CONFLICT, link.why)
        return {**before, "url": link}

    @routes.delete("/servers/{name}/sign-in")
    async def forget_sign_in(name: str) -> SignOutResponse:
        """Forget the sign-in to a server, here and where it can be told to do so too."""
        key = find_server(board, name)
        revoked = await sign_ins().sign_out(key)
        if isinstance(revoked, SignInUnavailable):
            raise ProblemError(HTTPStatus.CONFLICT, revoked.why)
        operator.record("sign_out", str(key), "signed out of it", decision_author())
        provider_registry.restart(key)
        return {"id": str(key), "signedIn": False, "revoked": revoked}

    return routes
