"""The automatic search before a model's first turn, with the reason of each decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pegboard.core.model.ids import ToolId
from pegboard.core.presentations.own_tools import MaterializedTools
from pegboard.prompts.model import Model

SEARCH: Final = "tool_search"


class SearchStep(Enum):
    """By the words that people read."""

    SEARCHED = "searched"
    SKIPPED = "not searched"
    LIMITED = "bounded"
    NOTHING_FOUND = "nothing found"
    FOUND = "shown"
    KEPT = "still shown"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class SearchDecision:
    step: SearchStep
    subject: str
    """The tool that it is about: its id, or tool_search."""
    why: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.step.value}, because {self.why}"


@dataclass(frozen=True)
class AutomaticSearch:
    """What a conversation has found before the model says anything, and why that."""

    found_tools: MaterializedTools
    decisions: tuple[SearchDecision, ...]

    @property
    def has_run(self) -> bool:
        return any(decision.step is SearchStep.SEARCHED for decision in self.decisions)


def skip_search(found: MaterializedTools, why: str) -> AutomaticSearch:
    return AutomaticSearch(found, (SearchDecision(SearchStep.SKIPPED, SEARCH, why),))


def search_automatically(
    found: MaterializedTools,
    ranked: Sequence[ToolId],
    standing: Sequence[ToolId],
    model: Model,
    *,
    called: Sequence[ToolId] = (),
    earlier: Sequence[Sequence[ToolId]] = (),
) -> AutomaticSearch:
    """`ranked` are the tools that fit the user's words, the best first; `standing` are those that the model is shown
    anyway, which take no place.

    Places that are left go to `called`, the tools that were called before, the latest first; then to `earlier`, what
    fits each of the user's earlier messages, the latest message first. Being called decides about a place and not about
    the order: a follow-up that finds nothing new gives the same list again, so that prompt caches stay good.
    """
    most = model.max_found_tools
    decisions = [
        SearchDecision(SearchStep.SEARCHED, SEARCH, "tools are deferred, and the user's words tell what is wanted"),
        SearchDecision(SearchStep.LIMITED, SEARCH, f"{model.size_description}: it is shown {most} found tools at most"),
    ]
    chosen: dict[ToolId, None] = {}
    for place, id in enumerate(ranked, 1):
        if id in standing:
            decisions.append(
                SearchDecision(SearchStep.LEFT_OUT, str(id), f"it fits in place {place}, and is shown anyway")
            )
        elif len(chosen) < most:
            chosen[id] = None
            decisions.append(SearchDecision(SearchStep.FOUND, str(id), f"it fits the user's words, in place {place}"))
        else:
            decisions.append(
                SearchDecision(SearchStep.LEFT_OUT, str(id), f"it fits in place {place}, and {most} fit better")
            )
    if not ranked:
        decisions.append(
            SearchDecision(SearchStep.NOTHING_FOUND, SEARCH, "no tool fits the user's words; the model can search anew")
        )
    before = tuple(id for message in earlier for id in message)
    order = dict.fromkeys((*chosen, *before, *called))
    for ids, why in ((called, "it was called before"), (before, "it fits what the user said before")):
        for id in ids:
            if len(chosen) < most and id not in chosen and id not in standing:
                chosen[id] = None
                decisions.append(SearchDecision(SearchStep.KEPT, str(id), f"{why}, and a place is free"))
    return AutomaticSearch(found.with_found((id for id in order if id in chosen), most), tuple(decisions))
