"""One value of a database as JSON can carry it, without losing what it was."""

import json
import math
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

from pegboard.core.folded import Json

from .marks import Mark

SAFE_INTEGER: Final = 2**53 - 1
"""Beyond it most readers of JSON round."""
SAFE_DIGITS: Final = 15
"""Digits that a decimal keeps as a number of JSON, whoever reads it."""
CUT: Final = "…"
_NUMBER: Final = 8
"""Bytes that are counted for what is no text."""
_DEEPEST: Final = 32
_PLAIN: Final = 100
"""Places before or after the point up to which a decimal is written out."""

Note: TypeAlias = Callable[[Mark], None]
"""Told of each value that is not written as what it is."""
Writer: TypeAlias = Callable[[object, Note, int], Json]
"""Of a value that lies so deep in others."""


def _nobody(mark: Mark) -> None:
    """Whoever does not ask which values these are."""


def cell(value: object, note: Note = _nobody) -> Json:
    """Numbers that JSON readers would change become text, and so does what JSON has no word for: a blob is `0x…`, a
    day, a time and an interval are written as ISO 8601 has them."""
    return _cell(value, note, 0)


def shortened(value: Json, most: int) -> tuple[Json, int]:
    """A value of at most so many bytes, and the bytes that it had: what is longer is cut, and ends in `…`."""
    match value:
        case str():
            text = value
        case list() | dict():
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        case _:
            return value, _NUMBER
    size = len(text) if text.isascii() else len(text.encode())
    if size <= most:
        return value, size
    return text.encode()[: max(0, most)].decode(errors="ignore") + CUT, size


def text_of(value: str) -> str:
    """Half of a surrogate pair has no form in UTF-8."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="surrogatepass").decode("utf-8", "replace")
    return value


def duration(value: timedelta) -> str:
    """As ISO 8601 writes it, in days and less: a timedelta knows no months."""
    sign, rest = ("-", -value) if value < timedelta() else ("", value)
    minutes, seconds = divmod(rest.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{rest.microseconds:06d}".rstrip("0") if rest.microseconds else ""
    shown = {"H": f"{hours}", "M": f"{minutes}", "S": f"{seconds}{fraction}"}
    clock = "".join(f"{number}{unit}" for unit, number in shown.items() if number != "0")
    days = f"{rest.days}D" if rest.days else ""
    return f"{sign}P{days}T{clock}" if clock else f"{sign}P{days}" if days else "PT0S"


def _cell(value: object, note: Note, depth: int) -> Json:
    if value is None or value is True or value is False:
        return value
    kind: type = type(value)
    return writer(kind)(value, note, depth)


def _text(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, str)
    return text_of(str.__str__(value))


def _whole(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, int)
    if -SAFE_INTEGER <= value <= SAFE_INTEGER:
        return int(value)
    note(Mark.NUMBER)
    try:
        return str(int(value))
    except ValueError:  # Python writes no number of more than some thousand digits in decimal
        return hex(value)


def _real(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, float)
    if math.isfinite(value):
        return float(value)
    note(Mark.NUMBER)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimal(value: object, note: Note, depth: int) -> Json:
    """A number where a number keeps each of its digits: sums and averages are decimals to most databases, and whoever
    reads them reckons on."""
    assert isinstance(value, Decimal)
    text = str(value)
    if len(text) <= SAFE_DIGITS and text[-1:].isdigit() and "E" not in text:
        return float(text) if "." in text else int(text)
    _, digits, exponent = value.as_tuple()
    if isinstance(exponent, int):
        if exponent >= 0 and len(digits) + exponent <= SAFE_DIGITS:
            return int(value)
        if len(digits) <= SAFE_DIGITS and -SAFE_DIGITS <= exponent < 0:
            return float(value)
    note(Mark.NUMBER)
    # As databases write it, with a power of ten only where it would be a row of noughts.
    return format(value, "f") if value.is_finite() and abs(value.adjusted()) <= _PLAIN else text


def _moment(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, date | time)
    # The end of all days is no day of the calendar, though drivers have no other object for it than its last.
    if value is date.max or value is datetime.max:
        return "infinity"
    if value is date.min or value is datetime.min:
        return "-infinity"
    return value.isoformat()


def _span(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, timedelta)
    return duration(value)


def _blob(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, bytes | bytearray | memoryview)
    note(Mark.BINARY)
    return "0x" + bytes(value).hex()


def _object(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, Mapping)
    if depth >= _DEEPEST:
        return _unknown(value, note, depth)
    return {_key(name): _cell(each, note, depth + 1) for name, each in value.items()}


def _members(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, Sequence | Set | deque | array)
    if depth >= _DEEPEST:
        return _unknown(value, note, depth)
    return [_cell(each, note, depth + 1) for each in value]


def _key(name: object) -> str:
    """Objects of JSON are keyed by text, maps of databases by anything."""
    written = cell(name)
    return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)


def _choice(value: object, note: Note, depth: int) -> Json:
    assert isinstance(value, Enum)
    return _cell(value.value, note, depth)


def _unknown(value: object, note: Note, depth: int) -> Json:
    """What drivers have types of their own for: ranges, addresses, points, bits. Their own words for it."""
    return text_of(str(value))


_WRITERS: Final[tuple[tuple[type | tuple[type, ...], Writer], ...]] = (
    (Enum, _choice),
    (str, _text),
    (int, _whole),
    (float, _real),
    (Decimal, _decimal),
    ((datetime, date, time), _moment),
    (timedelta, _span),
    ((bytes, bytearray, memoryview), _blob),
    (Mapping, _object),
    ((Sequence, Set, deque, array), _members),
)
"""The first that fits: drivers make kinds of their own of these."""


@lru_cache(maxsize=256)
def writer(kind: type) -> Writer:
    """For values of a type, which are neither nothing nor truths."""
    return next((write for kinds, write in _WRITERS if issubclass(kind, kinds)), _unknown)
