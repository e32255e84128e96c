"""The verdict on a built-in tool that is not on the board: `tool_search`, or `python_execution` without `listed`."""

from typing import assert_never

from .catalogue import Catalogue, Health
from .launch import find_launch_block
from .passage import HiddenByGrants, HiddenByLaunchFilter, HiddenByNarrowerView, HiddenBySelection, HiddenReason
from .policy import Policy
from .removal import explain_hidden_clause
from .resolve import HiddenTool, LockedTool, OpenTool, Verdict, judge_tool
from .selection import disables_tool
from .status import explain_reason, status_of
from .tool import Tool
from .unknown_names import with_suspects
from .view import View


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
