"""Words and meaning together: two scores of the same documents made one.

How much the meaning counts is decided for each query, by how far each of the two sets its best hits apart from the
rest: the one that is sure of itself counts more. The numbers were chosen on four sets of tools and requests, each
measured with what was chosen on the other three (benchmarks/README.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from .part import FloatArray

SEMANTIC_WEIGHT: Final = 3.0
"""How much more a lead by meaning counts than the same lead by words: cosines lie close together."""
CLAUSE_WEIGHT: Final = 2.0
"""How much the clause that is nearest to a tool counts beside the whole query, which may ask for several tools."""
MIN_SEMANTIC_SHARE: Final = 0.1
MAX_SEMANTIC_SHARE: Final = 0.9
"""The shares between which the meaning always counts: neither of the two is ever left out."""
LEAD_RANK: Final = 20
"""A lead is that of the first over the one in this place."""
GUARANTEED_RANK: Final = 9
"""What words or meaning have first of all stands in the first ten, whatever the other says of it."""

_MIN_LEAD: Final = 0.05
_EPSILON: Final = 1e-9


@dataclass(frozen=True, slots=True)
class FusedScores:
    scores: FloatArray
    semantic_share: float
    """How much the meaning counts; words count for the rest."""
    leaders: tuple[int, ...]
    """The positions of what words and what meaning have first."""


def standardize(scores: FloatArray) -> FloatArray:
    """How far each lies above or below the average, so that scores of different kinds can be added."""
    if not len(scores):
        return scores
    standardised: FloatArray = (scores - np.mean(scores)) / spread(scores)
    return standardised


def spread(scores: FloatArray) -> float:
    """What counts as one step above the average."""
    return float(np.std(scores)) + _EPSILON


def fuse_scores(lexical: FloatArray, cosines: FloatArray, clauses: Sequence[FloatArray] = ()) -> FusedScores:
    """One that has no cosine is judged by its words, as if its meaning said the same. `clauses` are the cosines of
    each clause of the query, where it has several."""
    words = standardize(lexical)
    known = ~np.isnan(cosines)
    if not known.any():
        return FusedScores(words, 0.0, ())
    near = standardize(cosines[known])
    if clauses:
        nearest = np.max([standardize(clause[known]) for clause in clauses], axis=0)
        near = standardize(near + CLAUSE_WEIGHT * nearest)
    meanings = words.copy()
    meanings[known] = near
    pull = SEMANTIC_WEIGHT * lead(near)
    share = min(max(pull / (pull + lead(words)), MIN_SEMANTIC_SHARE), MAX_SEMANTIC_SHARE)
    firsts = [int(np.flatnonzero(known)[np.argmax(near)])]
    if lexical.max() > 0:
        firsts.append(int(np.argmax(words)))
    return FusedScores((1 - share) * words + share * meanings, share, tuple(dict.fromkeys(firsts)))


def lead(standardised: FloatArray) -> float:
    """How far the first is ahead of those that follow."""
    size = min(LEAD_RANK, len(standardised))
    best = np.partition(standardised, -size)[-size:]
    return max(float(best.max() - best.min()), _MIN_LEAD)


def raise_to_top(scores: FloatArray, firsts: Sequence[int]) -> dict[int, float]:
    """By position: what each of these lacks to stand among the first ten."""
    if len(scores) <= GUARANTEED_RANK:
        return {}
    least = float(np.partition(scores, -GUARANTEED_RANK)[-GUARANTEED_RANK])
    enough = float(np.nextafter(least, np.inf))
    return {first: enough - float(scores[first]) for first in firsts if scores[first] < least}
