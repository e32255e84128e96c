"""Examples, defaults and choices in a schema, without the arguments that callers know nothing of, and their values."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .echo import told_apart
from .tool import Json, JsonObject

_EXAMPLES: Final = ("examples", "example", "default")
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SINGLE: Final = (
    *("items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"),
    *("not", "if", "then", "else", "propertyNames"),
)
_DEEPEST: Final = 50
"""Levels that are looked through: a server may nest as deep as it likes."""


@dataclass(frozen=True)
class Unsaid:
    names: frozenset[str]
    texts: tuple[str, ...]
    """Values that are long enough to be told apart from what stands there by chance."""

    def out_of(self, schema: JsonObject) -> JsonObject:
        """Where the schema itself gives examples of whole arguments, single members are left out of them."""
        shown = self._below(schema, 0)
        for key in _EXAMPLES:
            if key in schema:
                shown.pop(key, None)
                if (kept := self._example(_members_out(schema[key], self.names))) is not None:
                    shown[key] = kept
        return shown

    def _below(self, schema: JsonObject, depth: int) -> JsonObject:
        shown: JsonObject = {}
        for key, value in schema.items():
            match value:
                case _ if key in _EXAMPLES:
                    if value is None or (kept := self._example(value)) is not None:
                        shown[key] = None if value is None else kept
                case list() if key == "enum":
                    # Without any choice left, nothing could be sent at all.
                    shown[key] = [one for one in value if not self._tells_value(one)] or value
                case dict() if key in _MAPS and depth < _DEEPEST:
                    shown[key] = {name: self._part(inner, depth) for name, inner in value.items()}
                case list() if key in _LISTS and depth < _DEEPEST:
                    shown[key] = [self._part(inner, depth) for inner in value]
                case dict() if key in _SINGLE and depth < _DEEPEST:
                    shown[key] = self._below(value, depth + 1)
                case _:
                    shown[key] = value
        return shown

    def _part(self, value: Json, depth: int) -> Json:
        return self._below(value, depth + 1) if isinstance(value, dict) else value

    def _example(self, value: Json) -> Json:
        """`None` for what is better left out."""
        if isinstance(value, list):
            return [one for one in value if not self._tells(one)] or None
        return None if self._tells(value) else value

    def _tells(self, value: Json) -> bool:
        return any(self._spoken.search(text) is not None for text in _texts(value)) or self._tells_value(value)

    def _tells_value(self, value: Json) -> bool:
        return any(told in text for text in _texts(value) for told in self.texts)

    @cached_property
    def _spoken(self) -> re.Pattern[str]:
        return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(self.names)))


def unsaid(names: Collection[str], values: Iterable[Json]) -> Unsaid:
    return Unsaid(frozenset(names), told_apart(values))


def _members_out(value: Json, names: frozenset[str]) -> Json:
    match value:
        case dict():
            return {name: inner for name, inner in value.items() if name not in names}
        case list():
            return [_members_out(inner, names) if isinstance(inner, dict) else inner for inner in value]
        case _:
            return value


def _texts(value: Json) -> Iterable[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as inner:
                waiting += inner
            case dict() as members:
                waiting += members
                waiting += members.values()
            case _:
                pass
