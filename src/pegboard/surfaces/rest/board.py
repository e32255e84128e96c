"""The route for the wall: every tool of a view with its state, why it is so, and the one act that would open it."""

from http import HTTPStatus
from typing import Annotated, Final, Literal
from weakref import WeakKeyDictionary

from anyio import to_thread
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.core.addressed import address_user
from pegboard.core.catalogue import ProviderOff
from pegboard.core.gone import MissingTool, describe_missing, missing_remedy
from pegboard.core.ids import BUILTIN, ServerKey, ToolId, ToolsetId, parse_tool_id
from pegboard.core.policy import Policy
from pegboard.core.remaining import remaining_reasons
from pegboard.core.removal import explain_hidden, hidden_remedy
from pegboard.core.resolve import HiddenTool, LockedTool, OpenTool
from pegboard.core.server import Server
from pegboard.core.status import explain_reason, remedy_for
from pegboard.core.unlocking import ToolState, suggest_action
from pegboard.core.wall import BoardTotals, ProviderKind, ToolCard, is_switch_on, provider_kind, visible_tool
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.walls import DashboardSnapshot

from .answers import JSON_TYPE, encode_json, make_router
from .bodies import ViewQuery
from .claims import ToolHintsInfo, hints_info
from .problems import ProblemError
from .shapes import ActionInfo, HealthInfo, action_info, health_info
from .tools import checked_resolution
from .toolset_shapes import healths, is_enabled, worst_health

MAX_CARDS: Final = 2000
_MAX_CACHED_PAGES: Final = 16
"""Of one wall. Several people look at the same pages, and each of them after every change."""


class ToolCardInfo(TypedDict):
    id: str
    name: str
    wireName: str | None
    title: str | None
    toolsetId: str
    serverId: str | None
    provider: ProviderKind
    state: ToolState
    verdict: Literal["open", "locked", "absent", "gone"]
    status: str | None
    sentence: str | None
    remedy: str | None
    more: list[str]
    action: ActionInfo
    overridden: bool
    hints: ToolHintsInfo
    tokens: int
    switchOn: bool
    unlisted: bool
    """Open, and yet not listed as itself at /mcp: `presentation` says how clients reach it."""


class ToolCounts(TypedDict):
    open: int
    locked: int
    wants: int
    broken: int
    gone: int
    tokens: int


class BoardToolsetInfo(TypedDict):
    id: str
    title: str
    userMcp: bool
    on: bool
    health: HealthInfo
    counts: ToolCounts


class BoardPresentationInfo(TypedDict):
    sentence: str
    ofTool: str
    """About a tool that is not listed."""


class BoardResponse(TypedDict):
    pegs: list[ToolCardInfo]
    toolsets: list[BoardToolsetInfo]
    totals: ToolCounts
    presentation: BoardPresentationInfo | None
    """What clients at /mcp are shown instead of all tools; `null` where each is listed as itself."""
    policyVersion: int
    next: str | None


class BoardQuery(ViewQuery):
    limit: Annotated[int, Field(ge=1, le=MAX_CARDS)] = MAX_CARDS
    after: Annotated[str | None, Field(max_length=2048, description="The `next` of the page before.")] = None


def board_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("board")
    pages: WeakKeyDictionary[DashboardSnapshot, dict[tuple[ToolId | None, int], bytes]] = WeakKeyDictionary()

    @routes.get("/board", response_model=BoardResponse)
    async def show_board(asked: Annotated[BoardQuery, Query()]) -> Response:
        """The wall: a page of the tools of this view with their states, all toolsets, and the sums over all pages.
        `next` is what to send as `after` for the page that follows; `null` at the end."""
        view = asked.view()
        await gateway.board.resolve_off_loop(view)
        checked_resolution(gateway, view)
        place = _parse_after(asked.after)
        hung = await gateway.dashboards.snapshot(view)
        known = pages.setdefault(hung, {})
        if (page := known.get((place, asked.limit))) is None:
            # Thousands of pegs take as long as many calls, which must not wait for them.
            page = await to_thread.run_sync(_encode_page, hung, place, asked.limit)
            if len(known) < _MAX_CACHED_PAGES:
                known[place, asked.limit] = page
        return Response(page, media_type=JSON_TYPE)

    return routes


def _encode_page(hung: DashboardSnapshot, place: ToolId | None, limit: int) -> bytes:
    return encode_json(board_response(hung, place, limit))


def board_response(hung: DashboardSnapshot, place: ToolId | None, limit: int) -> BoardResponse:
    pegs, has_more = hung.dashboard.cards_after(place, limit)
    return {
        "pegs": [tool_card_info(peg, hung) for peg in pegs],
        "toolsets": _toolset_infos(hung),
        "totals": _tool_counts(hung.dashboard.totals),
        "presentation": board_presentation_info(hung),
        "policyVersion": hung.dashboard.policy_version,
        "next": pegs[-1].text if has_more else None,
    }


def board_presentation_info(hung: DashboardSnapshot) -> BoardPresentationInfo | None:
    listing = hung.listing
    return None if listing is None else {"sentence": listing.sentence, "ofTool": listing.unlisted_sentence}


def _parse_after(after: str | None) -> ToolId | None:
    if after is None:
        return None
    id = parse_tool_id(after)
    if not isinstance(id, ToolId):
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, f"after {after[:64]!r} is no tool's id: send the `next` of an answer."
        )
    return id


def tool_card_info(peg: ToolCard, hung: DashboardSnapshot) -> ToolCardInfo:
    id, policy, source = peg.id, hung.policy, peg.id.source
    tool, appearance = visible_tool(peg.verdict), policy.overrides.for_tool(id)
    verdict, status, said, cure, more = _verdict_texts(peg, hung)
    return {
        "id": peg.text,
        "name": id.name,
        "wireName": hung.resolution.names.get(id),
        "title": appearance.name_override or (None if tool is None else tool.spec.title),
        "toolsetId": id.toolset,
        "serverId": source.server if isinstance(source, ServerKey) else None,
        "provider": provider_kind(source, policy),
        "state": peg.state,
        "verdict": verdict,
        "status": status,
        "sentence": said,
        "remedy": cure,
        "more": more,
        "action": action_info(suggest_action(peg.verdict, policy)),
        "overridden": bool(appearance.origin),
        "hints": NO_HINTS if tool is None else hints_info(tool.spec),
        "tokens": peg.tokens,
        "switchOn": is_switch_on(peg.verdict, policy),
        "unlisted": peg.state is ToolState.OPEN and hung.listing is not None and hung.listing.leaves_out(id),
    }


NO_HINTS: ToolHintsInfo = {"readOnly": None, "destructive": None, "idempotent": None, "openWorld": None}

_VerdictTexts = tuple[Literal["open", "locked", "absent", "gone"], str | None, str | None, str | None, list[str]]


def _verdict_texts(peg: ToolCard, hung: DashboardSnapshot) -> _VerdictTexts:
    match peg.verdict:
        case OpenTool():
            return "open", None, None, None, []
        case LockedTool(_, reason) as locked:
            more = [*remaining_reasons(locked, hung.visibility, hung.catalogue)]
            return "locked", locked.status.value, explain_reason(reason), address_user(remedy_for(reason)), more
        case HiddenTool(_, removed) as absent:
            more = [*remaining_reasons(absent, hung.visibility, hung.catalogue)]
            return "absent", None, explain_hidden(removed), hidden_remedy(removed, peg.id), more
        case MissingTool() as left:
            return "gone", None, describe_missing(left), missing_remedy(left), []


def _toolset_infos(hung: DashboardSnapshot) -> list[BoardToolsetInfo]:
    """Those without a tool too: one whose server never came up is no less on the wall."""
    policy, tallies = hung.policy, hung.dashboard.toolsets
    found: list[BoardToolsetInfo] = []
    owned: dict[ToolsetId, list[Server]] = {}
    for key, server in policy.servers.items():
        owned.setdefault(key.toolset, []).append(server)
    for id in sorted({*policy.toolsets, *tallies}):
        toolset = policy.toolsets.get(id)
        on = id == BUILTIN or (toolset is not None and is_enabled(policy, id))
        found.append(
            {
                "id": id,
                "title": _title(id, policy),
                "userMcp": toolset is not None and toolset.user_mcp,
                "on": on,
                "health": health_info(
                    worst_health(healths(owned.get(id, []), hung.catalogue)) if on else ProviderOff()
                ),
                "counts": _tool_counts(tallies.get(id) or BoardTotals()),
            }
        )
    return found


def _title(id: ToolsetId, policy: Policy) -> str:
    if id == BUILTIN:
        return "Built in"
    toolset = policy.toolsets.get(id)
    return id if toolset is None else toolset.name or id


def _tool_counts(tally: BoardTotals) -> ToolCounts:
    return {
        "open": tally.states[ToolState.OPEN],
        "locked": tally.states[ToolState.LOCKED],
        "wants": tally.states[ToolState.NEEDS_ACTION],
        "broken": tally.states[ToolState.BROKEN],
        "gone": tally.states[ToolState.GONE],
        "tokens": tally.tokens,
    }
