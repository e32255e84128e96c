"""How large arguments are, and whether they are JSON at all: found in one walk, before anything else looks at them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, TypeAlias

from pegboard.core.tool import JsonObject

MAX_DEPTH: Final = 200
"""Levels of nesting. Most readers of JSON give up there, and a recursive schema would exhaust the stack far beyond."""

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
        if depth > MAX_DEPTH:
            return ArgumentsNotJson(f"the arguments are nested more than {MAX_DEPTH} levels deep")
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
    return text if len(text) <= _MAX_PATH_CHARS else text[:_MAX_PATH_CHARS] + "…"
