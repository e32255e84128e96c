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

from pegboard.search.documents import (
    COUNT_BITS,
    MAX_COUNT,
    SATURATION,
    DocumentField,
    FieldCounts,
    FloatArray,
    IntArray,
    SingleArray,
)
from pegboard.search.index import ChosenDocuments, IndexSegment, TermMatch
from pegboard.search.text import STOP_TERMS, ParsedQuery

CLAUSE_WEIGHT: Final = 0.5
"""What the best clause adds to the whole."""

_RARE_FRACTION: Final = 16
"""A term that less than one of so many documents has is counted without a look at all of them."""

_FREQUENT_FRACTION: Final = 4
"""A term that one of so many documents has, or more, is a frequent one."""

PREFIX_WEIGHT: Final = 0.5
MIN_PREFIX_LENGTH: Final = 3

TermEntries: TypeAlias = tuple[IntArray, SingleArray, FieldCounts]

_NO_ENTRIES: Final[TermEntries] = np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.uint8)
_NAMES_END: Final = (DocumentField.NAME + 1) << COUNT_BITS
"""Marks below are of the first field."""


@dataclass(frozen=True)
class LexicalMatches:
    """Which terms of a query are where among the chosen."""

    query: ParsedQuery
    documents: ChosenDocuments
    term_matches: tuple[TermMatch, ...]
    """By term."""

    @classmethod
    def of(cls, query: ParsedQuery, chosen: ChosenDocuments) -> "LexicalMatches":
        return cls(query, chosen, tuple([chosen.match_term(term, _match_term) for term in query.terms]))

    def scores(self) -> FloatArray:
        """Of each chosen document; nothing where no word fits."""
        whole = self._weighted_scores(self.query.weights)
        if not self.query.clauses or not whole.any():
            return whole
        best = np.zeros(len(whole))
        for weights in self.query.clauses:
            clause = self._weighted_scores(weights)
            if (most := clause.max()) > 0:
                clause /= most
                np.maximum(best, clause, out=best)
        best *= CLAUSE_WEIGHT
        whole /= whole.max()
        whole += best
        return whole

    def coverage(self) -> FloatArray:
        """Of each chosen document: how much of its name the query says."""
        said = np.zeros(len(self.documents))
        for met in self.term_matches:
            said[met.name_positions] += 1
        return np.minimum(said / self.documents.name_sizes, 1.0, out=said)

    def _weighted_scores(self, weights: Sequence[float]) -> FloatArray:
        # Added one after the other, in the order of the terms: rounding must not tell what else there is.
        scores = np.zeros(len(self.documents))
        for met, weight in zip(self.term_matches, weights, strict=True):
            if weight:
                met.add_to(scores, weight)
        return scores


def matches_prefixes(term: str) -> bool:
    """Whether longer words are found by it. One of every sentence is no beginning of anything: `and` is not meant by
    who looks for `android`."""
    return len(term) >= MIN_PREFIX_LENGTH and term not in STOP_TERMS


def _match_term(term: str, chosen: ChosenDocuments) -> TermMatch:
    """Where a term is found, or a longer word that begins with it: as one term, so that no rare word of many that begin
    so outweighs the term itself."""
    exact, longer = [_NO_ENTRIES], [_NO_ENTRIES]
    for base, segment in chosen.index.segments_with_base():
        found = segment.beginning_with(term)
        same = int(bool(found) and segment.vocabulary[found.start] == term)
        if same:
            exact.append(_entries(chosen, base, segment, found[:1], 1.0))
        if found[same:] and matches_prefixes(term):
            words = segment.vocabulary[found.start + same : found.stop]
            shares = np.array([PREFIX_WEIGHT * len(term) / len(word) for word in words], np.float32)
            counts = np.diff(segment.starts[found.start + same : found.stop + 1])
            longer.append(_entries(chosen, base, segment, found[same:], np.repeat(shares, counts)))
    own, amounts, marks = _concatenate(exact)
    others, more, _ = _concatenate(longer)
    named = own[marks < _NAMES_END]
    positions, weights = _sum_by_position(np.concatenate([own, others]), np.concatenate([amounts, more]), len(chosen))
    count = int(np.count_nonzero(weights))
    rarity = math.log(1 + (len(chosen) - count + 0.5) / (count + 0.5))
    gains = rarity * weights * (SATURATION + 1) / (weights + SATURATION)
    return TermMatch(count, positions, gains.astype(np.float32), named)


def _entries(
    chosen: ChosenDocuments, base: int, segment: IndexSegment, terms: range, shares: float | SingleArray
) -> TermEntries:
    """The positions of the chosen that have these terms, what that is worth at each, and in which field it is."""
    here = slice(segment.starts[terms.start], segment.starts[terms.stop])
    places, marks = segment.places[here] + base, segment.field_counts[here]
    amounts: SingleArray = (marks & MAX_COUNT).astype(np.float32) * np.asarray(shares, np.float32)
    if len(chosen) < len(chosen.index):
        places = chosen.positions[places]
        kept = places >= 0
        places, marks, amounts = places[kept], marks[kept], amounts[kept]
    amounts *= chosen.field_weights.ravel().take(places * len(DocumentField) + (marks >> COUNT_BITS))
    return places, amounts, marks


def _sum_by_position(positions: IntArray, amounts: SingleArray, size: int) -> tuple[IntArray | None, FloatArray]:
    """Each position once, with all that it has; or of every one what it has, where many have something."""
    if len(positions) * _RARE_FRACTION > size:
        sums = np.bincount(positions, amounts, size).astype(np.float64, copy=False)
        found = sums > 0
        if np.count_nonzero(found) * _FREQUENT_FRACTION >= size:
            return None, sums
        return np.flatnonzero(found).astype(np.int32), sums[found]
    order = np.argsort(positions, kind="stable")
    positions, exact = positions[order], amounts[order].astype(np.float64)
    firsts = np.flatnonzero(np.diff(positions, prepend=-1))
    return positions[firsts], np.add.reduceat(exact, firsts) if len(firsts) else exact


def _concatenate(entries: Sequence[TermEntries]) -> TermEntries:
    positions, amounts, marks = zip(*entries, strict=True)
    return np.concatenate(positions), np.concatenate(amounts), np.concatenate(marks)
