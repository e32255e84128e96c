"""What the tools of the board cost a model by each presentation, and when somebody should be told."""

from pegboard.core.presentations import Presented
from pegboard.core.presentations.choice import exceeds
from pegboard.core.presentations.costs import Cost, costs
from pegboard.core.tool import Tool
from pegboard.core.view import View

from .board import Board


def costs_of(board: Board, view: View, python: Tool | None = None) -> tuple[Cost, ...]:
    return costs(board.resolution(view), board.policy, python)


def too_much(board: Board) -> str | None:
    """That many tools are shown each as itself, and what that costs; `None` while they are few, or shown otherwise."""
    presenting, view = board.policy.declared.presenting, View()
    if presenting.presentation is not Presented.DIRECT or not exceeds(board.resolution(view), presenting):
        return None
    direct, *others = costs_of(board, view)
    told = [f"{cost.presentation} {_rounded(cost.tokens)}" for cost in others]
    instead = f"{', '.join(told[:-1])} and {told[-1]}"
    return (
        f"{direct.tools} tools are shown each as itself at /mcp, which costs a model about {_rounded(direct.tokens)} "
        f"tokens before it does anything; {instead}."
    )


INSTEAD = (
    "Connect clients to /mcp/search, or set presentation: search in pegboard.yaml; presentation_threshold says how "
    "many tools are too many."
)


def _rounded(tokens: int) -> str:
    """An estimate has no more than two digits that mean something."""
    step = 10 ** max(0, len(str(tokens)) - 2)
    return f"{round(tokens / step) * step:,}"
