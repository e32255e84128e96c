"""Words and meaning together: two scores of the same documents made one.

How much the meaning counts is decided for each query, by how far each of the two sets its best hits apart from the
rest: the one that is sure of itself counts more. The numbers were chosen on four sets of tools and requests, each
measured with what was chosen on the other three (benchmarks/README.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from .part import Floats

MEANING: Final = 3.0
"""How much more a lead by meaning counts than the same lead by words: cosines lie close together."""
CLAUSE: Final = 2.0
"""How much the clause that is nearest to a tool counts beside the whole query, which may ask for several tools."""
LEAST: Final = 0.1
MOST: Final = 0.9
"""The shares between which the meaning always counts: neither of the two is ever left out."""
LEADING: Final = 20
"""A lead is that of the first over the one in this place."""
KEPT: Final = 9
"""What words or meaning have first of all stands in the first ten, whatever the other says of it."""

_NO_LEAD: Final = 0.05
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Fused:
    scores: Floats
    share: float
    """How much the meaning counts; words count for the rest."""
    firsts: tuple[int, ...]
    """The positions of what words and what meaning have first."""


def standard(scores: Floats) -> Floats:
    """How far each lies above or below the average, so that scores of different kinds can be added."""
    if not len(scores):
        return scores
    standardised: Floats = (scores - np.mean(scores)) / spread(scores)
    return standardised


def spread(scores: Floats) -> float:
    """What counts as one step above the average."""
    return float(np.std(scores)) + _TINY


def fused(lexical: Floats, cosines: Floats, clauses: Sequence[Floats] = ()) -> Fused:
    """One that has no cosine is judged by its words, as if its meaning said the same. `clauses` are the cosines of
    each clause of the query, where it has several."""
    words = standard(lexical)
    known = ~np.isnan(cosines)
    if not known.any():
        return Fused(words, 0.0, ())
    near = standard(cosines[known])
    if clauses:
        nearest = np.max([standard(clause[known]) for clause in clauses], axis=0)
        near = standard(near + CLAUSE * nearest)
    meanings = words.copy()
    meanings[known] = near
    pull = MEANING * lead(near)
    share = min(max(pull / (pull + lead(words)), LEAST), MOST)
    firsts = [int(np.flatnonzero(known)[np.argmax(near)])]
    if lexical.max() > 0:
        firsts.append(int(np.argmax(words)))
    return Fused((1 - share) * words + share * meanings, share, tuple(dict.fromkeys(firsts)))


def lead(standardised: Floats) -> float:
    """How far the first is ahead of those that follow."""
    size = min(LEADING, len(standardised))
    best = np.partition(standardised, -size)[-size:]
    return max(float(best.max() - best.min()), _NO_LEAD)


def raised(scores: Floats, firsts: Sequence[int]) -> dict[int, float]:
    """By position: what each of these lacks to stand among the first ten."""
    if len(scores) <= KEPT:
        return {}
    least = float(np.partition(scores, -KEPT)[-KEPT])
    enough = float(np.nextafter(least, np.inf))
    return {first: enough - float(scores[first]) for first in firsts if scores[first] < least}
