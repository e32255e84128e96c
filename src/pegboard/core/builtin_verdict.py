"""The verdict on a built-in tool that is not on the board: `tool_search`, or `python_execution` without `listed`."""

from typing import assert_never

from .catalogue import Catalogue, Health
from .launch import barring
from .passage import FilteredAway, NarrowedAway, NotGranted, NotSelected, Removal
from .policy import Policy
from .removal import removal_clause
from .resolve import Absent, Locked, Open, Verdict, verdict_on
from .selection import disables
from .status import sentence, status
from .tool import Tool
from .unknown_names import with_suspects
from .view import View


def builtin_verdict(tool: Tool, health: Health | None, catalogue: Catalogue, policy: Policy, view: View) -> Verdict:
    """By the steps and rules for any tool. Toolsets, which say what is taken from the board, do not choose it: an entry
    of `disabled_tools` that means it takes it away, and so does a caller that is granted no toolset at all."""
    policy = with_suspects(catalogue, policy)
    removed = _removal(tool, policy, view)
    return verdict_on(tool, health, policy) if removed is None else Absent(tool, removed)


def closed_clause(verdict: Verdict) -> str | None:
    """Why a tool is not open, for operators; `None` where it is."""
    match verdict:
        case Open():
            return None
        case Locked(reason=reason):
            return f"it is locked ({status(reason).value}): {sentence(reason)}".rstrip(".")
        case Absent(removed=removed):
            return f"it is not in this view: {removal_clause(removed)}"
        case _:
            assert_never(verdict)


def _removal(tool: Tool, policy: Policy, view: View) -> Removal | None:
    declared, limit = policy.declared, policy.limit(view.principal)
    if disables(declared.selection, tool.id):
        return NotSelected(declared.selection, declared.selected_at)
    if limit is not None and not limit.toolsets:
        return NotGranted(limit, tool.id.toolset)
    for narrowing in view.narrowings:
        if disables(narrowing, tool.id):
            return NarrowedAway(narrowing)
    barred = barring(view.filters, tool.id)
    return None if barred is None else FilteredAway(barred)
