"""Values as MySQL and MariaDB write them, so that a statement can ask for them again; types; and bound parameters."""

import json
import math
from typing import Any, Final

from pymysql.constants import FIELD_TYPE, FLAG
from pymysql.converters import conversions

from pegboard.core.database import Failed, Fault
from pegboard.ports.databases import Parameters
from pegboard.providers.builtin.database.names import names
from pegboard.providers.builtin.database.server import is_unicode, values_in_order

from .statement import Statement

_KEPT_AS_TEXT: Final = {getattr(FIELD_TYPE, name) for name in names("DATE DATETIME NEWDATE TIME TIMESTAMP")}
"""The driver makes durations of times of day, and drops dates that the calendar does not have."""
DECODERS: Final = {code: decode for code, decode in conversions.items() if code not in _KEPT_AS_TEXT} | {
    FIELD_TYPE.BIT: lambda value: int.from_bytes(value, "big")
}
"""For the driver."""

_BINARY_CHARSET: Final = 63
_SAME_NAMES: Final = names("BIT DATE DATETIME DECIMAL DOUBLE ENUM FLOAT GEOMETRY JSON NULL SET TIME TIMESTAMP YEAR")
_NAMES: Final = {getattr(FIELD_TYPE, name): name.lower() for name in _SAME_NAMES} | {
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.NEWDATE: "date",
    FIELD_TYPE.NEWDECIMAL: "decimal",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.TINY: "tinyint",
}
_TEXTS: Final = {FIELD_TYPE.STRING: "char", FIELD_TYPE.VARCHAR: "varchar", FIELD_TYPE.VAR_STRING: "varchar"}
_BLOBS: Final = (FIELD_TYPE.TINY_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB)
_MAX_LETTER_BYTES: Final = 4
_SIZES: Final = ((2**8, "tiny"), (2**16, ""), (2**24, "medium"))


def type_name(column: Any) -> str:
    """Of a column as the driver describes it. The server calls a list of choices a text, and has one type for all
    sizes of a text."""
    if column.flags & (FLAG.ENUM | FLAG.SET):
        return "enum" if column.flags & FLAG.ENUM else "set"
    is_binary = column.charsetnr == _BINARY_CHARSET
    if name := _TEXTS.get(column.type_code):
        return name.replace("char", "binary") if is_binary else name
    if column.type_code in _BLOBS:
        letters = column.length if is_binary else column.length // _MAX_LETTER_BYTES
        return next((name for most, name in _SIZES if letters < most), "long") + ("blob" if is_binary else "text")
    return _NAMES.get(column.type_code, "")


def bind(statement: Statement, parameters: Parameters) -> str | Failed:
    """The statement with a literal in each `?`. Texts are written in digits, which cannot be read in two ways."""
    places = [word.start for word in statement.words if word.text == "?"]
    values = values_in_order(parameters, len(places), "?")
    if isinstance(values, Failed):
        return values
    parts, last = list[str](), 0
    for number, (place, value) in enumerate(zip(places, values, strict=True), 1):
        written = _literal(value)
        if written is None:
            return Failed(f"Parameter {number} is not a value that SQL can hold.", None, Fault.PARAMETERS)
        parts += [statement.text[last:place], written]
        last = place + 1
    return "".join((*parts, statement.text[last:]))


def _literal(value: Any) -> str | None:
    match value:
        case None:
            return "NULL"
        case bool() | int():
            return str(value).upper()
        case float():
            return repr(value) if math.isfinite(value) else None
        case list() | dict():
            return _literal(json.dumps(value, ensure_ascii=False))
        case str() if is_unicode(value):
            digits = value.encode().hex()
            return f"_utf8mb4 0x{digits}" if digits else "''"
    return None
