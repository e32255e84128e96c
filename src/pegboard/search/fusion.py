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
    standardised: Floats = (scores - np.mean(scores)) / (np.std(scores) + _TINY)
    return standardised


def fused(lexical: Floats, cosines: Floats) -> Floats:
    return (1 - MEANING) * standard(lexical) + MEANING * standard(cosines)
