"""Rows, as values, taken apart by the text that the server writes of them. The driver knows them only in a form in
which nothing within may come as text, and dates do.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

Reader = Callable[[str], object]

_IN_A_ROW: Final = re.compile(r'"((?:[^"\\]++|""|\\.)*+)"|[^,"]+|,', re.DOTALL)
_ESCAPED: Final = re.compile(r'""|\\(.)', re.DOTALL)
_BOUNDS: Final = re.compile(r"(?:\[[^=]*\]=)?(?=\{)")


def moment(text: str) -> str:
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
    1114: moment,
    1184: moment,
    1700: Decimal,
}
"""Of the server's own types, by their numbers, those whose values are no texts to whoever asks for them alone."""


def composed(types: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str, str, str, Reader]]:
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
            # A type that somebody changes in this moment; what is there is still told.
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
