"""The route that tries a server before it is added: what it would bring, or why it brings nothing. Nothing is saved."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Literal, cast

import anyio.to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.catalogue import Down, Listing, NeedsSignIn, has_listed
from pegboard.core.ids import ServerKey, ToolId, titled
from pegboard.core.review import Waiting, noted
from pegboard.core.scope import Scope
from pegboard.core.server import Http, Server
from pegboard.core.tokens import tool_cost
from pegboard.core.tool import ToolSpec
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.trial import Trial
from pegboard.gateway.trials import TooMany, Trials

from .access import refuse_references, require, whoever
from .answers import routes_about
from .bodies import ServerBody
from .claims import Hints, hints_shape
from .installing import Installing, Misfit, installing
from .problems import Problem
from .reviews import FindingShape, ParameterShape, RiskShape, waiting_shape, words_shape
from .server_sources import sourced
from .shapes import FlawShape, HealthShape, flaws_shape, health_shape

SIGN_IN = "It wants a person to sign in first. Add it, sign in, and what it lists waits for you or is seen then."


class TriedTool(TypedDict):
    """One tool as it would come. Its words are the server's own; `notes` is what the scanner says of them."""

    name: str
    title: str | None
    description: str
    parameters: list[ParameterShape]
    annotations: str | None
    hints: Hints
    tokens: int
    risk: RiskShape
    notes: list[FindingShape]
    cautions: list[str]
    fingerprint: str


class Tried(TypedDict):
    """How a server answered. `seen` names what was shown, for whoever adds it then."""

    id: str
    state: Literal["answered", "needs_sign_in", "failed"]
    sentence: str
    health: HealthShape
    tools: list[TriedTool]
    tokens: int
    flaws: list[FlawShape]
    lines: list[str]
    seen: str | None
    thereAlready: str | None
    warnings: list[str]


def trial_routes(gateway: Gateway, trials: Trials) -> APIRouter:
    routes = routes_about("servers")
    board = gateway.board

    @routes.post("/servers/try")
    async def try_server(body: ServerBody) -> Tried:
        """Start a server once, apart from the board, to see what it lists; it is ended again and nothing is saved."""
        made = await to_install(body, gateway)
        try:
            trial, seen = await trials.tried(made.server)
        except TooMany as error:
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, str(error)) from None
        others = tuple(board.catalogue.tools.values())
        there = board.policy.servers.get(made.server.key)

        def told() -> Tried:
            """Not for the event loop: the scanner reads all of it."""
            shape = _tried_shape(made, trial, noted(trial.listing.tools, others))
            shape["seen"] = None if seen is None else seen.id
            shape["thereAlready"] = None if there is None else str(there.origin)
            return shape

        return await anyio.to_thread.run_sync(told)

    return routes


async def to_install(body: ServerBody, gateway: Gateway) -> Installing:
    """Raises `Problem`, with everything that is wrong."""
    whole = await sourced(body)
    refuse_references(whole.written())
    made = installing(whole, whoever(), gateway.clock())
    if isinstance(made, Misfit):
        told = list(made.problems)
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told), {"errors": told})
    require_for_program(made.server)
    return made


def require_for_program(server: Server) -> None:
    """Whoever chooses a program that runs on the gateway's machine can do everything there."""
    if not isinstance(server.connection, Http):
        require(Scope.ADMIN, f"{titled(server.key)} starts a program on the gateway's machine")


async def seen_before(
    body: ServerBody, made: Installing, gateway: Gateway, trials: Trials
) -> Mapping[ToolId, ToolSpec] | None:
    """What of a try that the body names counts as seen. Raises `Problem` where that was of another server."""
    if body.seen is None:
        return None
    seen, key = trials.recalled(body.seen, made.server), made.server.key
    if seen is None or not isinstance(key, ServerKey):
        told = "What was tried was another server, or too long ago. Nothing was added. Try it again: POST /servers/try"
        raise Problem(HTTPStatus.CONFLICT, told)
    return await seen.baseline(key, tuple(gateway.board.catalogue.tools.values()))


def _tried_shape(made: Installing, trial: Trial, waiting: tuple[Waiting, ...]) -> Tried:
    tools = [_tool_shape(each) for each in waiting]
    health = trial.listing.health
    return {
        "id": str(made.server.key),
        "state": "answered"
        if has_listed(trial.listing)
        else "needs_sign_in"
        if isinstance(health, NeedsSignIn)
        else "failed",
        "sentence": _sentence(trial.listing, sum(tool["tokens"] for tool in tools)),
        "health": _without_retry(health_shape(health)),
        "tools": tools,
        "tokens": sum(tool["tokens"] for tool in tools),
        "flaws": flaws_shape(trial.listing.flaws),
        "lines": list(trial.lines),
        "seen": None,
        "thereAlready": None,
        "warnings": list(made.warnings),
    }


def _sentence(listing: Listing, cost: int) -> str:
    match listing.health:
        case NeedsSignIn():
            return SIGN_IN
        case Down(_, why):
            return f"It did not come up: {why.rstrip('.')}."
        case _:
            count = len(listing.tools)
            tools = "1 tool" if count == 1 else f"{count} tools"
            return f"It answered with {tools}; {cost:,} tokens if all are shown to a model."


def _without_retry(health: HealthShape) -> HealthShape:
    """Nothing tries a server again that has ended already."""
    health.pop("retryAt", None)
    return health


def _tool_shape(each: Waiting) -> TriedTool:
    told = {**waiting_shape(each), **words_shape(each)}
    return cast(
        TriedTool,
        {key: value for key, value in told.items() if key in TriedTool.__annotations__}
        | {
            "hints": hints_shape(each.tool.spec),
            "tokens": tool_cost(each.tool.spec),
        },
    )
