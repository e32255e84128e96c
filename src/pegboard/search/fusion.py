"""Words and meaning together: two scores of the same documents made one."""

from typing import Final

import numpy as np

from .part import Floats

MEANING: Final = 0.6
"""How much the meaning counts; words count for the rest."""

_TINY: Final = 1e-9


def standard(scores: Floats) -> Floats:
    """How far each lies above or below the average, so that scores of different kinds can be added."""
    if not len(scores):
        return scores
    standardised: Floats = (scores - np.mean(scores)) / spread(scores)
    return standardised


def spread(scores: Floats) -> float:
    """What counts as one step above the average."""
    return float(np.std(scores)) + _TINY


def fused(lexical: Floats, cosines: Floats) -> Floats:
    """One that has no cosine is judged by its words, as if its meaning said the same."""
    words = standard(lexical)
    known = ~np.isnan(cosines)
    meanings = standard(cosines) if known.all() else words.copy()
    if not known.all():
        meanings[known] = standard(cosines[known])
    return (1 - MEANING) * words + MEANING * meanings
