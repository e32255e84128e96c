"""How much of an answer a source gives, and how long it may take."""

import re
from dataclasses import dataclass, replace
from typing import Final

MOST_ROWS: Final = 1000
"""What a caller may ask for at most, unless the source's own limit is higher."""

_OF_PLAN: Final = 64_000
_EXPLAINS: Final = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them are kept while rows are fetched; none by writing into a statement."""

    rows: int = 100
    bytes: int = 1_000_000
    """Of all rows together, as JSON text has them, give or take punctuation."""
    cell: int = 2_000
    """Bytes of one value; longer ones are cut."""
    seconds: float = 10.0


def is_plan(statement: str) -> bool:
    """Whether what it answers is a plan; by its first word, which every engine has alike."""
    return _EXPLAINS.match(statement) is not None


def for_plan(limits: Limits) -> Limits:
    """A plan is one value in some engines, and of no use when it is cut."""
    return replace(limits, cell=max(limits.cell, min(limits.bytes, _OF_PLAN)))
