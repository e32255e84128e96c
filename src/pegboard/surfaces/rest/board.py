"""Routes: the dashboard."""

import os
import sys
from dataclasses import replace
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final, Literal
from weakref import WeakKeyDictionary

import anyio.to_thread
from anyio import to_thread
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.config.clients.discover import find_client_lists
from pegboard.config.clients.merge import merge_lists
from pegboard.core.calls.activity import CALL
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool
from pegboard.core.decision.status import explain_reason, remedy
from pegboard.core.decision.visibility import explain_hidden, hidden_remedy
from pegboard.core.explain.board import BoardTotals, ToolCard, is_switch_on, provider_kind, visible_tool
from pegboard.core.explain.explain import remaining_reasons
from pegboard.core.explain.states import MissingTool, ToolState, describe_missing, missing_remedy, suggest_action
from pegboard.core.model.catalogue import ProviderOff
from pegboard.core.model.ids import BUILTIN, ServerKey, ToolId, ToolsetId, parse_tool_id
from pegboard.core.model.selection import View
from pegboard.core.model.server import Server
from pegboard.core.model.text import Audience
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState, DashboardCache, DashboardSnapshot
from pegboard.ports.audit import Audit, AuditQuery
from pegboard.surfaces.rest.requests import ToolQuery, ViewQuery
from pegboard.surfaces.rest.responses import JSON_TYPE, ProblemError, encode_json, make_router
from pegboard.surfaces.rest.schemas import ActionInfo, HealthInfo, ToolHintsInfo, action_info, health_info, hints_info
from pegboard.surfaces.rest.settings import RuntimeInfo
from pegboard.surfaces.rest.tools import CallerWithoutInfo, caller_without_infos, checked_resolution, find_tool
from pegboard.surfaces.rest.toolsets import healths, is_enabled, worst_health

MAX_CARDS: Final = 2000
_MAX_CACHED_PAGES: Final = 16
"""Of one wall. Several people look at the same pages, and each of them after every change."""


class ProviderKind(StrEnum):
    """Those of `provider_kind`."""

    MCP = "mcp"
    PYTHON = "python"
    CONTAINER = "container"
    DOCSPACE = "docspace"
    BUILTIN = "builtin"


class ToolCardInfo(TypedDict):
    id: str
    name: str
    wireName: str | None
    title: str | None
    toolsetId: str
    serverId: str | None
    provider: ProviderKind
    state: ToolState
    verdict: Literal["open", "locked", "hidden", "missing"]
    status: str | None
    message: str | None
    remedy: str | None
    otherReasons: list[str]
    action: ActionInfo
    overridden: bool
    hints: ToolHintsInfo
    tokens: int
    enabled: bool
    unlisted: bool
    """Open, and yet not listed as itself at /mcp: `presentation` says how clients reach it."""


class ToolCounts(TypedDict):
    open: int
    locked: int
    needs_action: int
    broken: int
    missing: int
    tokens: int


class BoardToolsetInfo(TypedDict):
    id: str
    title: str
    userMcp: bool
    enabled: bool
    health: HealthInfo
    counts: ToolCounts


class BoardPresentationInfo(TypedDict):
    message: str
    unlistedToolMessage: str
    """About a tool that is not listed."""


class BoardResponse(TypedDict):
    tools: list[ToolCardInfo]
    toolsets: list[BoardToolsetInfo]
    totals: ToolCounts
    presentation: BoardPresentationInfo | None
    """What clients at /mcp are shown instead of all tools; `null` where each is listed as itself."""
    policyVersion: int
    next: str | None


class BoardQuery(ViewQuery):
    limit: Annotated[int, Field(ge=1, le=MAX_CARDS)] = MAX_CARDS
    after: Annotated[str | None, Field(max_length=2048, description="The `next` of the page before.")] = None


def board_routes(board: BoardState, dashboards: DashboardCache) -> APIRouter:
    routes = make_router("board")
    pages: WeakKeyDictionary[DashboardSnapshot, dict[tuple[ToolId | None, int], bytes]] = WeakKeyDictionary()

    @routes.get("/board", response_model=BoardResponse)
    async def show_board(asked: Annotated[BoardQuery, Query()]) -> Response:
        """The wall: a page of the tools of this view with their states, all toolsets, and the sums over all pages.
        `next` is what to send as `after` for the page that follows; `null` at the end."""
        view = asked.view()
        await board.resolve_off_loop(view)
        checked_resolution(board, view)
        place = _parse_after(asked.after)
        hung = await dashboards.snapshot(view)
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
        "tools": [tool_card_info(peg, hung) for peg in pegs],
        "toolsets": _toolset_infos(hung),
        "totals": _tool_counts(hung.dashboard.totals),
        "presentation": board_presentation_info(hung),
        "policyVersion": hung.dashboard.policy_version,
        "next": pegs[-1].text if has_more else None,
    }


def board_presentation_info(hung: DashboardSnapshot) -> BoardPresentationInfo | None:
    listing = hung.listing
    return None if listing is None else {"message": listing.sentence, "unlistedToolMessage": listing.unlisted_sentence}


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
        "provider": ProviderKind(provider_kind(source, policy)),
        "state": peg.state,
        "verdict": verdict,
        "status": status,
        "message": said,
        "remedy": cure,
        "otherReasons": more,
        "action": action_info(suggest_action(peg.verdict, policy)),
        "overridden": bool(appearance.origin),
        "hints": NO_HINTS if tool is None else hints_info(tool.spec),
        "tokens": peg.tokens,
        "enabled": is_switch_on(peg.verdict, policy),
        "unlisted": peg.state is ToolState.OPEN and hung.listing is not None and hung.listing.leaves_out(id),
    }


NO_HINTS: ToolHintsInfo = {"readOnly": None, "destructive": None, "idempotent": None, "openWorld": None}

_VerdictTexts = tuple[Literal["open", "locked", "hidden", "missing"], str | None, str | None, str | None, list[str]]


def _verdict_texts(peg: ToolCard, hung: DashboardSnapshot) -> _VerdictTexts:
    match peg.verdict:
        case OpenTool():
            return "open", None, None, None, []
        case LockedTool(_, reason) as locked:
            more = [*remaining_reasons(locked, hung.visibility, hung.catalogue)]
            cure = remedy(reason, Audience.OPERATOR)
            return "locked", locked.status.value, explain_reason(reason), cure, more
        case HiddenTool(_, removed) as absent:
            more = [*remaining_reasons(absent, hung.visibility, hung.catalogue)]
            return "hidden", None, explain_hidden(removed), hidden_remedy(removed, peg.id), more
        case MissingTool() as left:
            return "missing", None, describe_missing(left), missing_remedy(left), []


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
                "enabled": on,
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
        "needs_action": tally.states[ToolState.NEEDS_ACTION],
        "broken": tally.states[ToolState.BROKEN],
        "missing": tally.states[ToolState.MISSING],
        "tokens": tally.tokens,
    }


# The route for one peg of the wall, also of a tool that its provider does not offer any more.


class ToolCardResponse(TypedDict):
    tool: ToolCardInfo
    presentation: BoardPresentationInfo | None
    otherCallers: list[CallerWithoutInfo]
    """Of a tool that this caller gets: who does not; of more than twenty the first twenty-one."""
    policyVersion: int


def tool_card_routes(board: BoardState, dashboards: DashboardCache) -> APIRouter:
    routes = make_router("board")

    @routes.get("/board/tool")
    async def show_board_tool(asked: Annotated[ToolQuery, Query()]) -> ToolCardResponse:
        """One tool of the wall: its state, why it is so, and the one act that would open it."""
        view = asked.view()
        await board.resolve_off_loop(view)
        resolution = checked_resolution(board, view)
        hung = await dashboards.snapshot(view)
        given = parse_tool_id(asked.tool)
        peg = hung.dashboard.card_of(given) if isinstance(given, ToolId) else None
        if peg is None:
            peg = hung.dashboard.card_of(find_tool(board, asked.tool, resolution))
        assert peg is not None, "every tool of the catalogue hangs on the wall"
        return {
            "tool": tool_card_info(peg, hung),
            "presentation": board_presentation_info(hung),
            "otherCallers": caller_without_infos(board, view, peg.id),
            "policyVersion": hung.dashboard.policy_version,
        }

    return routes


# The route for whoever opens an empty board: what is there, and the ways to a first tool on it.

_MAX_PAGES = 50
"""Of a long record that is looked through for a call; beyond them nobody is new here."""
_DEMO_PATH = ("examples", "demo", "pegboard.yaml")


class FirstRunStep(TypedDict):
    kind: Literal["import", "add", "demo"]
    title: str
    description: str
    command: str
    done: bool


class FirstRunResponse(TypedDict):
    """`empty` is a board without any server or toolset; `demo`, whether it is the example's."""

    empty: bool
    demo: bool
    hasCalls: bool
    """Whether anything was called yet."""
    servers: int
    openTools: int
    importableServers: int
    """Servers in other clients' lists that are not on the board."""
    steps: list[FirstRunStep]
    endpoint: str | None
    requiresTokens: bool
    """Whether it asks who calls, so that a client needs a token."""
    policyVersion: int


def first_run_routes(board: BoardState, audit: Audit, about: RuntimeInfo) -> APIRouter:
    routes = make_router("board")

    @routes.get("/first-run")
    async def show_first_run() -> FirstRunResponse:
        """Whether the board is empty, and the three ways to a first tool on it."""
        policy, demo = board.policy, _is_demo(board.settings_locations.file)
        importable = await anyio.to_thread.run_sync(_count_importable, frozenset(map(str, policy.servers)))
        return {
            "empty": not policy.servers and not policy.toolsets,
            "demo": demo,
            "hasCalls": await _has_calls(audit),
            "servers": len(policy.servers),
            "openTools": sum(1 for _ in board.resolution(View()).open_tools()),
            "importableServers": importable,
            "steps": _steps(importable, has_servers=bool(policy.servers), demo=demo),
            "endpoint": about.endpoint,
            "requiresTokens": policy.requires_tokens,
            "policyVersion": policy.version,
        }

    return routes


async def _has_calls(audit: Audit) -> bool:
    """Decisions are records as well, and no calls."""
    query = AuditQuery(kind=CALL, limit=1)
    for _ in range(_MAX_PAGES):
        told = await audit.page_before(query)
        if told.rows or told.before is None:
            return bool(told.rows)
        query = replace(query, before=told.before)
    return True


def _count_importable(there: frozenset[str]) -> int:
    found = merge_lists(find_client_lists(Path.home(), Path.cwd(), sys.platform, os.environ))
    return sum(str(server.key) not in there for server in found.servers)


def _is_demo(file: str | None) -> bool:
    """By where its file lies."""
    return file is not None and Path(file).absolute().parts[-3:] == _DEMO_PATH


def _steps(importable: int, *, has_servers: bool, demo: bool) -> list[FirstRunStep]:
    many = "1 server is" if importable == 1 else f"{importable} servers are"
    here = (
        f"{many} in the lists of other clients on this machine. You look at them before anything is added."
        if importable
        else "No list of another client on this machine names a server that is not here."
    )
    return [
        {
            "kind": "import",
            "title": "Bring over the servers of another client",
            "description": here,
            "command": "pegboard import",
            "done": has_servers and importable == 0 and not demo,
        },
        {
            "kind": "add",
            "title": "Add a server",
            "description": "Paste an address, a command or a piece of JSON, and see what it brings before it is added.",
            "command": "pegboard servers add NAME -- COMMAND ARGS…",
            "done": has_servers,
        },
        {
            "kind": "demo",
            "title": "Try the demo",
            "description": "A board with small servers of its own, to look at and to call.",
            "command": "make run",
            "done": demo,
        },
    ]
