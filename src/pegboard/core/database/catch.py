"""Rows caught one by one under the limits, so that what is not wanted is never fetched."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pegboard.core.folded import Json

from .cell import CUT, SAFE_INTEGER, cell, shortened
from .limits import Limits

Row: TypeAlias = tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """What of an answer was left out."""

    rows: bool
    """There are more rows than these."""
    by: str = ""
    """`rows` or `bytes`: the limit that ended them."""
    cells: tuple[tuple[int, int, int], ...] = ()
    """Values that were cut: row and column, from 0, and the bytes that the whole value has."""


@dataclass(slots=True)
class Catch:
    """Give it each row as it comes, and stop fetching when it says so."""

    limits: Limits
    rows: list[Row] = field(default_factory=list[Row])
    _room: int = field(init=False)
    _by: str = ""
    _cells: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])

    def __post_init__(self) -> None:
        self._room = self.limits.bytes

    def add(self, row: Sequence[object]) -> bool:
        """Whether it was taken. After the first that was not, all that is left out is behind it."""
        if self._by:
            return False
        if len(self.rows) >= self.limits.rows:
            self._by = "rows"
            return False
        most, taken, size = self.limits.cell, [], 0
        cuts: list[tuple[int, int, int]] = []
        for place, value in enumerate(row):
            kind = type(value)
            # The two that nearly all values are, without the way through every kind.
            if kind is int and -SAFE_INTEGER <= value <= SAFE_INTEGER:  # type: ignore[operator]  # an int it is
                size += 8
                taken.append(value)
                continue
            if kind is str and value.isascii() and len(value) <= most:  # type: ignore[attr-defined, arg-type]
                size += len(value) + 3  # type: ignore[arg-type]
                taken.append(value)
                continue
            whole = cell(value)
            told, whole_size = shortened(whole, most)
            if told is not whole:
                cuts.append((len(self.rows), place, whole_size))
            size += min(whole_size, most + len(CUT.encode())) + 3
            taken.append(told)
        if size > self._room:
            self._by = "bytes"
            return False
        self._room -= size
        self.rows.append(tuple(taken))  # type: ignore[arg-type]  # each went through `cell` or needed not to
        self._cells += cuts
        return True

    @property
    def cut(self) -> Cut | None:
        return Cut(bool(self._by), self._by, tuple(self._cells)) if self._by or self._cells else None
