"""The route that tries a server before it is added: what it would bring, or why it brings nothing. Nothing is saved."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Literal, cast

import anyio.to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.catalogue import Listing, ProviderDown, ProviderNeedsSignIn, has_listed
from pegboard.core.ids import ServerKey, ToolId, provider_title
from pegboard.core.review import PendingApproval, preview_approvals
from pegboard.core.scope import TokenScope
from pegboard.core.server import Http, Server
from pegboard.core.tokens import tool_cost
from pegboard.core.tool import ToolSpec
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.trial import ServerTrial
from pegboard.gateway.trials import ServerTrials, TooManyTrialsError

from .access import decision_author, refuse_references, require_scope
from .answers import make_router
from .bodies import ServerBody
from .claims import ToolHintsInfo, hints_info
from .installing import InvalidServerBody, ServerInstallation, read_installation
from .problems import ProblemError
from .reviews import ParameterInfo, RiskInfo, ScanFindingInfo, tool_text_info, waiting_tool_info
from .server_sources import resolve_source
from .shapes import FlawInfo, HealthInfo, flaw_infos, health_info

SIGN_IN_FIRST = "It wants a person to sign in first. Add it, sign in, and what it lists waits for you or is seen then."


class TrialToolInfo(TypedDict):
    """One tool as it would come. Its words are the server's own; `notes` is what the scanner says of them."""

    name: str
    title: str | None
    description: str
    parameters: list[ParameterInfo]
    annotations: str | None
    hints: ToolHintsInfo
    tokens: int
    risk: RiskInfo
    notes: list[ScanFindingInfo]
    cautions: list[str]
    fingerprint: str


class ServerTrialResponse(TypedDict):
    """How a server answered. `seen` names what was shown, for whoever adds it then."""

    id: str
    state: Literal["answered", "needs_sign_in", "failed"]
    sentence: str
    health: HealthInfo
    tools: list[TrialToolInfo]
    tokens: int
    flaws: list[FlawInfo]
    lines: list[str]
    seen: str | None
    thereAlready: str | None
    warnings: list[str]


def server_trial_routes(gateway: Gateway, trials: ServerTrials) -> APIRouter:
    routes = make_router("servers")
    board = gateway.board

    @routes.post("/servers/try")
    async def try_server(body: ServerBody) -> ServerTrialResponse:
        """Start a server once, apart from the board, to see what it lists; it is ended again and nothing is saved."""
        made = await to_installation(body, gateway)
        try:
            trial, seen = await trials.try_server(made.server)
        except TooManyTrialsError as error:
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, str(error)) from None
        others = tuple(board.catalogue.tools.values())
        there = board.policy.servers.get(made.server.key)

        def build_response() -> ServerTrialResponse:
            """Not for the event loop: the scanner reads all of it."""
            shape = _trial_response(made, trial, preview_approvals(trial.listing.tools, others))
            shape["seen"] = None if seen is None else seen.id
            shape["thereAlready"] = None if there is None else str(there.origin)
            return shape

        return await anyio.to_thread.run_sync(build_response)

    return routes


async def to_installation(body: ServerBody, gateway: Gateway) -> ServerInstallation:
    """Raises `Problem`, with everything that is wrong."""
    whole = await resolve_source(body)
    refuse_references(whole.as_entry())
    made = read_installation(whole, decision_author(), gateway.clock())
    if isinstance(made, InvalidServerBody):
        told = list(made.problems)
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told), {"errors": told})
    require_admin_for_program(made.server)
    return made


def require_admin_for_program(server: Server) -> None:
    """Whoever chooses a program that runs on the gateway's machine can do everything there."""
    if not isinstance(server.connection, Http):
        require_scope(TokenScope.ADMIN, f"{provider_title(server.key)} starts a program on the gateway's machine")


async def baseline_from_trial(
    body: ServerBody, made: ServerInstallation, gateway: Gateway, trials: ServerTrials
) -> Mapping[ToolId, ToolSpec] | None:
    """What of a try that the body names counts as seen. Raises `Problem` where that was of another server."""
    if body.seen is None:
        return None
    seen, key = trials.find_result(body.seen, made.server), made.server.key
    if seen is None or not isinstance(key, ServerKey):
        told = "What was tried was another server, or too long ago. Nothing was added. Try it again: POST /servers/try"
        raise ProblemError(HTTPStatus.CONFLICT, told)
    return await seen.baseline(key, tuple(gateway.board.catalogue.tools.values()))


def _trial_response(
    made: ServerInstallation, trial: ServerTrial, waiting: tuple[PendingApproval, ...]
) -> ServerTrialResponse:
    tools = [_trial_tool_info(each) for each in waiting]
    health = trial.listing.health
    return {
        "id": str(made.server.key),
        "state": "answered"
        if has_listed(trial.listing)
        else "needs_sign_in"
        if isinstance(health, ProviderNeedsSignIn)
        else "failed",
        "sentence": _trial_summary(trial.listing, sum(tool["tokens"] for tool in tools)),
        "health": _without_retry(health_info(health)),
        "tools": tools,
        "tokens": sum(tool["tokens"] for tool in tools),
        "flaws": flaw_infos(trial.listing.problems),
        "lines": list(trial.lines),
        "seen": None,
        "thereAlready": None,
        "warnings": list(made.warnings),
    }


def _trial_summary(listing: Listing, cost: int) -> str:
    match listing.health:
        case ProviderNeedsSignIn():
            return SIGN_IN_FIRST
        case ProviderDown(_, why):
            return f"It did not come up: {why.rstrip('.')}."
        case _:
            count = len(listing.tools)
            tools = "1 tool" if count == 1 else f"{count} tools"
            return f"It answered with {tools}; {cost:,} tokens if all are shown to a model."


def _without_retry(health: HealthInfo) -> HealthInfo:
    """Nothing tries a server again that has ended already."""
    health.pop("retryAt", None)
    return health


def _trial_tool_info(each: PendingApproval) -> TrialToolInfo:
    told = {**waiting_tool_info(each), **tool_text_info(each)}
    return cast(
        TrialToolInfo,
        {key: value for key, value in told.items() if key in TrialToolInfo.__annotations__}
        | {
            "hints": hints_info(each.tool.spec),
            "tokens": tool_cost(each.tool.spec),
        },
    )
