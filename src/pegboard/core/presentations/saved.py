"""What it saves a model not to be shown every tool as itself: turn by turn, against the board as it is now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .costs import OWN, Cost
from .presenting import Presented

CALLS: Final = "call_tool"
"""By which tools are called that are not shown: its answers are theirs."""

FINDING: Final = tuple(sorted({name for own in OWN.values() for name in own} - {CALLS}))
"""The presentations' own tools whose answers only tell of other tools."""

FORMULA: Final = (
    "saved = turns * (all tools - shown) - found, summed over the presentations. A turn is one call or refusal of a "
    "model's own, not of its programs; all tools is what every open tool costs when each is shown as itself; shown is "
    "what the presentation shows instead; found is what the answers cost in which tools were found. Estimated with "
    "the tools that are open now."
)


@dataclass(frozen=True, slots=True)
class Saving:
    presentation: str
    turns: int
    shown: int
    """Tokens of what is shown by it, at each turn."""
    found: int
    """Tokens of the answers in which tools were found, all together."""
    saved: int


@dataclass(frozen=True, slots=True)
class Savings:
    baseline: int
    """Tokens of all open tools, each as itself."""
    parts: Sequence[Saving]

    @property
    def saved(self) -> int:
        """It may be less than nothing: on a small board, to search costs more than to show."""
        return sum(part.saved for part in self.parts)


def savings(costs: Iterable[Cost], turns: Mapping[str, tuple[int, int]]) -> Savings:
    """`turns` has for each presentation how many there were, and what their finding cost."""
    shown = {cost.presentation.value: cost.tokens for cost in costs}
    baseline = shown.get(Presented.DIRECT.value, 0)
    parts = [
        Saving(name, count, shown[name], found, count * (baseline - shown[name]) - found)
        for name, (count, found) in turns.items()
        if name in shown
    ]
    return Savings(baseline, parts)
