"""Values of databases as JSON carries them, without losing what they were."""

import json
import math
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Final, TypeAlias

from pegboard.core.folded import Json

MAX_EXACT_INTEGER: Final = 2**53 - 1
"""Most readers of JSON round larger ones."""
MAX_EXACT_DIGITS: Final = 15
"""Digits that a decimal keeps as a number of JSON in every reader."""
ELLIPSIS: Final = "…"
_MAX_DEPTH: Final = 32
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
        case Mapping() if depth < _MAX_DEPTH:
            return {_key(name): json_value(each, on_format, depth + 1) for name, each in value.items()}
        case Sequence() | Set() if depth < _MAX_DEPTH:
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
