"""The route for the wall: every tool of a view with its state, why it is so, and the one act that would open it."""

from http import HTTPStatus
from typing import Annotated, Final, Literal
from weakref import WeakKeyDictionary

from anyio import to_thread
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.core.addressed import to_you
from pegboard.core.catalogue import Off
from pegboard.core.gone import Gone, gone_remedy, gone_sentence
from pegboard.core.ids import BUILTIN, ServerKey, ToolId, ToolsetId, tool_id
from pegboard.core.policy import Policy
from pegboard.core.remaining import remaining
from pegboard.core.removal import removal_remedy, removal_sentence
from pegboard.core.resolve import Absent, Locked, Open
from pegboard.core.server import Server
from pegboard.core.status import remedy, sentence
from pegboard.core.unlocking import PegState, unlocking
from pegboard.core.wall import Peg, Provided, Tally, kind_of, shown, switch_is_on
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.walls import Hung

from .answers import JSON, routes_about, written
from .bodies import ViewQuery
from .claims import Hints, hints_shape
from .problems import Problem
from .shapes import ActionShape, HealthShape, action_shape, health_shape
from .tools import resolution_of
from .toolset_shapes import healths, is_on, worst

MOST_PEGS: Final = 2000
_KEPT_PAGES: Final = 16
"""Of one wall. Several people look at the same pages, and each of them after every change."""


class PegShape(TypedDict):
    id: str
    name: str
    wireName: str | None
    title: str | None
    toolsetId: str
    serverId: str | None
    provider: Provided
    state: PegState
    verdict: Literal["open", "locked", "absent", "gone"]
    status: str | None
    sentence: str | None
    remedy: str | None
    more: list[str]
    action: ActionShape
    overridden: bool
    hints: Hints
    tokens: int
    switchOn: bool
    unlisted: bool
    """Open, and yet not listed as itself at /mcp: `presentation` says how clients reach it."""


class CountsShape(TypedDict):
    open: int
    locked: int
    wants: int
    broken: int
    gone: int
    tokens: int


class BoardToolsetShape(TypedDict):
    id: str
    title: str
    userMcp: bool
    on: bool
    health: HealthShape
    counts: CountsShape


class BoardPresentation(TypedDict):
    sentence: str
    ofTool: str
    """About a tool that is not listed."""


class BoardShape(TypedDict):
    pegs: list[PegShape]
    toolsets: list[BoardToolsetShape]
    totals: CountsShape
    presentation: BoardPresentation | None
    """What clients at /mcp are shown instead of all tools; `null` where each is listed as itself."""
    policyVersion: int
    next: str | None


class BoardQuery(ViewQuery):
    limit: Annotated[int, Field(ge=1, le=MOST_PEGS)] = MOST_PEGS
    after: Annotated[str | None, Field(max_length=2048, description="The `next` of the page before.")] = None


def board_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("board")
    pages: WeakKeyDictionary[Hung, dict[tuple[ToolId | None, int], bytes]] = WeakKeyDictionary()

    @routes.get("/board", response_model=BoardShape)
    async def show_board(asked: Annotated[BoardQuery, Query()]) -> Response:
        """The wall: a page of the tools of this view with their states, all toolsets, and the sums over all pages.
        `next` is what to send as `after` for the page that follows; `null` at the end."""
        view = asked.view()
        await gateway.board.worked_out(view)
        resolution_of(gateway, view)
        place = _place(asked.after)
        hung = await gateway.walls.seen(view)
        known = pages.setdefault(hung, {})
        if (page := known.get((place, asked.limit))) is None:
            # Thousands of pegs take as long as many calls, which must not wait for them.
            page = await to_thread.run_sync(_page, hung, place, asked.limit)
            if len(known) < _KEPT_PAGES:
                known[place, asked.limit] = page
        return Response(page, media_type=JSON)

    return routes


def _page(hung: Hung, place: ToolId | None, limit: int) -> bytes:
    return written(board_shape(hung, place, limit))


def board_shape(hung: Hung, place: ToolId | None, limit: int) -> BoardShape:
    pegs, has_more = hung.wall.after(place, limit)
    return {
        "pegs": [peg_shape(peg, hung) for peg in pegs],
        "toolsets": _toolsets(hung),
        "totals": _counts(hung.wall.total),
        "presentation": presentation_shape(hung),
        "policyVersion": hung.wall.policy_version,
        "next": pegs[-1].text if has_more else None,
    }


def presentation_shape(hung: Hung) -> BoardPresentation | None:
    listing = hung.listing
    return None if listing is None else {"sentence": listing.sentence, "ofTool": listing.of_tool}


def _place(after: str | None) -> ToolId | None:
    if after is None:
        return None
    id = tool_id(after)
    if not isinstance(id, ToolId):
        raise Problem(HTTPStatus.BAD_REQUEST, f"after {after[:64]!r} is no tool's id: send the `next` of an answer.")
    return id


def peg_shape(peg: Peg, hung: Hung) -> PegShape:
    id, policy, source = peg.id, hung.policy, peg.id.source
    tool, appearance = shown(peg.verdict), policy.overrides.for_tool(id)
    verdict, status, said, cure, more = _said(peg, hung)
    return {
        "id": peg.text,
        "name": id.name,
        "wireName": hung.resolution.names.get(id),
        "title": appearance.name_override or (None if tool is None else tool.spec.title),
        "toolsetId": id.toolset,
        "serverId": source.server if isinstance(source, ServerKey) else None,
        "provider": kind_of(source, policy),
        "state": peg.state,
        "verdict": verdict,
        "status": status,
        "sentence": said,
        "remedy": cure,
        "more": more,
        "action": action_shape(unlocking(peg.verdict, policy)),
        "overridden": bool(appearance.origin),
        "hints": UNCLAIMED if tool is None else hints_shape(tool.spec),
        "tokens": peg.tokens,
        "switchOn": switch_is_on(peg.verdict, policy),
        "unlisted": peg.state is PegState.OPEN and hung.listing is not None and hung.listing.leaves_out(id),
    }


UNCLAIMED: Hints = {"readOnly": None, "destructive": None, "idempotent": None, "openWorld": None}

_Said = tuple[Literal["open", "locked", "absent", "gone"], str | None, str | None, str | None, list[str]]


def _said(peg: Peg, hung: Hung) -> _Said:
    match peg.verdict:
        case Open():
            return "open", None, None, None, []
        case Locked(_, reason) as locked:
            more = [*remaining(locked, hung.way, hung.catalogue)]
            return "locked", locked.status.value, sentence(reason), to_you(remedy(reason)), more
        case Absent(_, removed) as absent:
            more = [*remaining(absent, hung.way, hung.catalogue)]
            return "absent", None, removal_sentence(removed), removal_remedy(removed, peg.id), more
        case Gone() as left:
            return "gone", None, gone_sentence(left), gone_remedy(left), []


def _toolsets(hung: Hung) -> list[BoardToolsetShape]:
    """Those without a tool too: one whose server never came up is no less on the wall."""
    policy, tallies = hung.policy, hung.wall.toolsets
    found: list[BoardToolsetShape] = []
    owned: dict[ToolsetId, list[Server]] = {}
    for key, server in policy.servers.items():
        owned.setdefault(key.toolset, []).append(server)
    for id in sorted({*policy.toolsets, *tallies}):
        toolset = policy.toolsets.get(id)
        on = id == BUILTIN or (toolset is not None and is_on(policy, id))
        found.append(
            {
                "id": id,
                "title": _title(id, policy),
                "userMcp": toolset is not None and toolset.user_mcp,
                "on": on,
                "health": health_shape(worst(healths(owned.get(id, []), hung.catalogue)) if on else Off()),
                "counts": _counts(tallies.get(id) or Tally()),
            }
        )
    return found


def _title(id: ToolsetId, policy: Policy) -> str:
    if id == BUILTIN:
        return "Built in"
    toolset = policy.toolsets.get(id)
    return id if toolset is None else toolset.name or id


def _counts(tally: Tally) -> CountsShape:
    return {
        "open": tally.states[PegState.OPEN],
        "locked": tally.states[PegState.LOCKED],
        "wants": tally.states[PegState.WANTS],
        "broken": tally.states[PegState.BROKEN],
        "gone": tally.states[PegState.GONE],
        "tokens": tally.tokens,
    }
