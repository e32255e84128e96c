"""A search laid open for a person: what each rank is piled up from, what was locked, and what it costs a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .ids import ToolId
from .policy import Policy
from .resolve import Locked, Open, Resolution
from .retrieval import Rank, Retrieval, callable_ones, locked_ones
from .tokens import rough_cost
from .tool import JsonObject


@dataclass(frozen=True)
class Hit:
    id: ToolId
    name: str
    score: float
    stack: Mapping[str, float]
    """Together the score."""
    words: Sequence[str]
    """Of the query, those that it has."""
    tokens: int


@dataclass(frozen=True)
class Played:
    hits: Sequence[Hit]
    ranker: str
    heard: JsonObject
    matched: int
    """How many tools fit at all, before the limit."""
    locked: Sequence[Locked]
    """The best of those that fit and are locked."""
    locked_count: int
    all_tools: int
    all_tokens: int
    """Of every open tool of the view, as itself."""
    policy_version: int

    @property
    def tokens(self) -> int:
        return sum(hit.tokens for hit in self.hits)


def played(asked: Retrieval, resolution: Resolution, policy: Policy, rank: Rank) -> Played:
    """The order is that of the search itself, by the same code."""
    found = rank(asked.query, resolution.open_ids)
    passed = callable_ones(asked, found, resolution)
    hits: list[Hit] = []
    for id in passed.kept[: asked.limit]:
        verdict = resolution.verdicts[id]
        assert isinstance(verdict, Open)
        why, stack = found.why(id), found.stack(id)
        said = why.get("words")
        words = [str(each["word"]) for each in said if isinstance(each, dict)] if isinstance(said, list) else []
        score = why.get("score")
        number = float(score) if isinstance(score, int | float) else 0.0
        hits.append(Hit(id, resolution.names[id], number, stack, words, rough_cost(verdict.shown.spec)))
    shut = locked_ones(asked, resolution, policy, rank)
    locked = [resolution.verdicts[id] for id in shut.kept]
    costs = [rough_cost(each.shown.spec) for each in resolution.verdicts.values() if isinstance(each, Open)]
    return Played(
        hits,
        found.ranker,
        found.heard(),
        passed.count,
        [each for each in locked if isinstance(each, Locked)],
        shut.count,
        len(costs),
        sum(costs),
        resolution.policy_version,
    )
