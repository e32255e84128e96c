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

from .fields import SATURATION, Field
from .index import Chosen, Met, Segment
from .part import COUNT_BITS, MOST_COUNTED, Floats, Marks, Singles, Whole
from .text import STOP_TERMS, Query

CLAUSE: Final = 0.5
"""What the best clause adds to the whole."""

_FEW: Final = 16
"""A term that less than one of so many documents has is counted without a look at all of them."""

_FREQUENT: Final = 4
"""A term that one of so many documents has, or more, is a frequent one."""

BEGINNING: Final = 0.5
SHORTEST_BEGINNING: Final = 3

Entries: TypeAlias = tuple[Whole, Singles, Marks]

_NONE: Final[Entries] = np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.uint8)
_NAMES_END: Final = (Field.NAME + 1) << COUNT_BITS
"""Marks below are of the first field."""


@dataclass(frozen=True)
class Matches:
    """Which terms of a query are where among the chosen."""

    query: Query
    chosen: Chosen
    met: tuple[Met, ...]
    """By term."""

    @classmethod
    def of(cls, query: Query, chosen: Chosen) -> "Matches":
        return cls(query, chosen, tuple([chosen.met(term, _met) for term in query.terms]))

    def scores(self) -> Floats:
        """Of each chosen document; nothing where no word fits."""
        whole = self._summed(self.query.weights)
        if not self.query.clauses or not whole.any():
            return whole
        best = np.zeros(len(whole))
        for weights in self.query.clauses:
            clause = self._summed(weights)
            if (most := clause.max()) > 0:
                clause /= most
                np.maximum(best, clause, out=best)
        best *= CLAUSE
        whole /= whole.max()
        whole += best
        return whole

    def coverage(self) -> Floats:
        """Of each chosen document: how much of its name the query says."""
        said = np.zeros(len(self.chosen))
        for met in self.met:
            said[met.named] += 1
        return np.minimum(said / self.chosen.name_sizes, 1.0, out=said)

    def _summed(self, weights: Sequence[float]) -> Floats:
        # Added one after the other, in the order of the terms: rounding must not tell what else there is.
        scores = np.zeros(len(self.chosen))
        for met, weight in zip(self.met, weights, strict=True):
            if weight:
                met.add_to(scores, weight)
        return scores


def begins(term: str) -> bool:
    """Whether longer words are found by it. One of every sentence is no beginning of anything: `and` is not meant by
    who looks for `android`."""
    return len(term) >= SHORTEST_BEGINNING and term not in STOP_TERMS


def _met(term: str, chosen: Chosen) -> Met:
    """Where a term is found, or a longer word that begins with it: as one term, so that no rare word of many that begin
    so outweighs the term itself."""
    exact, longer = [_NONE], [_NONE]
    for base, segment in chosen.index.asked():
        found = segment.beginning_with(term)
        same = int(bool(found) and segment.vocabulary[found.start] == term)
        if same:
            exact.append(_entries(chosen, base, segment, found[:1], 1.0))
        if found[same:] and begins(term):
            words = segment.vocabulary[found.start + same : found.stop]
            shares = np.array([BEGINNING * len(term) / len(word) for word in words], np.float32)
            counts = np.diff(segment.starts[found.start + same : found.stop + 1])
            longer.append(_entries(chosen, base, segment, found[same:], np.repeat(shares, counts)))
    own, amounts, marks = _together(exact)
    others, more, _ = _together(longer)
    named = own[marks < _NAMES_END]
    positions, weights = _summed(np.concatenate([own, others]), np.concatenate([amounts, more]), len(chosen))
    count = int(np.count_nonzero(weights))
    rarity = math.log(1 + (len(chosen) - count + 0.5) / (count + 0.5))
    gains = rarity * weights * (SATURATION + 1) / (weights + SATURATION)
    return Met(count, positions, gains.astype(np.float32), named)


def _entries(chosen: Chosen, base: int, segment: Segment, terms: range, shares: float | Singles) -> Entries:
    """The positions of the chosen that have these terms, what that is worth at each, and in which field it is."""
    here = slice(segment.starts[terms.start], segment.starts[terms.stop])
    places, marks = segment.places[here] + base, segment.marks[here]
    amounts: Singles = (marks & MOST_COUNTED).astype(np.float32) * np.asarray(shares, np.float32)
    if len(chosen) < len(chosen.index):
        places = chosen.positions[places]
        kept = places >= 0
        places, marks, amounts = places[kept], marks[kept], amounts[kept]
    amounts *= chosen.worths.ravel().take(places * len(Field) + (marks >> COUNT_BITS))
    return places, amounts, marks


def _summed(positions: Whole, amounts: Singles, size: int) -> tuple[Whole | None, Floats]:
    """Each position once, with all that it has; or of every one what it has, where many have something."""
    if len(positions) * _FEW > size:
        sums = np.bincount(positions, amounts, size).astype(np.float64, copy=False)
        found = sums > 0
        if np.count_nonzero(found) * _FREQUENT >= size:
            return None, sums
        return np.flatnonzero(found).astype(np.int32), sums[found]
    order = np.argsort(positions, kind="stable")
    positions, exact = positions[order], amounts[order].astype(np.float64)
    firsts = np.flatnonzero(np.diff(positions, prepend=-1))
    return positions[firsts], np.add.reduceat(exact, firsts) if len(firsts) else exact


def _together(entries: Sequence[Entries]) -> Entries:
    positions, amounts, marks = zip(*entries, strict=True)
    return np.concatenate(positions), np.concatenate(amounts), np.concatenate(marks)
