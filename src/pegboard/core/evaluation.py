"""Queries with the tools that they should find, and how well a search does by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from .ids import LOCAL_PRINCIPAL, PrincipalId

MAX_QUERIES: Final = 500
MAX_EXPECTED_TOOLS: Final = 20


@dataclass(frozen=True)
class SavedQuery:
    name: str
    query: str
    expected_tools: tuple[str, ...]
    """Ids of tools. Any of them may be found first."""
    principal: PrincipalId = LOCAL_PRINCIPAL
    """By whose view it is searched."""
    by: PrincipalId = LOCAL_PRINCIPAL
    at: datetime | None = None


@dataclass(frozen=True)
class QueryEvaluation:
    """What became of one query: where each expected tool stood, and why one that did not could not."""

    query: SavedQuery
    found_tools: Sequence[str]
    ranks: Mapping[str, int | None]
    """From 1 on; `None` for what was not among the best."""
    explanations: Mapping[str, str]
    """Of what was not found, where there is more to say than that others fit better."""
    tokens: int

    @property
    def best_rank(self) -> int | None:
        return min((rank for rank in self.ranks.values() if rank is not None), default=None)

    @property
    def is_hit(self) -> bool:
        return self.best_rank is not None

    @property
    def recall(self) -> float:
        return sum(rank is not None for rank in self.ranks.values()) / len(self.ranks)


@dataclass(frozen=True)
class SearchQuality:
    """Over all queries; 1 is all of them, and nothing asked is nothing missed."""

    first_rank_rate: float
    """Of how many queries an expected tool stood first."""
    hit_rate: float
    """Of how many one was among the best."""
    recall: float
    """How many of the expected tools were, on average."""
    mean_reciprocal_rank: float
    """The mean of one over the rank of the first of them."""


def search_quality(judged: Sequence[QueryEvaluation]) -> SearchQuality:
    if not judged:
        return SearchQuality(1.0, 1.0, 1.0, 1.0)
    count = len(judged)
    return SearchQuality(
        sum(each.best_rank == 1 for each in judged) / count,
        sum(each.is_hit for each in judged) / count,
        sum(each.recall for each in judged) / count,
        sum(0.0 if each.best_rank is None else 1 / each.best_rank for each in judged) / count,
    )


def expected_ranks(expected: Sequence[str], found: Sequence[str]) -> dict[str, int | None]:
    places = {id: place for place, id in enumerate(found, start=1)}
    return {id: places.get(id) for id in expected}
