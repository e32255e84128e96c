"""The order in which a query finds tools: by words, and by meaning where vectors are at hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pegboard.core.ids import ServerKey, ToolId
from pegboard.core.tool import JsonObject

from .explain import heard, stack, why
from .fusion import fused, raised, spread, standard
from .index import Chosen
from .lexical import Matches
from .part import Floats
from .text import Query, words

Ranker: TypeAlias = Literal["lexical", "hybrid"]

COVERAGE: Final = 0.6
"""What it is worth that the query says a tool's whole name."""

SERVER: Final = 0.1
"""How much the tools of one server lift each other."""

EXACT: Final = 10_000.0
"""What is called by its very name stands above all."""

_FIRST: Final = 128


class Dense(Protocol):
    """A query's meaning, beside the meanings of documents."""

    @property
    def floor(self) -> float:
        """The cosine from which a tool is found by its meaning alone."""
        ...

    def cosines(self, chosen: Chosen) -> Floats | None:
        """One for each position; no number for the few of which none is known. Nothing, where these are many: then
        words alone decide."""
        ...

    def clause_cosines(self, chosen: Chosen) -> Sequence[Floats]:
        """The same of each clause of the query, where it has several that were read."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    key: ToolId
    score: float


@dataclass(frozen=True)
class Ranked:
    """What a query finds among the chosen. The best come at little cost, all the others at some."""

    matches: Matches
    scores: Floats
    """By position."""
    coverage: Floats
    found: NDArray[np.int64]
    """The positions that fit the query at all, ascending."""
    ranker: Ranker
    exact: frozenset[int] = frozenset()
    """The positions of what was called by its very name."""
    cosines: Floats | None = None
    share: float = 0.0
    """How much the meaning counts for this query; words count for the rest."""
    raised: Mapping[int, float] = field(default_factory=dict[int, float])
    """By position: what was added so that it stands among the first ten."""

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[ToolId]:
        """Best first, equals in their own order."""
        return (self.matches.chosen.key(position) for position in self._positions())

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        key = self.matches.chosen.key
        return tuple([Hit(key(position), float(self.scores[position])) for position in self._positions()])

    def __contains__(self, key: object, /) -> bool:
        place = self.matches.chosen.index.places.get(key) if isinstance(key, ToolId) else None
        if place is None:
            return False
        position = int(self.matches.chosen.positions[place])
        return position >= 0 and position in self.found

    def parts(self, position: int) -> dict[str, float]:
        """What its score is the sum of."""
        score = float(self.scores[position])
        parts = {
            "words": (1 - self.share) * float(self._standard[position]),
            "name": COVERAGE * float(self.coverage[position]),
            "server": float(self._lifts[self.matches.chosen.servers[position]]),
        }
        if position in self.exact:
            parts["exact_name"] = EXACT
        if self.cosines is not None:
            parts["meaning"] = score - sum(parts.values())
        return parts

    def words(self, position: int) -> float:
        """What the words of the query add to it, over a tool that has none of them."""
        lexical = self.matches.scores()
        return (1 - self.share) * float(lexical[position]) / spread(lexical)

    @cached_property
    def _standard(self) -> Floats:
        return standard(self.matches.scores())

    @cached_property
    def _lifts(self) -> Floats:
        """By server. A lift is a share of the mean before it, and so is in the mean of what was lifted."""
        chosen, lifted = self.matches.chosen, self.scores.copy()
        lifted[[*self.exact]] -= EXACT
        for position, amount in self.raised.items():
            lifted[position] -= amount
        means: Floats = np.bincount(chosen.servers, lifted) / chosen.server_sizes
        return SERVER / (1 + SERVER) * means

    def why(self, key: ToolId) -> JsonObject:
        return why(self, key)

    def stack(self, key: ToolId) -> dict[str, float]:
        return stack(self, key)

    def heard(self) -> JsonObject:
        return heard(self.matches)

    def _positions(self) -> Iterator[int]:
        scores = self.scores[self.found]
        if len(scores) > 2 * _FIRST:
            least = np.partition(scores, -_FIRST)[-_FIRST]
            best = np.flatnonzero(scores >= least)
            yield from self.found[_descending(best, scores)].tolist()
            rest = np.flatnonzero(scores < least)
        else:
            rest = np.arange(len(scores))
        yield from self.found[_descending(rest, scores)].tolist()


def ranked(text: str, chosen: Chosen, dense: Dense | None = None) -> Ranked:
    """The documents that fit the query, as if there were no others than the chosen."""
    matches = Matches.of(Query.of(text), chosen)
    lexical = matches.scores()
    cosines = None if dense is None else dense.cosines(chosen)
    clauses = () if dense is None or cosines is None else dense.clause_cosines(chosen)
    both = None if cosines is None else fused(lexical, cosines, clauses)
    scores = standard(lexical) if both is None else both.scores
    coverage = matches.coverage()
    scores += COVERAGE * coverage
    scores += (SERVER / chosen.server_sizes * np.bincount(chosen.servers, scores))[chosen.servers]
    fits = lexical > 0
    if dense is not None and cosines is not None:
        fits |= cosines >= dense.floor
    found = np.flatnonzero(fits)
    lifts = {} if both is None else _raised(scores, found, both.firsts)
    for position, amount in lifts.items():
        scores[position] += amount
    exact = _called(matches, coverage)
    scores[exact] += EXACT
    ranker: Ranker = "lexical" if both is None else "hybrid"
    share = 0.0 if both is None else both.share
    return Ranked(matches, scores, coverage, found, ranker, frozenset(exact), cosines, share, lifts)


def _raised(scores: Floats, found: NDArray[np.int64], firsts: Sequence[int]) -> dict[int, float]:
    """Among what is found at all."""
    places = np.searchsorted(found, firsts)
    there = [int(at) for at, first in zip(places, firsts, strict=True) if at < len(found) and found[at] == first]
    return {int(found[at]): amount for at, amount in raised(scores[found], there).items()}


def _called(matches: Matches, coverage: Floats) -> list[int]:
    """The positions of tools whose own name the query is, or has in it as only names are written; alone, or after the
    name of their server."""
    names = {*matches.query.names}
    if not names:
        return []
    chosen = matches.chosen
    covered = np.flatnonzero(coverage == 1.0).tolist()
    return [position for position in covered if not names.isdisjoint(_own_names(chosen.key(position)))]


def _own_names(key: ToolId) -> Iterator[tuple[str, ...]]:
    yield tuple(words(key.name))
    yield tuple(words(str(key)))
    yield tuple(words(f"{key.source} {key.name}"))
    if isinstance(key.source, ServerKey):
        yield tuple(words(f"{key.source.server} {key.name}"))


def _descending(places: NDArray[np.int64], scores: Floats) -> NDArray[np.int64]:
    return places[np.argsort(-scores[places], kind="stable")]
