"""Values between the server and callers: types that stay text, rows that are taken apart, parameters that are bound.

The driver knows rows only in a form in which nothing within may come as text, and dates do: they are taken apart here,
by the text that the server writes of them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import asyncpg

from pegboard.core.database import Failed, Fault
from pegboard.ports.databases import Parameters
from pegboard.providers.builtin.database.names import names
from pegboard.providers.builtin.database.unreadable import miscounted

AS_TEXT: Final = names(
    """
    bit box cidr circle date inet interval line lseg macaddr money path pg_lsn point polygon time timetz tsquery
    tsvector uuid varbit xml
    """
)
"""Types whose values come and go as the server writes them: nothing is lost, and a model's text is a date at once."""
WHOLE_AS_TEXT: Final = {
    **{"anyarray": 2277, "record": 2249, "int4range": 3904, "numrange": 3906, "tsrange": 3908, "tstzrange": 3910},
    **{"daterange": 3912, "int8range": 3926, "int4multirange": 4451, "nummultirange": 4532, "tsmultirange": 4533},
    **{"tstzmultirange": 4534, "datemultirange": 4535, "int8multirange": 4536},
}
"""These hold values of others; of a date that comes as text the driver would make another."""
_TYPES: Final = {
    "bool": "boolean",
    "bpchar": "character",
    "float4": "real",
    "float8": "double precision",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "varchar": "character varying",
}

Reader = Callable[[str], object]

_IN_A_ROW: Final = re.compile(r'"((?:[^"\\]++|""|\\.)*+)"|[^,"]+|,', re.DOTALL)
_ESCAPED: Final = re.compile(r'""|\\(.)', re.DOTALL)
_BOUNDS: Final = re.compile(r"(?:\[[^=]*\]=)?(?=\{)")


def iso_moment(text: str) -> str:
    """As ISO 8601 has it; what lies beyond all calendars stays as it is."""
    return f"{text[:10]}T{text[11:]}" if text[10:11] == " " else text


_READERS: Final[Mapping[int, Reader]] = {
    16: "t".__eq__,
    17: lambda text: bytes.fromhex(text.removeprefix("\\x")),
    20: int,
    21: int,
    23: int,
    26: int,
    700: float,
    701: float,
    1114: iso_moment,
    1184: iso_moment,
    1700: Decimal,
}
"""Of the server's own types, by their numbers, those whose values are no texts to whoever asks for them alone."""


def composite_types(types: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str, str, str, Reader]]:
    """Number, name, schema, kind and reader of each type that is put together from others, out of what the driver was
    told of types and of all that is within them. An array of such is none of them: the driver has its own way."""
    known = {one["oid"]: one for one in types}
    for one in known.values():
        if one["kind"] == b"c":
            yield one["oid"], one["name"], one["ns"], "composite", _reader(one["oid"], known)
        elif one["kind"] in (b"r", b"m"):
            yield one["oid"], one["name"], one["ns"], "range", str


def _reader(number: int, known: Mapping[int, Mapping[str, Any]]) -> Reader:
    if number in _READERS:
        return _or_text(_READERS[number])
    told = known.get(number)
    if told is None:
        return str
    if told["kind"] == b"c":
        names = tuple(told["attrnames"] or ())
        return _row(names, tuple(_reader(one, known) for one in told["attrtypoids"] or ()))
    if told["kind"] == b"d":
        return _reader(told["basetype"], known)
    if told["elemdelim"]:
        between = told["elemdelim"]
        return _list(_reader(told["elemtype"], known), between if isinstance(between, str) else between.decode())
    return str


def _or_text(reader: Reader) -> Reader:
    def read(text: str) -> object:
        try:
            return reader(text)
        except (ValueError, ArithmeticError):
            # A type that somebody changes in this iso_moment; what is there is still told.
            return text

    return read


def _row(names: tuple[str, ...], readers: tuple[Reader, ...]) -> Reader:
    def read(text: str) -> object:
        values: list[str | None] = [None]
        for found in _IN_A_ROW.finditer(text, 1, len(text) - 1):
            if found[0] == ",":
                values.append(None)
            else:
                values[-1] = found[0] if found[1] is None else _unescaped(found[1])
        if not names and text == "()":
            return {}
        if len(values) != len(names):
            return text
        return {
            name: None if value is None else reader(value)
            for name, value, reader in zip(names, values, readers, strict=True)
        }

    return read


def _list(reader: Reader, between: str) -> Reader:
    items = re.compile(rf'[{{}}]|"((?:[^"\\]++|\\.)*+)"|[^{{}}"{re.escape(between)}]+', re.DOTALL)

    def read(text: str) -> object:
        begin = _BOUNDS.match(text)
        if begin is None:
            return text
        levels: list[list[object]] = [[]]
        for found in items.finditer(text, begin.end()):
            match found[0]:
                case "{":
                    inner: list[object] = []
                    levels[-1].append(inner)
                    levels.append(inner)
                case "}":
                    levels.pop()
                case "NULL":
                    levels[-1].append(None)
                case plain:
                    levels[-1].append(reader(plain if found[1] is None else _unescaped(found[1])))
        return levels[0][0]

    return read


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: found[1] or '"', text)


def type_name(kind: Any) -> str:
    name: str = kind.name
    return f"{_TYPES.get(name[:-2], name[:-2])}[]" if name.endswith("[]") else _TYPES.get(name, name)


def plain(value: object) -> object:
    """What the driver has classes of its own for, as the server writes it."""
    if isinstance(value, asyncpg.Record):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def bound(parameters: Parameters, wanted: Any) -> list[object] | Failed:
    """One value for each `$1`, `$2`, …"""
    if isinstance(parameters, Mapping):
        if parameters:
            return _wrong("Parameters have no names here. Give them as a list, and write $1, $2, … in the statement.")
        parameters = ()
    if len(parameters) != len(wanted):
        return _wrong(miscounted(len(wanted), len(parameters), "$1, $2, …"))
    values: list[object] = []
    for number, (value, kind) in enumerate(zip(parameters, wanted, strict=True), 1):
        try:
            values.append(_argument(value, kind.name))
        except (ValueError, TypeError, KeyError):
            return _wrong(f"Parameter ${number} is {json.dumps(value)[:100]}, and the statement wants {kind.name}.")
    return values


def _argument(value: Any, kind: str) -> object:
    if value is None:
        return None
    if kind.endswith("[]"):
        if not isinstance(value, list):
            raise TypeError
        return [_argument(item, kind[:-2]) for item in value]
    match kind:
        case "json" | "jsonb":
            return value if isinstance(value, str) and _is_json(value) else json.dumps(value)
        case "bool":
            return {"true": True, "false": False}[str(value).lower()]
        case "int2" | "int4" | "int8" | "oid":
            if isinstance(value, bool) or int(value) != float(value):
                raise ValueError
            return int(value)
        case "float4" | "float8":
            return float(value)
        case "bytea":
            text = str(value)
            return bytes.fromhex(text[2:]) if text.startswith(("0x", "\\x")) else text.encode()
    return (
        value if isinstance(value, str) else json.dumps(value) if isinstance(value, bool | list | dict) else str(value)
    )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _wrong(words: str) -> Failed:
    return Failed(words, None, Fault.PARAMETERS)
