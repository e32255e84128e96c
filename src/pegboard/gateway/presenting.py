"""What the tools of the board cost a model by each presentation, and when somebody should be told."""

from pegboard.core.presentations import PresentationMode
from pegboard.core.presentations.choice import exceeds_threshold
from pegboard.core.presentations.costs import PresentationCost, presentation_costs
from pegboard.core.tool import Tool
from pegboard.core.view import View

from .board import BoardState


def costs_of(board: BoardState, view: View, python: Tool | None = None) -> tuple[PresentationCost, ...]:
    return presentation_costs(board.resolution(view), board.policy, python)


def presentation_warning(board: BoardState) -> str | None:
    """That many tools are shown each as itself, and what that costs; `None` while they are few, or shown otherwise."""
    presenting, view = board.policy.declared.presentation, View()
    if presenting.presentation is not PresentationMode.DIRECT or not exceeds_threshold(
        board.resolution(view), presenting
    ):
        return None
    direct, *others = costs_of(board, view)
    told = [f"{cost.presentation} {_round_tokens(cost.tokens)}" for cost in others]
    instead = f"{', '.join(told[:-1])} and {told[-1]}"
    return (
        f"{direct.tools} tools are shown each as itself at /mcp, which costs a model about "
        f"{_round_tokens(direct.tokens)} "
        f"tokens before it does anything; {instead}."
    )


PRESENTATION_FIX = (
    "Connect clients to /mcp/search, or set presentation: search in pegboard.yaml; presentation_threshold says how "
    "many tools are too many."
)


def _round_tokens(tokens: int) -> str:
    """An estimate has no more than two digits that mean something."""
    step = 10 ** max(0, len(str(tokens)) - 2)
    return f"{round(tokens / step) * step:,}"
