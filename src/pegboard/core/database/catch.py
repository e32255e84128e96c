"""Rows caught as they are fetched, under the limits, so that what is not wanted is never fetched.

What a cursor gives is looked at column by column, because nearly every column is of one plain type: then nothing has to
be done for a single value, and a row stays the tuple that the driver made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from types import NoneType
from typing import Final, TypeAlias, cast

from pegboard.core.folded import Json

from .cell import CUT, SAFE_INTEGER, Note, cell, shortened, writer
from .limits import Limits
from .marks import Mark

Row: TypeAlias = tuple[Json, ...]
_Sized: TypeAlias = tuple[Sequence[Json], Sequence[int] | None, int]
"""A column as JSON, the bytes of each value or that none is a text, and the bytes of all."""

_MOST: Final = 1_000
_GROWTH: Final = 8
_AT_ONCE: Final = 4_000_000
"""Bytes that are fetched at once, as far as the rows before tell."""
_NUMBER: Final = 8
"""Bytes that are counted for what is no text."""
_AROUND: Final = 3
"""Bytes around a text."""


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
    """Ask the cursor for `wanted` rows, give them to `take`, and go on until it says no."""

    limits: Limits
    rows: list[Row] = field(default_factory=list[Row])
    _room: int = field(init=False)
    _by: str = ""
    _last: int = 0
    """How many rows were given last."""
    _size: int = 0
    """Their bytes, before anything was cut."""
    _cells: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    _marks: dict[int, dict[Mark, None]] = field(default_factory=dict[int, dict[Mark, None]])

    def __post_init__(self) -> None:
        self._room = self.limits.bytes

    @property
    def wanted(self) -> int:
        """How many rows to fetch now, if any: one more than is kept tells whether there are more. One at first, and
        few while they are large, because what was fetched lies in memory before any of it is cut."""
        if self._by:
            return 0
        left = self.limits.rows - len(self.rows) + 1
        return max(1, min(left, _MOST, self._last * _GROWTH, _AT_ONCE * self._last // max(1, self._size)))

    def add(self, row: Sequence[object]) -> bool:
        """Whether it was taken. After the first that was not, all that is left out is behind it."""
        return self.take((row,))

    def take(self, fetched: Sequence[Sequence[object]]) -> bool:
        """Whether all of them were taken; then more may be."""
        if self._by:
            return False
        kept = fetched[: self.limits.rows - len(self.rows)]
        self._last, self._size = len(kept), 0
        if kept:
            self._keep(kept)
        if not self._by and len(kept) < len(fetched):
            self._by = "rows"
        return not self._by

    @property
    def cut(self) -> Cut | None:
        return Cut(bool(self._by), self._by, tuple(sorted(self._cells))) if self._by or self._cells else None

    @property
    def marks(self) -> Mapping[int, tuple[Mark, ...]]:
        """How values are written that are not written as what they are, by the number of their column."""
        return {number: tuple(sorted(marks)) for number, marks in sorted(self._marks.items())}

    def _keep(self, fetched: Sequence[Sequence[object]]) -> None:
        given = [*zip(*fetched, strict=True)]
        cut: list[tuple[int, int, int]] = []
        sized = [self._column(number, column, cut) for number, column in enumerate(given)]
        size = sum(total for _, _, total in sized)
        self._size += size
        if size > self._room:
            count, size = self._fitting(sized, len(fetched))
            self._by = "bytes"
        else:
            count = len(fetched)
        self._room -= size
        self._cells += [each for each in cut if each[0] < len(self.rows) + count]
        if all(map(_is, (column for column, _, _ in sized), given)) and type(fetched[0]) is tuple:
            # Each column was found to be JSON as it is.
            self.rows += cast(Sequence[Row], fetched[:count])
        elif given:
            self.rows += [*zip(*(column[:count] for column, _, _ in sized), strict=True)]
        else:
            self.rows += [()] * count

    def _fitting(self, sized: Sequence[_Sized], count: int) -> tuple[int, int]:
        """How many of these rows there is room for, and what they take."""
        taken = 0
        for place in range(count):
            size = sum(_NUMBER if sizes is None else sizes[place] for _, sizes, _ in sized)
            if taken + size > self._room:
                return place, taken
            taken += size
        return count, taken

    def _column(self, number: int, column: tuple[object, ...], cut: list[tuple[int, int, int]]) -> _Sized:
        kinds = {*map(type, column)}
        kinds.discard(NoneType)
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        if not kinds or (kind is not None and kind is not str and _is_plain(kind, column)):
            return cast(Sequence[Json], column), None, _NUMBER * len(column)
        if kind is str and (sizes := self._sizes(cast(Sequence[str | None], column))) is not None:
            return cast(Sequence[Json], column), sizes, sum(sizes)
        return self._written(number, kind, column, cut)

    def _sizes(self, column: Sequence[str | None]) -> Sequence[int] | None:
        """Of a column of texts; nothing where one of them cannot stay as it is, or has to be looked at."""
        try:
            sizes = [
                _NUMBER if text is None else (len(text) if text.isascii() else len(text.encode())) + _AROUND
                for text in column
            ]
        except UnicodeEncodeError:
            return None
        return sizes if max(sizes) <= self.limits.cell + _AROUND else None

    def _written(
        self, number: int, kind: type | None, column: tuple[object, ...], cut: list[tuple[int, int, int]]
    ) -> _Sized:
        """Of a column of one kind, or of several."""
        most, first = self.limits.cell, len(self.rows)
        told: list[Json] = []
        sizes: list[int] = []

        def note(mark: Mark) -> None:
            self._marks.setdefault(number, {})[mark] = None

        write = _any if kind is None or kind is bool else writer(kind)
        for place, value in enumerate(column):
            whole = None if value is None else write(value, note, 0)
            if not isinstance(whole, str | list | dict):
                told.append(whole)
                sizes.append(_NUMBER)
                continue
            short, size = shortened(whole, most)
            if short is not whole:
                cut.append((first + place, number, size))
                self._size += size
                size = most + len(CUT.encode())
            told.append(short)
            sizes.append(size + _AROUND)
        return told, sizes, sum(sizes)


def _any(value: object, note: Note, depth: int) -> Json:
    return cell(value, note)


def _is_plain(kind: type, column: tuple[object, ...]) -> bool:
    """Whether a column of one type is JSON as it is. What counts as nothing is passed over: it fits anyway."""
    if kind is int:
        some = cast(Iterable[int], filter(None, column))
        again = cast(Iterable[int], filter(None, column))
        return max(some, default=0) <= SAFE_INTEGER and min(again, default=0) >= -SAFE_INTEGER
    if kind is float:
        # Whatever is not finite makes the sum so too.
        return isfinite(sum(cast(Iterable[float], filter(None, column))))
    return kind is bool


def _is(one: object, other: object) -> bool:
    return one is other
