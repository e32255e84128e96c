"""Examples, defaults and choices in a schema, without the arguments that callers know nothing of, and their values."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .echo import maskable_texts
from .tool import Json, JsonObject

_EXAMPLE_KEYWORDS: Final = ("examples", "example", "default")
_MAP_KEYWORDS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LIST_KEYWORDS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SINGLE_KEYWORDS: Final = (
    *("items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"),
    *("not", "if", "then", "else", "propertyNames"),
)
_MAX_DEPTH: Final = 50
"""Levels that are looked through: a server may nest as deep as it likes."""


@dataclass(frozen=True)
class HiddenArgumentPruner:
    names: frozenset[str]
    texts: tuple[str, ...]
    """Values that are long enough to be told apart from what stands there by chance."""

    def prune(self, schema: JsonObject) -> JsonObject:
        """Where the schema itself gives examples of whole arguments, single members are left out of them."""
        shown = self._prune_level(schema, 0)
        for key in _EXAMPLE_KEYWORDS:
            if key in schema:
                shown.pop(key, None)
                if (kept := self._prune_example(_remove_members(schema[key], self.names))) is not None:
                    shown[key] = kept
        return shown

    def _prune_level(self, schema: JsonObject, depth: int) -> JsonObject:
        shown: JsonObject = {}
        for key, value in schema.items():
            match value:
                case _ if key in _EXAMPLE_KEYWORDS:
                    if value is None or (kept := self._prune_example(value)) is not None:
                        shown[key] = None if value is None else kept
                case list() if key == "enum":
                    # Without any choice left, nothing could be sent at all.
                    shown[key] = [one for one in value if not self._reveals_value(one)] or value
                case dict() if key in _MAP_KEYWORDS and depth < _MAX_DEPTH:
                    shown[key] = {name: self._prune_part(inner, depth) for name, inner in value.items()}
                case list() if key in _LIST_KEYWORDS and depth < _MAX_DEPTH:
                    shown[key] = [self._prune_part(inner, depth) for inner in value]
                case dict() if key in _SINGLE_KEYWORDS and depth < _MAX_DEPTH:
                    shown[key] = self._prune_level(value, depth + 1)
                case _:
                    shown[key] = value
        return shown

    def _prune_part(self, value: Json, depth: int) -> Json:
        return self._prune_level(value, depth + 1) if isinstance(value, dict) else value

    def _prune_example(self, value: Json) -> Json:
        """`None` for what is better left out."""
        if isinstance(value, list):
            return [one for one in value if not self._reveals(one)] or None
        return None if self._reveals(value) else value

    def _reveals(self, value: Json) -> bool:
        return any(self._name_pattern.search(text) is not None for text in _texts(value)) or self._reveals_value(value)

    def _reveals_value(self, value: Json) -> bool:
        return any(told in text for text in _texts(value) for told in self.texts)

    @cached_property
    def _name_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(self.names)))


def hidden_argument_pruner(names: Collection[str], values: Iterable[Json]) -> HiddenArgumentPruner:
    return HiddenArgumentPruner(frozenset(names), maskable_texts(values))


def _remove_members(value: Json, names: frozenset[str]) -> Json:
    match value:
        case dict():
            return {name: inner for name, inner in value.items() if name not in names}
        case list():
            return [_remove_members(inner, names) if isinstance(inner, dict) else inner for inner in value]
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
