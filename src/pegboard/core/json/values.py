"""JSON types; the nesting depth and number of values of a JSON text without parsing it; lazy JSON objects."""

import json
import re
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from functools import lru_cache
from typing import Final, TypeAlias

# JSON objects kept as text. A board has thousands of schemas, of which few are looked at, and as objects they would
# take many times the room.

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
JsonObject: TypeAlias = dict[str, "Json"]

MAX_LAZY_DEPTH: Final = 300
"""Levels of nesting up to which reading back is sure to succeed, wherever it happens."""
MAX_JSON_DEPTH: Final = 200
"""Levels of JSON that is taken from others: most readers give up there, and no argument is meant that deep."""
MAX_READABLE_DEPTH: Final = 150
"""Levels of a result that every client can be expected to read."""
MAX_TEXT_DEPTH: Final = 100
"""Levels of what is read to be shown or compared: texts of schemas, errors, values that a model writes as code."""
MAX_SCHEMA_DEPTH: Final = 50
"""Levels of a schema that are walked through: a server may nest as deep as it likes."""
MAX_SHOWN_DEPTH: Final = 32
"""Levels of a value that are shown to somebody."""

_CACHE_SIZE: Final = 16


class LazyJson(Mapping[str, Json]):
    """An object as compact JSON text, members in the order they came. It reads as the mapping it stands for."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text

    def __getitem__(self, key: str) -> Json:
        return _parse(self.text)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_parse(self.text))

    def __len__(self) -> int:
        return len(_parse(self.text))

    def items(self) -> ItemsView[str, Json]:
        return _parse(self.text).items()

    def values(self) -> ValuesView[Json]:
        return _parse(self.text).values()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyJson) and self.text == other.text:
            return True
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # equal to a dictionary, which has none either

    def __repr__(self) -> str:
        return repr(_parse(self.text))


EMPTY: Final = LazyJson(b"{}")


def lazy_json(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """The same object, folded. What text cannot hold, or would not give back, stays as it is."""
    if isinstance(value, LazyJson):
        return value
    if not value:
        return EMPTY
    try:
        text = _text_of(value)
        written = text.encode("utf-8", "surrogatepass")
    except (RecursionError, ValueError):
        return value
    if text.count("{") + text.count("[") > MAX_LAZY_DEPTH and _is_deep(value):
        return value
    return LazyJson(written)


def materialize(value: object) -> object:
    """A mapping that is not a dictionary is an object all the same."""
    if isinstance(value, LazyJson):
        return _parse(value.text)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


_text_of: Final = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=False, check_circular=False, default=materialize
).encode


# A few, because whoever looks at an object looks at one member after the other.
@lru_cache(maxsize=_CACHE_SIZE)
def _parse(text: bytes) -> JsonObject:
    value: JsonObject = json.loads(text.decode("utf-8", "surrogatepass"))
    return value


def _is_deep(value: Mapping[str, Json]) -> bool:
    level: list[Mapping[str, Json] | list[Json]] = [value]
    for _ in range(MAX_LAZY_DEPTH):
        members = [member for outer in level for member in (outer if isinstance(outer, list) else outer.values())]
        level = [member for member in members if isinstance(member, Mapping | list)]
        if not level:
            return False
    return True


MAX_VALUES: Final = 1_000_000
"""In one request, unless the operator says otherwise: a table of 50,000 rows has a third of them."""


# Possessive throughout: a text that ends within a string full of quotes would be tried from each of them otherwise.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_WHOLE: Final = re.compile(rb'(?:[^"]*+' + _STRING.pattern + rb')*+[^"]*+', re.DOTALL)
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_NON_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_PIECE_BYTES: Final = 65_536
_TOKEN: Final = re.compile(_STRING.pattern + rb"|[\[\]{}]", re.DOTALL)
MAX_TOKENS: Final = 500_000
"""Texts and brackets that are looked at to find what stands outside: a fraction of a second."""


def is_deeper_than(levels: int, text: bytes) -> bool:
    """Of JSON. Exact, and cheap for what is flat or small."""
    if len(text) <= levels or text.count(b"[") + text.count(b"{") <= levels:
        return False
    depth = 0
    for piece in _without_strings(text):
        highest, depth = _climb(depth, piece.translate(_BRACKETS, _NON_BRACKETS), levels)
        if highest > levels:
            return True
    return False


def flatten_members(text: bytes) -> bytes | None:
    """A JSON object with `null` in place of each list and object in it; `None` for what is none, or too long to say.

    Nothing is built and nothing recurses, so no depth is too much.
    """
    kept: list[bytes] = []
    depth = start = 0
    for number, token in enumerate(_TOKEN.finditer(text)):
        if number >= MAX_TOKENS:
            return None
        bracket = text[token.start()]
        if bracket in b"[{":
            depth += 1
            if depth == 2:
                kept += (text[start : token.start()], b"null")
        elif bracket in b"]}":
            depth -= 1
            if depth == 1:
                start = token.end()
            elif depth < 0:
                return None
    return None if depth else b"".join((*kept, text[start:]))


def has_more_values_than(most: int, text: bytes) -> bool:
    """Of JSON, lists and objects counted as well. Costs next to nothing for a text of fewer bytes, or of long texts."""
    if len(text) <= most or _separators(text) < most:
        return False
    found = 1
    for piece in _without_strings(text):
        found += _separators(piece)
        if found > most:
            return True
    return False


def count_values(value: Json, most: int) -> int:
    """How many values this one has, itself, lists and objects counted as well. No further than to more than `most`."""
    found, left = 1, [value]
    while left and found <= most:
        outer = left.pop()
        if isinstance(outer, dict | list):
            found += len(outer)
            left += outer.values() if isinstance(outer, dict) else outer
    return found


def _separators(text: bytes) -> int:
    """One before each value but the first of all. An empty list or object is counted for two."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _without_strings(text: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(text):
        end = min(start + _PIECE_BYTES, len(text))
        # Up to a string that the piece cuts in two, if it does.
        whole = _WHOLE.match(text, start, end)
        assert whole is not None, "it matches nothing, too"
        yield _STRING.sub(b"", whole.group())
        start = whole.end()
        if start < end:
            string = _STRING.match(text, start)
            if string is None:
                return  # it ends within a string, so it is no JSON
            start = string.end()


def _climb(depth: int, brackets: bytes, levels: int) -> tuple[int, int]:
    """The highest level on the way, or one that is no lower but within the bound, and the level at the end."""
    rest, rounds = brackets, 0
    while rounds <= levels and len(inner := rest.replace(b"[]", b"")) < len(rest):
        rest, rounds = inner, rounds + 1
    closing = rest.count(b"]")
    end = depth + len(rest) - 2 * closing
    if max(depth, end) + rounds <= levels:
        return max(depth, end) + rounds, end
    highest = depth
    for bracket in brackets:
        depth += 1 if bracket == 91 else -1
        highest = max(highest, depth)
    return highest, depth
