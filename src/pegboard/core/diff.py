"""The difference of two specs: what a person reviews before approving a tool again. One answer for every surface."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile
from typing import Final, TypeAlias, TypeVar, assert_never

from .characters import escape_strictly
from .tool import Json, ToolSpec, canonical

_T = TypeVar("_T")
Path: TypeAlias = tuple[str | int, ...]
"""From the spec's root, by the names the protocol uses: `("inputSchema", "properties", "path", "type")`."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Not there, which is not the same as null."""


_Value: TypeAlias = Json | Missing | Mapping[str, Json]
_MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class TextChanged:
    """The tool's name, title or description."""

    path: Path
    before: str | None
    after: str | None


@dataclass(frozen=True)
class ParameterAdded:
    """`subject` names what a change is about in words: a parameter, a field of the output, a definition."""

    path: Path
    subject: str
    schema: Json
    required: bool


@dataclass(frozen=True)
class ParameterRemoved:
    path: Path
    subject: str
    schema: Json


@dataclass(frozen=True, slots=True)
class RequiredChanged:
    path: Path
    subject: str
    required: bool
    """Now."""


@dataclass(frozen=True)
class SchemaChanged:
    """Anything else in a schema: a type, a description, a default, a limit. Without a `keyword`, the subject itself."""

    path: Path
    subject: str
    keyword: str
    before: Json | Missing
    after: Json | Missing


@dataclass(frozen=True)
class AnnotationChanged:
    path: Path
    before: Json | Missing
    after: Json | Missing


Change: TypeAlias = (
    TextChanged | ParameterAdded | ParameterRemoved | RequiredChanged | SchemaChanged | AnnotationChanged
)


def diff(before: ToolSpec, after: ToolSpec) -> tuple[Change, ...]:
    """Empty exactly when the fingerprints are equal. In one order: as the spec reads, from name to annotations."""
    return (
        *_texts(before, after),
        *_schema("inputSchema", before.input_schema, after.input_schema),
        *_schema("outputSchema", _or_missing(before.output_schema), _or_missing(after.output_schema)),
        *_annotations(_or_missing(before.annotations), _or_missing(after.annotations)),
    )


def sentence(change: Change) -> str:
    """One line. What a server wrote stands in it quoted, cut short and with nothing invisible left invisible."""
    match change:
        case TextChanged(path, before, after):
            return _changed(f"The {path[-1]}", _or_missing(before), _or_missing(after))
        case ParameterAdded(subject=subject, required=required):
            return f"{subject} was added{' and is required' if required else ''}."
        case ParameterRemoved(subject=subject):
            return f"{subject} was removed."
        case RequiredChanged(subject=subject, required=required):
            return f"{subject} is {'now' if required else 'no longer'} required."
        case SchemaChanged(_, subject, keyword, before, after):
            return _changed(f"{subject}: {_word(keyword)}" if keyword else subject, before, after)
        case AnnotationChanged((_, name), before, after):
            return _changed(f"Annotation {_shown(name)}", before, after)
        case AnnotationChanged(_, before, after):
            return _changed("The set of annotations", before, after)
        case _:
            assert_never(change)


# --- texts and annotations -------------------------------------------------------------------------------------------


def _texts(before: ToolSpec, after: ToolSpec) -> Iterator[TextChanged]:
    for field, was, now in (
        ("name", before.name, after.name),
        ("title", before.title, after.title),
        ("description", before.description, after.description),
    ):
        if was != now:
            yield TextChanged((field,), was, now)


def _annotations(before: _Value, after: _Value) -> Iterator[AnnotationChanged]:
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        if not _same(before, after):
            yield AnnotationChanged(("annotations",), _plain(before), _plain(after))
        return
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, _MISSING), after.get(name, _MISSING)
        if not _same(was, now):
            yield AnnotationChanged(("annotations", name), _plain(was), _plain(now))


# --- schemas ---------------------------------------------------------------------------------------------------------

_MAPS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES: Final = frozenset({"default", "const", "enum", "examples", "example"})
_SIDES: Final[Mapping[str | int, tuple[str, str]]] = {
    "inputSchema": ("The input schema", "Parameter"),
    "outputSchema": ("The output schema", "Output field"),
}


class _Reading(Enum):
    """How what stands at a place is to be read."""

    SCHEMA = "its keys are keywords"
    MAP = "its keys are names of schemas"
    VALUE = "a value, whatever it looks like"


class _Role(Enum):
    """What a place is to the one above it."""

    ROOT = "root"
    PARAMETER = "parameter"
    DEFINITION = "definition"
    ITEM = "item"
    OPTION = "option"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class _Place:
    """A step on the way down. Linked, because a path of its own for every step of a deep schema would be costly."""

    above: "_Place | None"
    key: str | int
    role: _Role

    def path(self) -> Path:
        return tuple(reversed([place.key for place in self.upwards()]))

    def upwards(self) -> "Iterator[_Place]":
        place: _Place | None = self
        while place is not None:
            yield place
            place = place.above

    def subject(self) -> str:
        """The parameter, output field or definition that this belongs to, for a person."""
        steps: list[str] = []
        for place in self.upwards():
            match place.role:
                case _Role.PARAMETER:
                    steps.append(f".{place.key}")
                case _Role.ITEM:
                    steps.append("[]")
                case _Role.OPTION if isinstance(place.key, int) and place.above is not None:
                    steps.append(f"({_word(str(place.above.key))} {place.key + 1})")
                case _Role.DEFINITION:
                    return f"Definition {_shown(str(place.key) + ''.join(reversed(steps)))}"
        name = "".join(reversed(steps))
        whole, part = _SIDES[self.path()[0]]
        if not name.startswith("."):
            return f"{whole} {name}".rstrip()
        return f"{part} {_shown(name.removeprefix('.'))}"

    def keyword(self) -> str:
        below = takewhile(lambda place: place.role is _Role.KEYWORD, self.upwards())
        return ".".join(reversed([str(place.key) for place in below]))


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two values at one place, still to be compared."""

    place: _Place
    before: _Value
    after: _Value
    reading: _Reading = _Reading.SCHEMA
    required: frozenset[str] = frozenset()
    """Of what is named here, what is required now."""


def _schema(root: str, before: _Value, after: _Value) -> Iterator[Change]:
    """By a stack of its own: a schema may be deeper than the interpreter recurses."""
    waiting = [_Pair(_Place(None, root, _Role.ROOT), before, after)]
    while waiting:
        pair = waiting.pop()
        was, now = pair.before, pair.after
        if was is now:
            continue
        if pair.reading is not _Reading.VALUE and isinstance(was, Mapping) and isinstance(now, Mapping):
            if pair.reading is _Reading.SCHEMA:
                yield from _flips(pair.place, was, now)
            waiting += reversed([*_members(pair, was, now)])
        elif (
            pair.reading is not _Reading.VALUE and isinstance(was, list) and isinstance(now, list) and _nested(was, now)
        ):
            waiting += reversed([*_options(pair.place, was, now)])
        elif not _same(was, now):
            yield _told(pair)


def _members(pair: _Pair, was: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[_Pair]:
    of_parameters = pair.place.key in ("properties", "patternProperties")
    for key in sorted(was.keys() | now.keys()):
        before, after = was.get(key, _MISSING), now.get(key, _MISSING)
        if pair.reading is _Reading.MAP:
            role = _Role.PARAMETER if of_parameters else _Role.DEFINITION
            yield _Pair(_Place(pair.place, key, role), before, after, required=pair.required & {key})
        elif key == "required" and _flipped(before, after):
            continue
        else:
            role = _Role.ITEM if key == "items" else _Role.KEYWORD
            reading = _Reading.MAP if key in _MAPS else _Reading.VALUE if key in _VALUES else _Reading.SCHEMA
            required = _names(now.get("required", _MISSING)) if key == "properties" else None
            yield _Pair(_Place(pair.place, key, role), before, after, reading, required or frozenset())


def _options(place: _Place, was: list[Json], now: list[Json]) -> Iterator[_Pair]:
    for number in range(max(len(was), len(now))):
        before = was[number] if number < len(was) else _MISSING
        after = now[number] if number < len(now) else _MISSING
        yield _Pair(_Place(place, number, _Role.OPTION), before, after)


def _flips(place: _Place, was: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[RequiredChanged]:
    """Which names became required or no longer are. Of a parameter that came or went, that change tells it."""
    required = now.get("required", _MISSING)
    had, has = was.get("properties"), now.get("properties")
    moved = had.keys() ^ has.keys() if isinstance(had, Mapping) and isinstance(has, Mapping) else frozenset[str]()
    for name in sorted(_flipped(was.get("required", _MISSING), required) - moved):
        parameter = _Place(_Place(place, "properties", _Role.KEYWORD), name, _Role.PARAMETER)
        yield RequiredChanged(parameter.path(), parameter.subject(), isinstance(required, list) and name in required)


def _told(pair: _Pair) -> Change:
    path, subject = pair.place.path(), pair.place.subject()
    before, after = _plain(pair.before), _plain(pair.after)
    if pair.place.role is _Role.PARAMETER:
        if isinstance(before, Missing) and not isinstance(after, Missing):
            return ParameterAdded(path, subject, after, bool(pair.required))
        if isinstance(after, Missing) and not isinstance(before, Missing):
            return ParameterRemoved(path, subject, before)
    return SchemaChanged(path, subject, pair.place.keyword(), before, after)


def _names(required: _Value) -> frozenset[str] | None:
    """The names in a `required`, where it is a list of names; nothing given is none of them."""
    if isinstance(required, Missing):
        return frozenset()
    if not isinstance(required, list):
        return None
    names = frozenset(name for name in required if isinstance(name, str))
    return names if all(isinstance(name, str) for name in required) else None


def _flipped(before: _Value, after: _Value) -> frozenset[str]:
    was, now = _names(before), _names(after)
    return frozenset() if was is None or now is None else was ^ now


def _nested(was: list[Json], now: list[Json]) -> bool:
    return any(isinstance(each, dict | list) for each in (*was, *now))


def _same(one: _Value, other: _Value) -> bool:
    """As the fingerprint sees it: 1, 1.0 and true are three things."""
    if isinstance(one, Missing) or isinstance(other, Missing):
        return one == other
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    return canonical(one) == canonical(other)


def _or_missing(value: _T | None) -> _T | Missing:
    return _MISSING if value is None else value


def _plain(value: _Value) -> Json | Missing:
    return dict(value) if isinstance(value, Mapping) else value


# --- words -----------------------------------------------------------------------------------------------------------

_LONGEST: Final = 60
_KEYWORD: Final = re.compile(r"[A-Za-z0-9$._-]+")


def _changed(what: str, before: Json | Missing, after: Json | Missing) -> str:
    if isinstance(before, Missing):
        return f"{what} was added: {_shown(after)}."
    if isinstance(after, Missing):
        return f"{what} was removed."
    if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > _LONGEST:
        same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
        start = min(len(before), len(after)) if same is None else same
        return f"{what} changed after {start} characters: {_shown(before[start:])} became {_shown(after[start:])}."
    return f"{what} changed from {_shown(before)} to {_shown(after)}."


def _word(key: str) -> str:
    """A keyword as it is; whatever else a server may have made a key of, quoted."""
    return key if len(key) <= _LONGEST and _KEYWORD.fullmatch(key) else _shown(key)


def _shown(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "nothing"
    if isinstance(value, str):
        return escape_strictly(repr(value[:_LONGEST])) + ("…" if len(value) > _LONGEST else "")
    text = canonical(value)[: 4 * _LONGEST].decode("utf-8", "replace")
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    is_plain = short.isprintable() and escape_strictly(short) == short
    return short if is_plain else short.encode("unicode_escape").decode("ascii")
