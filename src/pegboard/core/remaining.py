"""What would still keep a tool from a caller once the first thing was mended, by the steps and rules that decide."""

from typing import assert_never

from .catalogue import Catalogue
from .passage import VisibilityFilter
from .removal import explain_hidden
from .resolve import HiddenTool, LockedTool, OpenTool, Verdict, judge_tool
from .status import explain_reason


def remaining_reasons(verdict: Verdict, way: VisibilityFilter, catalogue: Catalogue) -> tuple[str, ...]:
    """A sentence each, in the order in which they would show. `way` is the passage of the view it is a verdict of."""
    match verdict:
        case OpenTool():
            return ()
        case LockedTool(_, _, more):
            return tuple(map(explain_reason, more))
        case HiddenTool(tool, _):
            _, *others = way.hidden_reasons(tool.id)
            beneath = judge_tool(way.narrowed_tools.get(tool.id, tool), catalogue.health(tool.id.source), way.policy)
            reasons = (beneath.reason, *beneath.other_reasons) if isinstance(beneath, LockedTool) else ()
            return (*map(explain_hidden, others), *map(explain_reason, reasons))
        case _:
            assert_never(verdict)
