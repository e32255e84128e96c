"""How many ways lead through a schema: what a check may cost at most, known before it is begun."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final
from urllib.parse import unquote

from pegboard.core.tool import Json, JsonObject

MANY: Final = 10**9
"""Counting ends here."""

_DEEP: Final = 32
"""Levels of nesting that are counted. Ways that multiply at each level are too many long before."""

_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_SAME_PLACE: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
_ONE_DEEPER: Final = frozenset(
    {
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "contains",
    }
)
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})


class Ways:
    """A small schema can lead to each value in a million ways, by alternatives within alternatives."""

    def __init__(self, schema: JsonObject) -> None:
        self._root = schema
        self._known: dict[int, int] = {}

    def through(self, depth: int) -> int:
        """For arguments nested this deep. An upper bound: a check that fails early takes fewer."""
        depth = min(depth, _DEEP)
        if depth not in self._known:
            self._known[depth] = self._counted(depth)
        return self._known[depth]

    @cached_property
    def size(self) -> int:
        return sum(1 for _ in _objects(self._root))

    @cached_property
    def patterns(self) -> int:
        """Each is compiled into an automaton of its own."""
        return sum(
            isinstance(node.get("pattern"), str)
            + len(_children("patternProperties", node.get("patternProperties", [])))
            for node in _objects(self._root)
        )

    def _counted(self, depth: int) -> int:
        try:
            return _Count(self).of(self._root, depth)
        except RecursionError:
            return MANY

    def target(self, reference: Json) -> Json:
        """What cannot be found is taken for the whole, so that nothing is underrated."""
        if not isinstance(reference, str):
            return self._root
        base, _, fragment = reference.partition("#")
        start = self._named.get(base, self._root) if base else self._root
        if not fragment.startswith("/"):
            return self._named.get(f"#{fragment}", start) if fragment else start
        found: Json = start
        for part in unquote(fragment[1:]).split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and part in found:
                found = found[part]
            elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            else:
                return self._root
        return found

    @cached_property
    def _named(self) -> dict[str, JsonObject]:
        names: dict[str, JsonObject] = {}
        for node in _objects(self._root):
            for keyword, prefix in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
                if isinstance(name := node.get(keyword), str):
                    names.setdefault(f"{prefix}{name}", node)
        return names


class _Count:
    """One counting, for one depth of nesting and below."""

    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._known: dict[tuple[int, int], int] = {}
        self._open: set[tuple[int, int]] = set()

    def of(self, node: Json, depth: int) -> int:
        if not isinstance(node, dict):
            return 1
        key = id(node), depth
        if (known := self._known.get(key)) is not None:
            return known
        if key in self._open:
            return 1  # a schema that stands for itself asks nothing more
        self._open.add(key)
        total = 1
        for keyword, value in node.items():
            if keyword in _REFERENCES:
                total += self.of(self._ways.target(value), depth)
            elif keyword in _SAME_PLACE:
                total += sum(self.of(child, depth) for child in _children(keyword, value))
            elif depth > 1 and keyword in _ONE_DEEPER:
                total += sum(self.of(child, depth - 1) for child in _children(keyword, value))
        self._open.discard(key)
        self._known[key] = total = min(total, MANY)
        return total


def _children(keyword: str, value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and keyword in _MAPS:
        return [*value.values()]
    return [value]


def _objects(root: JsonObject) -> Iterator[JsonObject]:
    """Every object in it, schemas or not. Without recursion: a hostile one is nested deeply."""
    waiting: list[Json] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
