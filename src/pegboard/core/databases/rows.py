"""Rows collected as they are fetched, under the limits, so that what is not wanted is never fetched.

Rows are looked at column by column, because nearly every column has one plain type: then nothing has to be done for a
single value.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from math import isfinite
from types import NoneType
from typing import Final, TypeAlias, cast

from pegboard.core.json.values import MAX_SHOWN_DEPTH, Json
from pegboard.core.model.databases import QueryLimits

# Values of databases as JSON carries them, without losing what they were.

MAX_EXACT_INTEGER: Final = 2**53 - 1
"""Most readers of JSON round larger ones."""
MAX_EXACT_DIGITS: Final = 15
"""Digits that a decimal keeps as a number of JSON in every reader."""
ELLIPSIS: Final = "…"
_MAX_EXPANDED_EXPONENT: Final = 100
"""Digits before or after the point up to which a decimal is written without a power of ten."""


class ValueFormat(StrEnum):
    """How values are written for which JSON has no type. Told for each column."""

    NUMBER_AS_TEXT = "number_as_text"
    """Numbers that JSON's own would not keep exactly: beyond 2**53, of more than 15 digits, not finite."""
    BINARY_AS_HEX = "binary_as_hex"


OnFormat: TypeAlias = Callable[[ValueFormat], None]
"""Called for each value that is written in a format of its own."""


def ignore_format(format: ValueFormat) -> None:
    pass


def json_value(value: object, on_format: OnFormat = ignore_format, depth: int = 0) -> Json:
    """Numbers that JSON readers would change become text, and so does what JSON has no type for: a blob is `0x…`, a
    date, a time and an interval are written as ISO 8601 has them. Types that drivers define, such as ranges and
    addresses, are written as the driver does. `depth` is the number of values around this one."""
    match value:
        case None | bool():
            return value
        case str():
            return valid_text(str.__str__(value))
        case int():
            return _integer(value, on_format)
        case float():
            if math.isfinite(value):
                return float(value)
            on_format(ValueFormat.NUMBER_AS_TEXT)
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Decimal():
            return _decimal(value, on_format)
        # Drivers return these very objects for an infinite one; an equal one is a day of the calendar.
        case date() if value is date.max or value is datetime.max:
            return "infinity"
        case date() if value is date.min or value is datetime.min:
            return "-infinity"
        case date() | time():
            return value.isoformat()
        case timedelta():
            return _interval(value)
        case bytes() | bytearray() | memoryview():
            on_format(ValueFormat.BINARY_AS_HEX)
            return "0x" + bytes(value).hex()
        case Mapping() if depth < MAX_SHOWN_DEPTH:
            return {_key(name): json_value(each, on_format, depth + 1) for name, each in value.items()}
        case Sequence() | Set() if depth < MAX_SHOWN_DEPTH:
            return [json_value(each, on_format, depth + 1) for each in value]
        case Enum():
            return json_value(value.value, on_format, depth)
        case _:
            return valid_text(str(value))


def _integer(value: int, on_format: OnFormat) -> Json:
    if -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
        return int(value)
    on_format(ValueFormat.NUMBER_AS_TEXT)
    try:
        return str(int(value))
    except ValueError:  # Python writes no number of more than some thousand digits in decimal
        return hex(value)


def _decimal(value: Decimal, on_format: OnFormat) -> Json:
    """A number where a number keeps each digit: sums and averages are decimals in most databases, and readers compute
    with them."""
    text = str(value)
    if len(text) <= MAX_EXACT_DIGITS and text[-1:].isdigit() and "E" not in text:
        return float(text) if "." in text else int(text)
    _, digits, exponent = value.as_tuple()
    if isinstance(exponent, int):
        if exponent >= 0 and len(digits) + exponent <= MAX_EXACT_DIGITS:
            return int(value)
        if len(digits) <= MAX_EXACT_DIGITS and -MAX_EXACT_DIGITS <= exponent < 0:
            return float(value)
    on_format(ValueFormat.NUMBER_AS_TEXT)
    return format(value, "f") if value.is_finite() and abs(value.adjusted()) <= _MAX_EXPANDED_EXPONENT else text


def _interval(value: timedelta) -> str:
    """In days and less: a timedelta has no months."""
    sign, rest = ("-", -value) if value < timedelta() else ("", value)
    minutes, seconds = divmod(rest.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{rest.microseconds:06d}".rstrip("0") if rest.microseconds else ""
    shown = {"H": f"{hours}", "M": f"{minutes}", "S": f"{seconds}{fraction}"}
    clock = "".join(f"{number}{unit}" for unit, number in shown.items() if number != "0")
    days = f"{rest.days}D" if rest.days else ""
    return f"{sign}P{days}T{clock}" if clock else f"{sign}P{days}" if days else "PT0S"


def _key(name: object) -> str:
    """Objects of JSON have keys of text, maps of databases have any."""
    written = json_value(name)
    return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)


def valid_text(value: str) -> str:
    """Without halves of surrogate pairs, which have no form in UTF-8."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="surrogatepass").decode("utf-8", "replace")
    return value


# What a source answers: rows, why a statement was refused, why it failed; and what a check of it found.

RowValues: TypeAlias = tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of an answer."""

    name: str
    type: str
    """As the database names it; empty where it cannot say."""
    formats: tuple[ValueFormat, ...] = ()
    """Of values that JSON has no type for."""


@dataclass(frozen=True, slots=True)
class ResultTruncation:
    """What of an answer was left out."""

    rows: bool
    """There are more rows than these."""
    limited_by: str = ""
    """`rows` or `bytes`: the limit that ended them."""
    cells: tuple[tuple[int, int, int], ...] = ()
    """Values that were cut: row and column, from 0, and the bytes of the whole value."""


@dataclass(frozen=True, slots=True)
class QueryRows:
    columns: tuple[ResultColumn, ...]
    rows: tuple[RowValues, ...]
    truncation: ResultTruncation | None
    """`None` where this is all."""
    seconds: float
    affected_rows: int | None = None
    """How many rows a statement that writes has changed."""


@dataclass(frozen=True, slots=True)
class StatementRefusal:
    """The statement was not run, because of what it is."""

    why: str
    fix: str
    """What to write instead."""
    is_write: bool = False
    """It would change rows, and was asked without `write`: where the source may be written, a person can be asked."""


class StatementFault(Enum):
    """What went wrong, as far as the caller can fix it."""

    SYNTAX = "syntax"
    NO_TABLE = "no_table"
    NO_COLUMN = "no_column"
    NO_FUNCTION = "no_function"
    PARAMETERS = "parameters"
    TIME = "time"
    MEMORY = "memory"
    BUSY = "busy"
    """Another connection holds what is needed: to try again may help."""
    UNAVAILABLE = "unavailable"
    """The database cannot be reached or opened."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class StatementFailure:
    """The statement was run, or begun, and there are no rows. A closed table or column fails like one that does not
    exist: with the same message, fault, name and position."""

    message: str
    """The engine's own, without what is closed."""
    position: int | None = None
    """Characters before the place that is meant, in the statement as it was given."""
    fault: StatementFault = StatementFault.OTHER
    name: str | None = None
    """What was not found, as the statement spells it."""


QueryAnswer: TypeAlias = QueryRows | StatementRefusal | StatementFailure
"""To one statement."""


class FindingSeverity(Enum):
    """What a finding about a source means for its callers."""

    WARNING = "warning"
    """The source is served."""
    REFUSED_UNLESS_FORCED = "refused_unless_forced"
    """The source is not served unless its operator writes `force: true`."""
    REFUSED = "refused"
    """The source is not served. Nothing overrides it: something that the board denies could be read."""

    def refuses(self, *, is_forced: bool) -> bool:
        return self is FindingSeverity.REFUSED or (self is FindingSeverity.REFUSED_UNLESS_FORCED and not is_forced)


@dataclass(frozen=True, slots=True)
class DatabaseFinding:
    """Something about a source that its operator should know. Agents never see it."""

    message: str
    severity: FindingSeverity = FindingSeverity.WARNING
    statements: tuple[str, ...] = ()
    """SQL that fixes it, to be run by an administrator of the database, in this order."""


@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    version: str
    """The engine's, with its name; empty when it was not reached."""
    role: str | None
    """The login that the source uses, where it has logins."""
    findings: tuple[DatabaseFinding, ...] = ()


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
    taken, used, numbers = {*given}, dict[str, None](), Counter[str]()
    for name in given:
        candidate = name
        while candidate in used or (candidate != name and candidate in taken):
            numbers[name] += 1
            candidate = f"{name}_{numbers[name] + 1}"
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
