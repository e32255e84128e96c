"""`$args.path`, `$return.items[0]` and the like: places in a call, put where a text names them.

Nothing is evaluated: a reference is a root and a path of names and numbers. What is missing is told and left empty.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.tool import Json

ROOTS: Final = ("args", "return", "chat_id", "workspace", "toolset")

MOST_STEPS: Final = 32
MOST_REFERENCES: Final = 1_000
MOST_CHARACTERS: Final = 1_000_000
DEEPEST: Final = 32
_PARSED: Final = 1_000_000
"""Characters of a text that are read as JSON when a path leads into it."""

_STEP: Final = r"\.[A-Za-z_][\w-]*|\[-?\d{1,9}\]|\[\"[^\"\]]{0,128}\"\]|\['[^'\]]{0,128}'\]"
_PLACE: Final = re.compile(rf"\$(\$?)({'|'.join(ROOTS)})(?![\w-])((?:{_STEP})*)")
_ONE_STEP: Final = re.compile(_STEP)
_ANY_ROOT: Final = re.compile(r"(?<!\$)\$([A-Za-z_][\w-]*)")


@dataclass(frozen=True, slots=True)
class Missing:
    """The call has nothing there."""


@dataclass
class Telling:
    """What was left empty, and how much room is left for texts."""

    missing: list[str] = field(default_factory=list[str])
    room: int = MOST_CHARACTERS
    references: int = MOST_REFERENCES
    cut: bool = False


def interpolated(value: Json, roots: Mapping[str, Json], told: Telling, depth: int = 0) -> Json | Missing:
    """A text that is one reference becomes the value itself, of whatever kind; within a text it becomes words."""
    match value:
        case str():
            return _text(value, roots, told)
        case dict() | list() if depth >= DEEPEST:
            told.cut = True
            return None
        case dict():
            return {name: _or_nothing(interpolated(inner, roots, told, depth + 1)) for name, inner in value.items()}
        case list():
            return [_or_nothing(interpolated(inner, roots, told, depth + 1)) for inner in value]
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


def broken_off(value: Json) -> Iterator[str]:
    """References whose path goes on with a bracket that opens and is no step."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                for place in _PLACE.finditer(text):
                    if not place[1] and text[place.end() : place.end() + 1] == "[":
                        yield text[place.start() : place.end() + 16]
            case dict() as members:
                waiting += members.values()
            case list() as items:
                waiting += items


def _or_nothing(value: Json | Missing) -> Json:
    return None if isinstance(value, Missing) else value


def _text(text: str, roots: Mapping[str, Json], told: Telling) -> Json | Missing:
    whole = _PLACE.fullmatch(text)
    if whole is not None and not whole[1]:
        found = _found(whole, roots)
        if isinstance(found, Missing):
            told.missing.append(text)
        return found
    shown = _PLACE.sub(lambda place: _words(place, roots, told), text)
    return _shortened(shown, told)


def _words(place: "re.Match[str]", roots: Mapping[str, Json], told: Telling) -> str:
    if place[1]:
        return place[0][1:]
    told.references -= 1
    if told.references < 0:
        told.cut = True
        return ""
    found = _found(place, roots)
    if isinstance(found, Missing):
        told.missing.append(place[0])
        return ""
    return _shortened(found if isinstance(found, str) else written(found), told)


def written(value: Json) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"


def _shortened(text: str, told: Telling) -> str:
    if len(text) > told.room:
        told.cut = True
        text = text[: told.room]
    told.room -= len(text)
    return text


def _found(place: "re.Match[str]", roots: Mapping[str, Json]) -> Json | Missing:
    found: Json | Missing = roots.get(place[2], _MISSING)
    steps = _ONE_STEP.findall(place[3])
    if found is None or len(steps) > MOST_STEPS:
        return found if not steps and place[2] in ("args", "return") else _MISSING
    for step in steps:
        found = _stepped(found, step)
    return found


def _stepped(value: Json | Missing, step: str) -> Json | Missing:
    if isinstance(value, str):
        value = value_of(value)
    name = step[1:] if step[0] == "." else step[1:-1].strip("\"'")
    if isinstance(value, dict):
        return value.get(name, _MISSING)
    number = name.lstrip("-")
    if isinstance(value, list) and number.isdecimal() and -len(value) <= int(name) < len(value):
        return value[int(name)]
    return _MISSING


def value_of(text: str) -> Json | Missing:
    """Many servers answer with JSON as a text, and mean the value."""
    if len(text) > _PARSED or text.lstrip()[:1] not in ("{", "["):
        return _MISSING
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return _MISSING
    return value


_MISSING: Final = Missing()
