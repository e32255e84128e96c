"""The fields of a document, and what a word in each is worth."""

from enum import IntEnum
from typing import Final


class DocumentField(IntEnum):
    NAME = 0
    TITLE = 1
    SERVER = 2
    DESCRIPTION = 3
    PARAMETERS = 4
    """Their names."""
    VALUES = 5
    """What is said of parameters: their descriptions, and the values to choose from."""


FIELD_WEIGHTS: Final = (3.0, 2.0, 1.5, 1.0, 0.8, 0.5)
"""Of a word, by field."""

LENGTH_NORMALIZATION: Final = (0.3, 0.3, 0.3, 0.6, 0.6, 0.75)
"""How much less a word is worth in a field that is longer than others: 0 is not at all, 1 in proportion."""

SATURATION: Final = 1.2
"""How soon it stops to matter how often a word is there."""

MAX_LETTERS: Final = (500, 500, 200, 4_000, 4_000, 8_000)
"""What comes after is examples and small print, and a giant text must not cost everybody's memory."""
