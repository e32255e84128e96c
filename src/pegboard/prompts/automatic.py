"""The search before a model's first turn: what it brings into the prompt, and the reason of each decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pegboard.core.deferral import Materialised
from pegboard.core.ids import ToolId

from .model import Model

SEARCH: Final = "tool_search"


class Step(Enum):
    """By the words that people read."""

    RAN = "searched"
    SKIPPED = "not searched"
    BOUND = "bounded"
    NOTHING = "nothing found"
    FOUND = "shown"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Decision:
    step: Step
    subject: str
    """The tool that it is about: its id, or tool_search."""
    why: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.step.value}, because {self.why}"


@dataclass(frozen=True)
class Automatic:
    """What a conversation has found before the model says anything, and why that."""

    found: Materialised
    decisions: tuple[Decision, ...]

    @property
    def ran(self) -> bool:
        return any(decision.step is Step.RAN for decision in self.decisions)


def not_searched(found: Materialised, why: str) -> Automatic:
    return Automatic(found, (Decision(Step.SKIPPED, SEARCH, why),))


def searched(found: Materialised, ranked: Sequence[ToolId], standing: Sequence[ToolId], model: Model) -> Automatic:
    """`ranked` are the tools that fit the user's words, the best first; `standing` are those that it is shown anyway,
    which take nobody's place."""
    most = model.most_found
    decisions = [
        Decision(Step.RAN, SEARCH, "tools are deferred, and the user's words tell what is wanted"),
        Decision(Step.BOUND, SEARCH, f"{model.size}: it is shown {most} found tools at most"),
    ]
    chosen: list[ToolId] = []
    for place, id in enumerate(ranked, 1):
        if id in standing:
            decisions.append(Decision(Step.LEFT_OUT, str(id), f"it fits in place {place}, and is shown anyway"))
        elif len(chosen) < most:
            chosen.append(id)
            decisions.append(Decision(Step.FOUND, str(id), f"it fits the user's words, in place {place}"))
        else:
            decisions.append(Decision(Step.LEFT_OUT, str(id), f"it fits in place {place}, and {most} fit better"))
    if not ranked:
        decisions.append(Decision(Step.NOTHING, SEARCH, "no tool fits the user's words; the model can search anew"))
    return Automatic(found.with_found(chosen, most), tuple(decisions))
