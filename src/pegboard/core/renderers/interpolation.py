"""`$args.path`, `$return.items[0]` and the like: places in a call, put where a text names them.

Nothing is evaluated: a reference is a root and a path of names and numbers. What is missing is told and left empty.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.tool import Json

REFERENCE_ROOTS: Final = ("args", "return", "chat_id", "workspace", "toolset")

MAX_STEPS: Final = 32
MAX_REFERENCES: Final = 1_000
MAX_CHARS: Final = 1_000_000
MAX_DEPTH: Final = 32
_MAX_PARSED_CHARS: Final = 1_000_000
"""Characters of a text that are read as JSON when a path leads into it."""

_STEP: Final = r"\.[A-Za-z_][\w-]*|\[-?\d{1,9}\]|\[\"[^\"\]]{0,128}\"\]|\['[^'\]]{0,128}'\]"
_REFERENCE: Final = re.compile(rf"\$(\$?)({'|'.join(REFERENCE_ROOTS)})(?![\w-])((?:{_STEP})*)")
_ONE_STEP: Final = re.compile(_STEP)
_ANY_ROOT: Final = re.compile(r"(?<!\$)\$([A-Za-z_][\w-]*)")


@dataclass(frozen=True, slots=True)
class NoValue:
    """The call has nothing there."""


@dataclass
class InterpolationState:
    """What was left empty, and how much room is left for texts."""

    missing_references: list[str] = field(default_factory=list[str])
    chars_left: int = MAX_CHARS
    references_left: int = MAX_REFERENCES
    is_truncated: bool = False


def interpolate(value: Json, roots: Mapping[str, Json], told: InterpolationState, depth: int = 0) -> Json | NoValue:
    """A text that is one reference becomes the value itself, of whatever kind; within a text it becomes words."""
    match value:
        case str():
            return _interpolate_text(value, roots, told)
        case dict() | list() if depth >= MAX_DEPTH:
            told.is_truncated = True
            return None
        case dict():
            return {name: _or_nothing(interpolate(inner, roots, told, depth + 1)) for name, inner in value.items()}
        case list():
            return [_or_nothing(interpolate(inner, roots, told, depth + 1)) for inner in value]
        case _:
            return value


def roots_in(value: Json) -> Iterator[str]:
    """The words after `$` in every text, whether they are roots or not. `$$` is a plain `$`."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield from _ANY_ROOT.findall(text)
            case dict() as members:
                waiting += members.values()
            case list() as items:
                waiting += items


def malformed_references(value: Json) -> Iterator[str]:
    """References whose path goes on with a bracket that opens and is no step."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                for place in _REFERENCE.finditer(text):
                    if not place[1] and text[place.end() : place.end() + 1] == "[":
                        yield text[place.start() : place.end() + 16]
            case dict() as members:
                waiting += members.values()
            case list() as items:
                waiting += items


def _or_nothing(value: Json | NoValue) -> Json:
    return None if isinstance(value, NoValue) else value


def _interpolate_text(text: str, roots: Mapping[str, Json], told: InterpolationState) -> Json | NoValue:
    whole = _REFERENCE.fullmatch(text)
    if whole is not None and not whole[1]:
        found = _look_up(whole, roots)
        if isinstance(found, NoValue):
            told.missing_references.append(text)
        return found
    shown = _REFERENCE.sub(lambda place: _reference_text(place, roots, told), text)
    return _shorten(shown, told)


def _reference_text(place: "re.Match[str]", roots: Mapping[str, Json], told: InterpolationState) -> str:
    if place[1]:
        return place[0][1:]
    told.references_left -= 1
    if told.references_left < 0:
        told.is_truncated = True
        return ""
    found = _look_up(place, roots)
    if isinstance(found, NoValue):
        told.missing_references.append(place[0])
        return ""
    return _shorten(found if isinstance(found, str) else value_text(found), told)


def value_text(value: Json) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"


def _shorten(text: str, told: InterpolationState) -> str:
    if len(text) > told.chars_left:
        told.is_truncated = True
        text = text[: told.chars_left]
    told.chars_left -= len(text)
    return text


def _look_up(place: "re.Match[str]", roots: Mapping[str, Json]) -> Json | NoValue:
    found: Json | NoValue = roots.get(place[2], _NO_VALUE)
    steps = _ONE_STEP.findall(place[3])
    if found is None or len(steps) > MAX_STEPS:
        return found if not steps and place[2] in ("args", "return") else _NO_VALUE
    for step in steps:
        found = _follow_step(found, step)
    return found


def _follow_step(value: Json | NoValue, step: str) -> Json | NoValue:
    if isinstance(value, str):
        value = parse_json_text(value)
    name = step[1:] if step[0] == "." else step[1:-1].strip("\"'")
    if isinstance(value, dict):
        return value.get(name, _NO_VALUE)
    number = name.lstrip("-")
    if isinstance(value, list) and number.isdecimal() and -len(value) <= int(name) < len(value):
        return value[int(name)]
    return _NO_VALUE


def parse_json_text(text: str) -> Json | NoValue:
    """Many servers answer with JSON as a text, and mean the value."""
    if len(text) > _MAX_PARSED_CHARS or text.lstrip()[:1] not in ("{", "["):
        return _NO_VALUE
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return _NO_VALUE
    return value


_NO_VALUE: Final = NoValue()
