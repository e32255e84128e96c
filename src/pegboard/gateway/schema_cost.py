"""An upper bound for the cost of validating against a schema, known before validation."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from pegboard.core.json.values import MAX_JSON_DEPTH, Json, JsonObject
from pegboard.core.model.text import truncate

# How large arguments are, and whether they are JSON at all: found in one walk, before anything else looks at them.


_MAX_INTEGER: Final = 10**4_200
_MIN_INTEGER: Final = -_MAX_INTEGER
"""Python writes little longer integers than these, so they could not be sent on."""

_MAX_PATH_CHARS: Final = 120

Path: TypeAlias = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class JsonSize:
    values: int
    """Members, items and what holds them."""
    depth: int
    characters: int


@dataclass(frozen=True, slots=True)
class ArgumentsNotJson:
    """Why these arguments cannot be sent to any server, with the argument's name."""

    problem: str


@dataclass(frozen=True, slots=True)
class TextSizes:
    """What patterns may be held against: texts and names."""

    count: int
    characters: int
    longest: int


def texts_in(value: Any) -> TextSizes:
    """Of what was measured already, so that it is neither endless nor anything but JSON."""
    lengths: list[int] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if type(one) is str:
            lengths.append(len(one))
        elif type(one) is dict:
            lengths += map(len, one)
            waiting += one.values()
        elif type(one) is list:
            waiting += one
    return TextSizes(len(lengths), sum(lengths), max(lengths, default=0))


def measure_json(arguments: JsonObject) -> JsonSize | ArgumentsNotJson:
    """Level by level, because recursion would be exhausted by what it must refuse.

    By exact type and without calls, because every call of a tool comes through here.
    """
    level: list[Any] = [arguments]
    values = depth = characters = 0
    while level:
        depth += 1
        if depth > MAX_JSON_DEPTH:
            return ArgumentsNotJson(f"the arguments are nested more than {MAX_JSON_DEPTH} levels deep")
        values += len(level)
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is str:
                characters += len(value)
                sound = value.isascii() or _is_text(value)
            elif kind is int:
                sound = _MIN_INTEGER < value < _MAX_INTEGER
            elif kind is dict:
                below += value.values()
                sound = _are_names(value)
            elif kind is list:
                below += value
                continue
            elif kind is float:
                sound = isfinite(value)
            else:
                sound = value is None or kind is bool
            if not sound:
                return ArgumentsNotJson(_locate_problem(arguments))
        level = below
    return JsonSize(values, depth, characters)


def _value_problem(value: Any) -> str | None:
    """The same of one value, in words; what it holds comes after."""
    match value:
        case str():
            return None if _is_text(value) else "holds half of a character"
        case bool() | None | list():
            return None
        case int():
            return None if _MIN_INTEGER < value < _MAX_INTEGER else "is too long a number"
        case float():
            return None if isfinite(value) else "is not a finite number"
        case dict():
            return None if _are_names(value) else "has a name that is no text"
        case _:
            return f"is of type {type(value).__name__}, which JSON does not know"


def _are_names(names: Iterable[object]) -> bool:
    try:
        text = "".join(names)  # type: ignore[arg-type]  # what is no text raises
    except TypeError:
        return False
    return text.isascii() or _is_text(text)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _locate_problem(arguments: JsonObject) -> str:
    """Walked again, one by one with the path at hand, since it must be named."""
    for path, value in _walk(arguments):
        if (trouble := _value_problem(value)) is not None:
            return f"{path_text(path) or 'the arguments'}: the value {trouble}"
    return "the arguments are not JSON"


def _walk(arguments: JsonObject) -> Iterator[tuple[Path, Any]]:
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), arguments)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if type(value) is dict:
            waiting += [((*path, str(key)), member) for key, member in value.items()]
        elif type(value) is list:
            waiting += [((*path, place), item) for place, item in enumerate(value)]


def path_text(path: Path) -> str:
    """`filter.any[2].name`; what is no plain name stands in brackets and quotes."""
    parts = [f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part!r}]" for part in path]
    text = "".join(parts).removeprefix(".")
    return truncate(text, _MAX_PATH_CHARS)


# What a pattern may cost: how large it becomes when its repetitions are written out, and what a search then takes.

MAX_COUNT: Final = 10**9
"""Counting ends here."""

_UNICODE_CLASS_SIZE: Final = 500
"""What a class of Unicode, as `\\p{L}`, is compiled into."""

_BACKTRACK_LIMIT: Final = 1000
"""For each text and part: a search that goes back and forth is stopped after its backtracks, not before."""

_PATTERN_PARTS: Final = re.compile(
    r"\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<least>\d{1,9})(?P<open>,(?P<most>\d{0,9}))?\}|.", re.DOTALL
)


def expanded_size(pattern: str, *, compiled: bool = False) -> int:
    """Its parts, with each repetition counted as often as it may occur; compiled, a class counts by its size.

    An upper bound for the searches that keep all parts alive at once; what is no pattern is counted as text.
    """
    # Where a pattern looks around, its words are those of Unicode too.
    large = re.compile(r"\\[pPwW]" if "(?" in pattern else r"\\[pP]")
    totals, last = [0], 0
    for part in _PATTERN_PARTS.finditer(pattern):
        text = part.group()
        if text == "(":
            totals[-1] += last
            totals.append(0)
            last = 0
        elif text == ")" and len(totals) > 1:
            last = max(1, totals.pop() + last)
        elif part["least"] is not None:
            last *= max(1, int(part["most"] or part["least"]))
        else:
            totals[-1] += last
            last = 1 + (_UNICODE_CLASS_SIZE * len(large.findall(text)) if compiled else 0)
        last = min(last, MAX_COUNT)
    return min(sum(totals) + last, MAX_COUNT)


def search_steps(parts: int, texts: TextSizes, *, back_and_forth: bool) -> int:
    """Of holding patterns of so many parts against every text."""
    if back_and_forth:
        return parts * (texts.characters * texts.longest // 8 + texts.count * _BACKTRACK_LIMIT)
    return parts * texts.characters


_MAX_DEPTH: Final = 32
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
_SCHEMA_MAP_KEYWORDS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
_NAME_LIST_KEYWORDS: Final = ("required", "dependentRequired", "dependencies")
_VALUE_LIST_KEYWORDS: Final = ("enum", "const", "pattern", "type")

_Weigh: TypeAlias = Callable[[JsonObject], int]


class SchemaCost:
    """A small schema can lead to each value in a million ways, by alternatives within alternatives."""

    def __init__(self, schema: JsonObject) -> None:
        self._root = schema
        self._known: dict[tuple[int, _Weigh], int] = {}
        self._bulks: dict[int, int] = {}
        self._known_parts: dict[tuple[int, str | None], int] = {}

    def paths(self, depth: int) -> int:
        """For arguments nested this deep. An upper bound: a check that fails early takes fewer."""
        return self._total(depth, _one_each)

    def steps(self, depth: int) -> int:
        """The same, with each entry of its lists that one value may be held against."""
        return self._total(depth, self._steps)

    def findings(self, depth: int) -> int:
        """The same, of telling what is wrong: a list gives an error for each entry, or an error that repeats it."""
        return self._total(depth, self._findings)

    def parts(self, depth: int, *, argument: str | None) -> int:
        """Of the patterns that this argument alone is held against; without one, that all of them are."""
        if argument is not None and argument not in self._properties:
            return 0  # and remembered names are those of the schema, never of the calls
        key = min(depth, _MAX_DEPTH), argument
        if key not in self._known_parts:
            self._known_parts[key] = self._parts_of(*key)
        return self._known_parts[key]

    def _parts_of(self, depth: int, argument: str | None) -> int:
        if argument is not None:
            return self._count(depth - 1, self._properties[argument], _parts)
        rest: JsonObject = {keyword: value for keyword, value in self._root.items() if keyword != "properties"}
        return self._count(depth, rest, _parts)

    @cached_property
    def _properties(self) -> JsonObject:
        properties = self._root.get("properties")
        return properties if isinstance(properties, dict) else {}

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

    @cached_property
    def entries(self) -> int:
        """Every value in it, which compiling it takes."""
        return _bulk(self._root, text_weight=0)

    @cached_property
    def compiled_parts(self) -> int:
        """Of all its patterns, wherever they stand."""
        return min(
            sum(expanded_size(text, compiled=True) for node in _objects(self._root) for text in _texts(node)), MAX_COUNT
        )

    def _total(self, depth: int, weigh: _Weigh) -> int:
        key = min(depth, _MAX_DEPTH), weigh
        if key not in self._known:
            self._known[key] = self._count(depth, self._root, weigh)
        return self._known[key]

    def _count(self, depth: int, node: Json, weigh: _Weigh) -> int:
        try:
            return _CostCount(self, weigh).total(node, min(depth, _MAX_DEPTH))
        except RecursionError:
            return MAX_COUNT

    def _steps(self, node: JsonObject) -> int:
        return 1 + self._list_sizes(node, _NAME_LIST_KEYWORDS) + self._list_sizes(node, _VALUE_LIST_KEYWORDS)

    def _findings(self, node: JsonObject) -> int:
        return (
            1 + self._list_sizes(node, _NAME_LIST_KEYWORDS) // 2 + self._list_sizes(node, _VALUE_LIST_KEYWORDS) // 100
        )

    def _list_sizes(self, node: JsonObject, keywords: tuple[str, ...]) -> int:
        return sum(self._bulk(node[keyword]) for keyword in keywords if keyword in node)

    def _bulk(self, value: Json) -> int:
        if not isinstance(value, dict | list | str):
            return 1
        if id(value) not in self._bulks:
            self._bulks[id(value)] = _bulk(value)
        return self._bulks[id(value)]

    def resolve_reference(self, reference: Json) -> Json:
        """What cannot be found is taken for the whole, so that nothing is underrated."""
        if not isinstance(reference, str):
            return self._root
        base, _, fragment = reference.partition("#")
        start = self._by_name.get(base, self._root) if base else self._root
        if not fragment.startswith("/"):
            return self._by_name.get(f"#{fragment}", start) if fragment else start
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
    def _by_name(self) -> dict[str, JsonObject]:
        names: dict[str, JsonObject] = {}
        for node in _objects(self._root):
            for keyword, prefix in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
                if isinstance(name := node.get(keyword), str):
                    names.setdefault(f"{prefix}{name}", node)
        return names


class _CostCount:
    """One counting, for one depth of nesting and below."""

    def __init__(self, ways: SchemaCost, weigh: _Weigh) -> None:
        self._cost = ways
        self._weigh = weigh
        self._known: dict[tuple[int, int], int] = {}
        self._open: set[tuple[int, int]] = set()

    def total(self, node: Json, depth: int) -> int:
        if not isinstance(node, dict):
            return self._weigh({})
        key = id(node), depth
        if (known := self._known.get(key)) is not None:
            return known
        if key in self._open:
            return self._weigh({})  # a schema that stands for itself asks nothing more
        self._open.add(key)
        total = self._weigh(node)
        for keyword, value in node.items():
            if keyword in _REFERENCES:
                total += self.total(self._cost.resolve_reference(value), depth)
            elif keyword in _SAME_PLACE:
                total += sum(self.total(child, depth) for child in _children(keyword, value))
            elif depth > 1 and keyword in _ONE_DEEPER:
                total += sum(self.total(child, depth - 1) for child in _children(keyword, value))
        self._open.discard(key)
        self._known[key] = total = min(total, MAX_COUNT)
        return total


def _one_each(node: JsonObject) -> int:
    return 1


def _parts(node: JsonObject) -> int:
    return sum(expanded_size(text) for text in _texts(node))


def _texts(node: JsonObject) -> list[str]:
    """Its patterns, each of which is compiled into an automaton of its own."""
    pattern, named = node.get("pattern"), node.get("patternProperties")
    return [*([pattern] if isinstance(pattern, str) else ()), *(named if isinstance(named, dict) else ())]


def _bulk(root: Json, *, text_weight: float = 0.1) -> int:
    """Its values, and for long texts among them as many again as they have tens of characters."""
    total, waiting = 0, [root]
    while waiting:
        value = waiting.pop()
        total += 1
        if isinstance(value, str):
            total += int(len(value) * text_weight)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return total


def _children(keyword: str, value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and keyword in _SCHEMA_MAP_KEYWORDS:
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
