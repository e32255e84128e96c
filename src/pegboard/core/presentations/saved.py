"""What it saves a model not to be shown every tool as itself: turn by turn, against the board as it is now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .costs import PRESENTATION_TOOLS, PresentationCost
from .presenting import PresentationMode

CALL_TOOL: Final = "call_tool"
"""By which tools are called that are not shown: its answers are theirs."""

SEARCH_TOOLS: Final = tuple(sorted({name for own in PRESENTATION_TOOLS.values() for name in own} - {CALL_TOOL}))
"""The presentations' own tools whose answers only tell of other tools."""

FORMULA: Final = (
    "saved = turns * (all tools - shown) - found, summed over the presentations. A turn is one call or refusal of a "
    "model's own, not of its programs; all tools is what every open tool costs when each is shown as itself; shown is "
    "what the presentation shows instead; found is what the answers cost in which tools were found. Estimated with "
    "the tools that are open now."
)


@dataclass(frozen=True, slots=True)
class PresentationTokenSavings:
    presentation: str
    turns: int
    shown_tokens: int
    """Tokens of what is shown by it, at each turn."""
    found_tokens: int
    """Tokens of the answers in which tools were found, all together."""
    saved_tokens: int


@dataclass(frozen=True, slots=True)
class TotalSavings:
    baseline: int
    """Tokens of all open tools, each as itself."""
    parts: Sequence[PresentationTokenSavings]

    @property
    def saved_tokens(self) -> int:
        """It may be less than nothing: on a small board, to search costs more than to show."""
        return sum(part.saved_tokens for part in self.parts)


def compute_savings(costs: Iterable[PresentationCost], turns: Mapping[str, tuple[int, int]]) -> TotalSavings:
    """`turns` has for each presentation how many there were, and what their finding cost."""
    shown = {cost.presentation.value: cost.tokens for cost in costs}
    baseline = shown.get(PresentationMode.DIRECT.value, 0)
    parts = [
        PresentationTokenSavings(name, count, shown[name], found, count * (baseline - shown[name]) - found)
        for name, (count, found) in turns.items()
        if name in shown
    ]
    return TotalSavings(baseline, parts)
