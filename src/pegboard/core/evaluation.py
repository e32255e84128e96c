"""Queries with the tools that they should find, and how well a search does by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from .ids import LOCAL, PrincipalId

MOST_QUERIES: Final = 500
MOST_EXPECTED: Final = 20


@dataclass(frozen=True)
class SavedQuery:
    name: str
    query: str
    expected: tuple[str, ...]
    """Ids of tools. Any of them may be found first."""
    principal: PrincipalId = LOCAL
    """By whose view it is searched."""
    by: PrincipalId = LOCAL
    at: datetime | None = None


@dataclass(frozen=True)
class Judged:
    """What became of one query: where each expected tool stood, and why one that did not could not."""

    query: SavedQuery
    found: Sequence[str]
    ranks: Mapping[str, int | None]
    """From 1 on; `None` for what was not among the best."""
    whys: Mapping[str, str]
    """Of what was not found, where there is more to say than that others fit better."""
    tokens: int

    @property
    def best(self) -> int | None:
        return min((rank for rank in self.ranks.values() if rank is not None), default=None)

    @property
    def is_hit(self) -> bool:
        return self.best is not None

    @property
    def recall(self) -> float:
        return sum(rank is not None for rank in self.ranks.values()) / len(self.ranks)


@dataclass(frozen=True)
class Rates:
    """Over all queries; 1 is all of them, and nothing asked is nothing missed."""

    first: float
    """Of how many queries an expected tool stood first."""
    hits: float
    """Of how many one was among the best."""
    recall: float
    """How many of the expected tools were, on average."""
    reciprocal: float
    """The mean of one over the rank of the first of them."""


def rates(judged: Sequence[Judged]) -> Rates:
    if not judged:
        return Rates(1.0, 1.0, 1.0, 1.0)
    count = len(judged)
    return Rates(
        sum(each.best == 1 for each in judged) / count,
        sum(each.is_hit for each in judged) / count,
        sum(each.recall for each in judged) / count,
        sum(0.0 if each.best is None else 1 / each.best for each in judged) / count,
    )


def ranks(expected: Sequence[str], found: Sequence[str]) -> dict[str, int | None]:
    places = {id: place for place, id in enumerate(found, start=1)}
    return {id: places.get(id) for id in expected}
