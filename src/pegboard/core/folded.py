"""JSON objects kept as text. A board has thousands of schemas, of which few are looked at, and as objects they would
take many times the room."""

import json
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from functools import lru_cache
from typing import Final, TypeAlias

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
JsonObject: TypeAlias = dict[str, "Json"]

MAX_DEPTH: Final = 300
"""Levels of nesting up to which reading back is sure to succeed, wherever it happens."""

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
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deep(value):
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
    for _ in range(MAX_DEPTH):
        members = [member for outer in level for member in (outer if isinstance(outer, list) else outer.values())]
        level = [member for member in members if isinstance(member, Mapping | list)]
        if not level:
            return False
    return True
