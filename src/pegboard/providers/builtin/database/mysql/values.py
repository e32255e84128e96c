"""Values as MySQL and MariaDB themselves write them, so that a statement can ask for them again; and what they call
their types.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

from pymysql.constants import FIELD_TYPE, FLAG
from pymysql.converters import conversions

_AS_WRITTEN: Final = (
    FIELD_TYPE.DATE,
    FIELD_TYPE.DATETIME,
    FIELD_TYPE.NEWDATE,
    FIELD_TYPE.TIME,
    FIELD_TYPE.TIMESTAMP,
)
"""The driver makes spans of times of day, and drops what the calendar does not have."""


def _bits(value: bytes) -> int:
    return int.from_bytes(value, "big")


def decoders() -> dict[Any, Callable[[Any], object]]:
    """For the driver."""
    known: dict[Any, Callable[[Any], object]] = {
        code: made for code, made in conversions.items() if code not in _AS_WRITTEN
    }
    return {**known, FIELD_TYPE.BIT: _bits}


class Described(Protocol):
    """A column as the server describes it."""

    type_code: int
    charsetnr: int
    length: int
    flags: int


_BINARY: Final = 63
"""The number of the character set that has none."""
_PLAIN: Final = {
    FIELD_TYPE.BIT: "bit",
    FIELD_TYPE.DATE: "date",
    FIELD_TYPE.DATETIME: "datetime",
    FIELD_TYPE.DECIMAL: "decimal",
    FIELD_TYPE.DOUBLE: "double",
    FIELD_TYPE.ENUM: "enum",
    FIELD_TYPE.FLOAT: "float",
    FIELD_TYPE.GEOMETRY: "geometry",
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.JSON: "json",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.NEWDATE: "date",
    FIELD_TYPE.NEWDECIMAL: "decimal",
    FIELD_TYPE.NULL: "null",
    FIELD_TYPE.SET: "set",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.TIME: "time",
    FIELD_TYPE.TIMESTAMP: "timestamp",
    FIELD_TYPE.TINY: "tinyint",
    FIELD_TYPE.YEAR: "year",
}
_TEXTS: Final = {
    FIELD_TYPE.STRING: ("char", "binary"),
    FIELD_TYPE.VARCHAR: ("varchar", "varbinary"),
    FIELD_TYPE.VAR_STRING: ("varchar", "varbinary"),
}
_BLOBS: Final = (FIELD_TYPE.TINY_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB)
_LETTER: Final = 4
"""Bytes that a letter takes on the way at most."""
_SIZES: Final = ((2**8, "tiny"), (2**16, ""), (2**24, "medium"))


def type_name(column: Described) -> str:
    """What the server calls it. It describes a list of choices as text, and all sizes of a text as one type."""
    if column.flags & FLAG.ENUM:
        return "enum"
    if column.flags & FLAG.SET:
        return "set"
    is_binary = column.charsetnr == _BINARY
    if column.type_code in _TEXTS:
        return _TEXTS[column.type_code][is_binary]
    if column.type_code in _BLOBS:
        letters = column.length if is_binary else column.length // _LETTER
        size = next((told for most, told in _SIZES if letters < most), "long")
        return size + ("blob" if is_binary else "text")
    return _PLAIN.get(column.type_code, "")
