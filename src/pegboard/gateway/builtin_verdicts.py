"""Whether the gateway's own tools that need not be on the board are open to a caller."""

from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from pegboard.core.builtin_verdict import builtin_verdict
from pegboard.core.call import LockedToolRefusal, UnknownTool
from pegboard.core.catalogue import ProviderUp
from pegboard.core.presentations.deferred import SEARCH, TOOLS
from pegboard.core.resolve import HiddenTool, LockedTool, OpenTool, Verdict
from pegboard.core.tool import Tool
from pegboard.core.view import View

from .board import BoardState

if TYPE_CHECKING:
    from .gateway import Gateway


def verdict_on_builtin(board: BoardState, now: datetime, tool: Tool, view: View) -> Verdict:
    """That of the board, where the tool is on it."""
    on_board = board.resolution(view).verdicts.get(tool.id)
    if on_board is not None:
        return on_board
    return builtin_verdict(tool, ProviderUp(now), board.catalogue, board.policy, view)


def verdict_on_search(gateway: "Gateway", view: View) -> Verdict:
    """On `tool_search`, wherever it is presented."""
    return verdict_on_builtin(gateway.board, gateway.clock(), TOOLS[SEARCH], view)


def builtin_refusal(verdict: Verdict) -> LockedToolRefusal | UnknownTool | None:
    """What an agent is answered that calls it."""
    match verdict:
        case OpenTool():
            return None
        case LockedTool(tool, reason):
            return LockedToolRefusal(tool.id, reason)
        case HiddenTool(tool):
            return UnknownTool(tool.id.name)
        case _:
            assert_never(verdict)
