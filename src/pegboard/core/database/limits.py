"""How much of an answer a source gives, and how long it may take."""

from dataclasses import dataclass, replace
from typing import Final

MOST_ROWS: Final = 1000
"""What a caller may ask for at most, unless the source's own limit is higher."""


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them are kept while rows are fetched; none by writing into a statement."""

    rows: int = 100
    bytes: int = 1_000_000
    """Of all rows together, as JSON text has them, give or take punctuation."""
    cell: int = 2_000
    """Bytes of one value; longer ones are cut."""
    seconds: float = 10.0


def requested(limits: Limits, rows: int | None) -> Limits:
    """What a caller gets who asked for so many rows: never more than the larger of the source's limit and 1000."""
    if rows is None:
        return limits
    return replace(limits, rows=max(1, min(rows, max(limits.rows, MOST_ROWS))))
