"""Rows collected as they are fetched, under the limits, so that what is not wanted is never fetched.

Rows are looked at column by column, because nearly every column has one plain type: then nothing has to be done for a
single value.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from types import NoneType
from typing import Final, TypeAlias, cast

from pegboard.core.folded import Json

from .answer import QueryRows, ResultColumn, ResultTruncation, RowValues
from .source import QueryLimits
from .values import ELLIPSIS, MAX_EXACT_INTEGER, ValueFormat, json_value, valid_text

_SizedColumn: TypeAlias = tuple[Sequence[Json], Sequence[int] | None, int]
"""A column as JSON, the bytes of each value or `None` where none is a text, and the bytes of all."""

_MAX_FETCHED_ROWS: Final = 1_000
_FETCH_GROWTH: Final = 8
_FETCH_BYTES: Final = 4_000_000
"""Bytes to fetch at once, estimated from the rows before."""
_VALUE_BYTES: Final = 8
"""Bytes that are counted for what is no text."""
_QUOTE_BYTES: Final = 3
"""Bytes around a text."""


@dataclass(slots=True)
class RowCollector:
    """Fetch `next_fetch` rows, give them to `add`, and go on until it returns false."""

    limits: QueryLimits
    rows: list[RowValues] = field(default_factory=list[RowValues])
    _bytes_left: int = field(init=False)
    _ended_by: str = ""
    _last_count: int = 0
    """How many rows were added last."""
    _last_bytes: int = 0
    """Their bytes, before anything was cut."""
    _cut_values: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    _formats: dict[int, set[ValueFormat]] = field(default_factory=dict[int, set[ValueFormat]])

    def __post_init__(self) -> None:
        self._bytes_left = self.limits.bytes

    @property
    def next_fetch(self) -> int:
        """How many rows to fetch now: one more than is kept shows whether there are more. One at first, and few while
        they are large, because what was fetched is in memory before any of it is cut."""
        if self._ended_by:
            return 0
        left = self.limits.rows - len(self.rows) + 1
        by_bytes = _FETCH_BYTES * self._last_count // max(1, self._last_bytes)
        return max(1, min(left, _MAX_FETCHED_ROWS, self._last_count * _FETCH_GROWTH, by_bytes))

    def add(self, fetched: Sequence[Sequence[object]]) -> bool:
        """Whether all of them were kept; then there may be more. After a row that was not kept, none is."""
        if self._ended_by:
            return False
        kept = fetched[: self.limits.rows - len(self.rows)]
        self._last_count, self._last_bytes = len(kept), 0
        if kept:
            self._keep(kept)
        if not self._ended_by and len(kept) < len(fetched):
            self._ended_by = "rows"
        return not self._ended_by

    @property
    def truncation(self) -> ResultTruncation | None:
        if not self._ended_by and not self._cut_values:
            return None
        return ResultTruncation(bool(self._ended_by), self._ended_by, tuple(sorted(self._cut_values)))

    def to_rows(
        self, names: Iterable[str], types: Sequence[str], seconds: float, affected: int | None = None
    ) -> QueryRows:
        """The answer. `types` are the database's own words for them, in the order of the names."""
        fields = (
            ResultColumn(name, type, tuple(sorted(self._formats.get(number, ()))))
            for number, (name, type) in enumerate(zip(unique_names(names), types, strict=True))
        )
        return QueryRows(tuple(fields), tuple(self.rows), self.truncation, seconds, affected)

    def _keep(self, fetched: Sequence[Sequence[object]]) -> None:
        cut: list[tuple[int, int, int]] = []
        sized = [self._size_column(number, column, cut) for number, column in enumerate(zip(*fetched, strict=True))]
        size, count = sum(total for _, _, total in sized), len(fetched)
        self._last_bytes += size
        if size > self._bytes_left:
            count, size = self._count_fitting(sized, count)
            self._ended_by = "bytes"
        self._bytes_left -= size
        self._cut_values += [each for each in cut if each[0] < len(self.rows) + count]
        self.rows += zip(*(column[:count] for column, _, _ in sized), strict=True) if sized else [()] * count

    def _count_fitting(self, sized: Sequence[_SizedColumn], count: int) -> tuple[int, int]:
        """How many of these rows there is room for, and their bytes."""
        taken = 0
        for place in range(count):
            size = sum(_VALUE_BYTES if sizes is None else sizes[place] for _, sizes, _ in sized)
            if taken + size > self._bytes_left:
                return place, taken
            taken += size
        return count, taken

    def _size_column(self, number: int, column: tuple[object, ...], cut: list[tuple[int, int, int]]) -> _SizedColumn:
        types = {*map(type, column)} - {NoneType}
        only = next(iter(types)) if len(types) == 1 else None
        if not types or (only is not None and _is_json(only, column)):
            return cast(Sequence[Json], column), None, _VALUE_BYTES * len(column)
        if only is str and (sizes := self._text_sizes(cast(Sequence[str | None], column))) is not None:
            return cast(Sequence[Json], column), sizes, sum(sizes)
        return self._convert_column(number, column, cut)

    def _text_sizes(self, column: Sequence[str | None]) -> Sequence[int] | None:
        """`None` where a text is too long or not valid."""
        try:
            sizes = [
                _VALUE_BYTES if text is None else (len(text) if text.isascii() else len(text.encode())) + _QUOTE_BYTES
                for text in column
            ]
        except UnicodeEncodeError:
            return None
        return sizes if max(sizes) <= self.limits.cell_chars + _QUOTE_BYTES else None

    def _convert_column(self, number: int, column: tuple[object, ...], cut: list[tuple[int, int, int]]) -> _SizedColumn:
        """A column of which values are changed or cut."""
        limit, first = self.limits.cell_chars, len(self.rows)
        values: list[Json] = []
        sizes: list[int] = []
        on_format = self._formats.setdefault(number, set()).add
        for place, original in enumerate(column):
            value, size = json_value(original, on_format), _VALUE_BYTES
            if isinstance(value, str | list | dict):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
                encoded = text.encode()
                size = len(encoded)
                if size > limit:
                    value = encoded[:limit].decode(errors="ignore") + ELLIPSIS
                    cut.append((first + place, number, size))
                    self._last_bytes += size
                    size = limit + len(ELLIPSIS.encode())
                size += _QUOTE_BYTES
            values.append(value)
            sizes.append(size)
        return values, sizes, sum(sizes)


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, and none empty: `id, id` are `id` and `id_2`, unless another column has that name."""
    given = [valid_text(name) or f"column_{number}" for number, name in enumerate(names, 1)]
    used: dict[str, None] = {}
    for name in given:
        candidate, number = name, 1
        while candidate in used or (number > 1 and candidate in given):
            number += 1
            candidate = f"{name}_{number}"
        used[candidate] = None
    return tuple(used)


def _is_json(only: type, column: tuple[object, ...]) -> bool:
    """Whether a column of one type can stay as it is. What counts as false is passed over: it is JSON anyway."""
    if only is int:
        some = cast(Iterable[int], filter(None, column))
        again = cast(Iterable[int], filter(None, column))
        return max(some, default=0) <= MAX_EXACT_INTEGER and min(again, default=0) >= -MAX_EXACT_INTEGER
    if only is float:
        # A value that is not finite makes the sum so too.
        return isfinite(sum(cast(Iterable[float], filter(None, column))))
    return only is bool
