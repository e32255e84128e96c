"""At which endpoints each built-in tool is listed, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from pegboard.core.calls.tickets import TICKET_TOOL
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Resolution, Verdict, judge_tool
from pegboard.core.decision.status import explain_reason, status_of
from pegboard.core.decision.unknown_names import with_suspects
from pegboard.core.decision.visibility import (
    HiddenByGrants,
    HiddenByLaunchFilter,
    HiddenByNarrowerView,
    HiddenBySelection,
    HiddenReason,
    explain_hidden_clause,
)
from pegboard.core.model.catalogue import Catalogue, Health
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.patterns import find_launch_block
from pegboard.core.model.selection import View, disables_tool
from pegboard.core.model.settings import PYTHON, SCHEMAS, SEARCH, SQL, PresentationMode
from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.costs import PRESENTATION_TOOLS
from pegboard.core.presentations.own_tools import choose_presentation, has_deferred, pinned_tools

# The verdict on a built-in tool that is not on the board: `tool_search`, or `python_execution` without `listed`.


def builtin_verdict(tool: Tool, health: Health | None, catalogue: Catalogue, policy: Policy, view: View) -> Verdict:
    """By the steps and rules for any tool. Toolsets, which say what is taken from the board, do not choose it: an entry
    of `disabled_tools` that means it takes it away, and so does a caller that is granted no toolset at all."""
    policy = with_suspects(catalogue, policy)
    removed = _hidden_reason(tool, policy, view)
    return judge_tool(tool, health, policy) if removed is None else HiddenTool(tool, removed)


def describe_closed(verdict: Verdict) -> str | None:
    """Why a tool is not open, for operators; `None` where it is."""
    match verdict:
        case OpenTool():
            return None
        case LockedTool(reason=reason):
            return f"it is locked ({status_of(reason).value}): {explain_reason(reason)}".rstrip(".")
        case HiddenTool(reason=removed):
            return f"it is not in this view: {explain_hidden_clause(removed)}"
        case _:
            assert_never(verdict)


def _hidden_reason(tool: Tool, policy: Policy, view: View) -> HiddenReason | None:
    declared, limit = policy.declared, policy.grants_of(view.principal)
    if disables_tool(declared.selection, tool.id):
        return HiddenBySelection(declared.selection, declared.selected_at)
    if limit is not None and not limit.toolsets:
        return HiddenByGrants(limit, tool.id.toolset)
    for narrowing in view.narrowings:
        if disables_tool(narrowing, tool.id):
            return HiddenByNarrowerView(narrowing)
    barred = find_launch_block(view.filters, tool.id)
    return None if barred is None else HiddenByLaunchFilter(barred)


FIXED_PRESENTATIONS: Final = tuple(
    presented for presented in PresentationMode if presented is not PresentationMode.AUTO
)
"""Those that have a path of their own."""
_SEARCH_TOOLS: Final[Mapping[PresentationMode, str]] = {
    PresentationMode.META: "list_tools",
    PresentationMode.SEARCH: "retrieve_tools",
    PresentationMode.CODE: "tool_search",
}

NO_SANDBOX: Final = "this gateway has no sandbox, so it runs no programs"

BUILTIN_TOOLS: Final = frozenset(name for own in PRESENTATION_TOOLS.values() for name in own) | {
    PYTHON,
    SCHEMAS,
    SQL,
    TICKET_TOOL,
}
"""Every tool that the gateway itself can have."""


@dataclass(frozen=True, slots=True)
class BuiltinPlace:
    where: str
    """An endpoint, or the prompts of models."""
    is_listed: bool
    why: str
    """As a clause."""


@dataclass(frozen=True, slots=True)
class OwnVerdicts:
    """Those on the gateway's own tools that one caller may have whether they are on the board or not."""

    search: Verdict
    programs: Verdict | None
    """`None` where this gateway runs no programs."""
    sandbox_unavailable: str | None = None
    """Why no program can run now, as a clause. The tool that runs them is listed all the same."""

    @property
    def confirms_programs(self) -> bool:
        return isinstance(self.programs, OpenTool) and self.programs.confirm


def endpoint(presented: PresentationMode) -> str:
    return f"/mcp/{presented.value}"


def presentation_here(resolution: Resolution, policy: Policy) -> PresentationMode:
    """Which one a client of /mcp gets in this view."""
    presenting = policy.declared.presentation
    auto = presenting.presentation is PresentationMode.AUTO
    return choose_presentation(resolution, presenting) if auto else presenting.presentation


def builtin_places(
    name: str, resolution: Resolution, policy: Policy, own: OwnVerdicts, only: PresentationMode | None = None
) -> Iterator[BuiltinPlace]:
    """At /mcp and at each path of its own; or at the path of one presentation alone."""
    if only is not None:
        yield BuiltinPlace(endpoint(only), *_is_listed_at(name, only, resolution, policy, own))
        return
    here = presentation_here(resolution, policy)
    yield BuiltinPlace(f"/mcp and stdio, as {here.value}", *_is_listed_at(name, here, resolution, policy, own))
    for presented in FIXED_PRESENTATIONS:
        yield BuiltinPlace(endpoint(presented), *_is_listed_at(name, presented, resolution, policy, own))


def _is_listed_at(
    name: str, presented: PresentationMode, resolution: Resolution, policy: Policy, own: OwnVerdicts
) -> tuple[bool, str]:
    if name in PRESENTATION_TOOLS.get(presented, {}):
        return _is_own_tool_listed(name, presented, resolution, policy, own)
    if name == PYTHON and presented is PresentationMode.CODE:
        return _is_program_tool_listed(own)
    if name == TICKET_TOOL:
        return _is_ticket_tool_listed(presented, resolution, own)
    verdict = resolution.verdicts.get(ToolId(BuiltinKey(), name))
    if isinstance(verdict, OpenTool):
        if presented is PresentationMode.DIRECT:
            return True, "it is on the board, and open"
        if presented is PresentationMode.DEFERRED:
            return True, "it is on the board, and listed there without a search"
        return True, f"it is on the board, and found by {_SEARCH_TOOLS[presented]} like any other tool"
    if verdict is not None:
        return False, describe_closed(verdict) or ""
    if name == PYTHON:
        return False, "code.listed is false, so it is not on the board"
    if name in (SQL, SCHEMAS):
        return False, "no database source is on"
    others = " and ".join(endpoint(each) for each, own in PRESENTATION_TOOLS.items() if name in own)
    return False, f"it belongs to {others}"


def _is_own_tool_listed(
    name: str, presented: PresentationMode, resolution: Resolution, policy: Policy, own: OwnVerdicts
) -> tuple[bool, str]:
    """Of one of the presentation's own tools."""
    if name == SEARCH and (closed := describe_closed(own.search)) is not None:
        return False, closed
    if presented is not PresentationMode.DEFERRED:
        return True, f"the presentation {presented.value} has it for every client"
    if has_deferred(
        resolution, pinned_tools(resolution, policy.declared.presentation, PRESENTATION_TOOLS[presented]).values()
    ):
        return True, "there are deferred tools in this caller's view"
    return False, "no tool is deferred in this caller's view; it can be called all the same"


def _is_program_tool_listed(own: OwnVerdicts) -> tuple[bool, str]:
    if own.programs is None:
        return False, NO_SANDBOX
    if (closed := describe_closed(own.programs)) is not None:
        return False, closed
    if own.sandbox_unavailable is not None:
        return True, f"it is listed, and no program can be run: {own.sandbox_unavailable}"
    return True, "programs are run by it there, whether code.listed is set or not"


def _is_ticket_tool_listed(presented: PresentationMode, resolution: Resolution, own: OwnVerdicts) -> tuple[bool, str]:
    asks = any(isinstance(each, OpenTool) and each.confirm for each in resolution.verdicts.values())
    asks = asks or (presented is PresentationMode.CODE and own.confirms_programs)
    if not asks:
        return False, "no tool that is open to this caller must be confirmed, so no call waits for a person"
    match presented:
        case PresentationMode.META | PresentationMode.SEARCH:
            return False, "it is not listed there, and the answer to a call that waits tells how call_tool reaches it"
        case PresentationMode.DEFERRED:
            return True, "it is listed as soon as a tool is that must be confirmed"
        case PresentationMode.DIRECT | PresentationMode.CODE | PresentationMode.AUTO:
            return True, "calls of a tool that must be confirmed wait for a person"
        case _:
            assert_never(presented)
