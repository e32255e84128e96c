"""Why a tool is absent from a view, and what brings it there: for operators, because an agent is not told of it."""

from typing import assert_never

from .ids import PrincipalId, ToolId
from .policy import Policy
from .resolve import FilteredAway, NarrowedAway, NoDatabase, NotGranted, NotSelected, Removal
from .selection import Everything, Selection


def removal_sentence(removed: Removal) -> str:
    match removed:
        case NotSelected():
            return "The board's selection leaves it out."
        case NotGranted():
            return "The principal's grants do not cover its toolset."
        case NoDatabase():
            return "The principal may ask none of the databases that are on."
        case NarrowedAway(by):
            return f"The request's own narrowing leaves it out: {selection_text(by)}."
        case FilteredAway(why):
            return f"It is filtered away: {why}."
        case _:
            assert_never(removed)


def removal_remedy(removed: Removal, tool: ToolId, policy: Policy, principal: PrincipalId) -> str:
    """An operator's decision is told with what it says now, so that the edit can be made without looking it up."""
    match removed:
        case NotSelected():
            selection, toolset = policy.declared.selection, tool.toolset
            chosen = selection.toolsets
            if isinstance(chosen, Everything) or toolset in (name.lower() for name in chosen.names):
                edit = f"take it out of disabled_tools under selection (now {selection_text(selection)})"
            else:
                edit = f"add {toolset} to toolsets under selection (now {selection_text(selection)})"
            return f"This is operator policy: in pegboard.yaml, {edit}."
        case NotGranted():
            return f"This is operator policy: in pegboard.yaml, grant {tool.toolset} to {principal}."
        case NoDatabase():
            return f"This is operator policy: in pegboard.yaml, name a database under databases of {principal}."
        case NarrowedAway():
            return "Ask without narrowing the request so."
        case FilteredAway(why):
            key = f"{'allow' if why.by is None else 'deny'}_{why.kind}"
            return f"Change {key} of the filter: in pegboard.yaml under prompts, or by its flag."
        case _:
            assert_never(removed)


def selection_text(selection: Selection) -> str:
    toolsets = "all" if isinstance(selection.toolsets, Everything) else ", ".join(selection.toolsets.names) or "none"
    parts = [f"toolsets {toolsets}"]
    if selection.enabled:
        parts.append(f"plus {', '.join(selection.enabled)}")
    if selection.disabled:
        parts.append(f"minus {', '.join(selection.disabled)}")
    return ", ".join(parts)
