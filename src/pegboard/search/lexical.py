"""Ranking by words: how well the names, titles, descriptions and parameters of tools fit a query.

The measure is BM25 over weighted fields, with three things that tool names and long requests ask for: each clause of a
request counts by itself too, a name that the query covers counts more, and longer words that begin with a word of the
query count a little.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .fields import SATURATION, Field
from .index import Chosen
from .part import COUNT_BITS, MOST_COUNTED, Floats
from .text import Query

Longs: TypeAlias = NDArray[np.int64]

CLAUSE: Final = 0.5
"""What the best clause adds to the whole."""

BEGINNING: Final = 0.5
SHORTEST_BEGINNING: Final = 3


@dataclass(frozen=True)
class Matches:
    """Which terms of a query are where among the chosen."""

    query: Query
    chosen: Chosen
    rarities: Floats
    """Of each term."""
    terms: Longs
    """The number of a term in the query, for each place where it is."""
    positions: Longs
    gains: Floats
    coverage: Floats
    """Of each chosen document: how much of its name the query says."""

    @classmethod
    def of(cls, query: Query, chosen: Chosen) -> "Matches":
        numbers, positions, marks, shares = _gathered(query, chosen)
        fields, count = marks >> COUNT_BITS, len(chosen)
        worths = chosen.worths.ravel()[positions * len(Field) + fields]
        amounts = shares * (marks & MOST_COUNTED) * worths
        named = positions[(fields == Field.NAME) & (shares == 1.0)]
        coverage = np.minimum(np.bincount(named, minlength=count) / chosen.name_sizes, 1.0)
        places = numbers * count + positions
        order = np.argsort(places, kind="stable")
        places, amounts = places[order], amounts[order]
        firsts = np.flatnonzero(np.diff(places, prepend=-1))
        weights = np.add.reduceat(amounts, firsts) if len(firsts) else amounts
        numbers, positions = np.divmod(places[firsts], count) if count else (numbers, positions)
        rarities = _rarities(np.bincount(numbers, minlength=len(query.terms)).tolist(), count)
        gains = rarities[numbers] * weights * (SATURATION + 1) / (weights + SATURATION)
        return cls(query, chosen, rarities, numbers, positions, gains, coverage)

    def scores(self) -> Floats:
        """Of each chosen document; nothing where no word fits."""
        whole = self._summed(self.query.weights)
        if not self.query.clauses or not len(self.gains):
            return whole
        best = np.zeros(len(whole))
        for weights in self.query.clauses:
            clause = self._summed(weights)
            if (most := clause.max()) > 0:
                np.maximum(best, clause / most, out=best)
        together: Floats = whole / whole.max() + CLAUSE * best
        return together

    def _summed(self, weights: Sequence[float]) -> Floats:
        # Added one after the other, in the order of the terms: rounding must not tell what else there is.
        weighed = self.gains * np.array(weights)[self.terms]
        return np.bincount(self.positions, weighed, len(self.chosen)).astype(np.float64, copy=False)


def _gathered(query: Query, chosen: Chosen) -> tuple[Longs, Longs, Longs, Floats]:
    """Where each term is found, or a longer word that begins with it: as one term, so that no rare word of many that
    begin so outweighs the term itself."""
    numbers, places, marks, shares = [], [], [], []
    for number, term in enumerate(query.terms):
        for base, segment in chosen.index.asked():
            found = segment.beginning_with(term)
            if found and len(term) < SHORTEST_BEGINNING:
                found = found[: segment.vocabulary[found.start] == term]
            if not found:
                continue
            here = slice(segment.starts[found.start], segment.starts[found.stop])
            size = here.stop - here.start
            words = segment.vocabulary[found.start : found.stop]
            lengths = np.diff(segment.starts[found.start : found.stop + 1])
            numbers.append(np.full(size, number))
            places.append(segment.places[here] + base)
            marks.append(segment.marks[here])
            shares.append(np.repeat([_share(term, word) for word in words], lengths))
    if not numbers:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing, np.empty(0)
    positions = chosen.positions[np.concatenate(places)]
    theirs = positions >= 0
    return (
        np.concatenate(numbers)[theirs],
        positions[theirs].astype(np.int64),
        np.concatenate(marks)[theirs].astype(np.int64),
        np.concatenate(shares)[theirs],
    )


def _share(term: str, word: str) -> float:
    return 1.0 if word == term else BEGINNING * len(term) / len(word)


def _rarities(having: Sequence[int], count: int) -> Floats:
    return np.array([math.log(1 + (count - each + 0.5) / (each + 0.5)) for each in having])
