"""The structural difference of two tool definitions."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice, takewhile
from typing import Final, TypeAlias, TypeVar, assert_never

from pegboard.core.json.values import Json
from pegboard.core.model.characters import escape_strictly
from pegboard.core.model.text import truncate
from pegboard.core.model.tool import ToolSpec, canonical_json
from pegboard.core.review.text_diff import DiffPiece, diff_words, harmless_text

_T = TypeVar("_T")
SpecPath: TypeAlias = tuple[str | int, ...]
"""From the spec's root, by the names the protocol uses: `("inputSchema", "properties", "path", "type")`."""


@dataclass(frozen=True, slots=True)
class MissingMember:
    """Not there, which is not the same as null."""


_Value: TypeAlias = Json | MissingMember | Mapping[str, Json]
_MISSING_MEMBER: Final = MissingMember()


@dataclass(frozen=True, slots=True)
class TextChange:
    """The tool's name, title or description."""

    path: SpecPath
    before: str | None
    after: str | None


@dataclass(frozen=True)
class ParameterAddition:
    """`subject` names what a change is about in words: a parameter, a field of the output, a definition."""

    path: SpecPath
    subject: str
    schema: Json
    required: bool


@dataclass(frozen=True)
class ParameterRemoval:
    path: SpecPath
    subject: str
    schema: Json


@dataclass(frozen=True, slots=True)
class RequiredChange:
    path: SpecPath
    subject: str
    required: bool
    """Now."""


@dataclass(frozen=True)
class SchemaChange:
    """Anything else in a schema: a type, a description, a default, a limit. Without a `keyword`, the subject itself."""

    path: SpecPath
    subject: str
    keyword: str
    before: Json | MissingMember
    after: Json | MissingMember


@dataclass(frozen=True)
class AnnotationChange:
    path: SpecPath
    before: Json | MissingMember
    after: Json | MissingMember


SpecChange: TypeAlias = (
    TextChange | ParameterAddition | ParameterRemoval | RequiredChange | SchemaChange | AnnotationChange
)


def diff_specs(before: ToolSpec, after: ToolSpec) -> tuple[SpecChange, ...]:
    """Empty exactly when the fingerprints are equal. In one order: as the spec reads, from name to annotations."""
    return (
        *_text_changes(before, after),
        *_schema_changes("inputSchema", before.input_schema, after.input_schema),
        *_schema_changes("outputSchema", _or_missing(before.output_schema), _or_missing(after.output_schema)),
        *_annotation_changes(_or_missing(before.annotations), _or_missing(after.annotations)),
    )


def describe_change(change: SpecChange) -> str:
    """One line. What a server wrote stands in it quoted, cut short and with nothing invisible left invisible."""
    match change:
        case TextChange(path, before, after):
            return _describe_value_change(f"The {path[-1]}", _or_missing(before), _or_missing(after))
        case ParameterAddition(subject=subject, required=required):
            return f"{subject} was added{' and is required' if required else ''}."
        case ParameterRemoval(subject=subject):
            return f"{subject} was removed."
        case RequiredChange(subject=subject, required=required):
            return f"{subject} is {'now' if required else 'no longer'} required."
        case SchemaChange(_, subject, keyword, before, after):
            return _describe_value_change(f"{subject}: {_keyword_text(keyword)}" if keyword else subject, before, after)
        case AnnotationChange((_, name), before, after):
            return _describe_value_change(f"Annotation {_format_value(name)}", before, after)
        case AnnotationChange(_, before, after):
            return _describe_value_change("The set of annotations", before, after)
        case _:
            assert_never(change)


# --- texts and annotations -------------------------------------------------------------------------------------------


def _text_changes(before: ToolSpec, after: ToolSpec) -> Iterator[TextChange]:
    for field, was, now in (
        ("name", before.name, after.name),
        ("title", before.title, after.title),
        ("description", before.description, after.description),
    ):
        if was != now:
            yield TextChange((field,), was, now)


def _annotation_changes(before: _Value, after: _Value) -> Iterator[AnnotationChange]:
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        if not _is_same_value(before, after):
            yield AnnotationChange(("annotations",), _plain(before), _plain(after))
        return
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, _MISSING_MEMBER), after.get(name, _MISSING_MEMBER)
        if not _is_same_value(was, now):
            yield AnnotationChange(("annotations", name), _plain(was), _plain(now))


# --- schemas ---------------------------------------------------------------------------------------------------------

_MAPS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES: Final = frozenset({"default", "const", "enum", "examples", "example"})
_ROOT_NAMES: Final[Mapping[str | int, tuple[str, str]]] = {
    "inputSchema": ("The input schema", "Parameter"),
    "outputSchema": ("The output schema", "Output field"),
}


class _Interpretation(Enum):
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
class _SchemaPosition:
    """A step on the way down. Linked, because a path of its own for every step of a deep schema would be costly."""

    parent: "_SchemaPosition | None"
    key: str | int
    role: _Role

    def path(self) -> SpecPath:
        return tuple(reversed([place.key for place in self.ancestors()]))

    def ancestors(self) -> "Iterator[_SchemaPosition]":
        place: _SchemaPosition | None = self
        while place is not None:
            yield place
            place = place.parent

    def subject(self) -> str:
        """The parameter, output field or definition that this belongs to, for a person."""
        steps: list[str] = []
        for place in self.ancestors():
            match place.role:
                case _Role.PARAMETER:
                    steps.append(f".{place.key}")
                case _Role.ITEM:
                    steps.append("[]")
                case _Role.OPTION if isinstance(place.key, int) and place.parent is not None:
                    steps.append(f"({_keyword_text(str(place.parent.key))} {place.key + 1})")
                case _Role.DEFINITION:
                    return f"Definition {_format_value(str(place.key) + ''.join(reversed(steps)))}"
        name = "".join(reversed(steps))
        whole, part = _ROOT_NAMES[self.path()[0]]
        if not name.startswith("."):
            return f"{whole} {name}".rstrip()
        return f"{part} {_format_value(name.removeprefix('.'))}"

    def keyword(self) -> str:
        below = takewhile(lambda place: place.role is _Role.KEYWORD, self.ancestors())
        return ".".join(reversed([str(place.key) for place in below]))


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two values at one place, still to be compared."""

    place: _SchemaPosition
    before: _Value
    after: _Value
    interpretation: _Interpretation = _Interpretation.SCHEMA
    required_names: frozenset[str] = frozenset()
    """Of what is named here, what is required now."""


def _schema_changes(root: str, before: _Value, after: _Value) -> Iterator[SpecChange]:
    """By a stack of its own: a schema may be deeper than the interpreter recurses."""
    waiting = [_Pair(_SchemaPosition(None, root, _Role.ROOT), before, after)]
    while waiting:
        pair = waiting.pop()
        was, now = pair.before, pair.after
        if was is now:
            continue
        if pair.interpretation is not _Interpretation.VALUE and isinstance(was, Mapping) and isinstance(now, Mapping):
            if pair.interpretation is _Interpretation.SCHEMA:
                yield from _required_changes(pair.place, was, now)
            waiting += reversed([*_member_pairs(pair, was, now)])
        elif (
            pair.interpretation is not _Interpretation.VALUE
            and isinstance(was, list)
            and isinstance(now, list)
            and _has_nested_schemas(was, now)
        ):
            waiting += reversed([*_option_pairs(pair.place, was, now)])
        elif not _is_same_value(was, now):
            yield _change_of(pair)


def _member_pairs(pair: _Pair, was: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[_Pair]:
    of_parameters = pair.place.key in ("properties", "patternProperties")
    for key in sorted(was.keys() | now.keys()):
        before, after = was.get(key, _MISSING_MEMBER), now.get(key, _MISSING_MEMBER)
        if pair.interpretation is _Interpretation.MAP:
            role = _Role.PARAMETER if of_parameters else _Role.DEFINITION
            yield _Pair(
                _SchemaPosition(pair.place, key, role), before, after, required_names=pair.required_names & {key}
            )
        elif key == "required" and _changed_required_names(before, after):
            continue
        else:
            role = _Role.ITEM if key == "items" else _Role.KEYWORD
            reading = (
                _Interpretation.MAP
                if key in _MAPS
                else _Interpretation.VALUE
                if key in _VALUES
                else _Interpretation.SCHEMA
            )
            required = _required_names(now.get("required", _MISSING_MEMBER)) if key == "properties" else None
            yield _Pair(_SchemaPosition(pair.place, key, role), before, after, reading, required or frozenset())


def _option_pairs(place: _SchemaPosition, was: list[Json], now: list[Json]) -> Iterator[_Pair]:
    for number in range(max(len(was), len(now))):
        before = was[number] if number < len(was) else _MISSING_MEMBER
        after = now[number] if number < len(now) else _MISSING_MEMBER
        yield _Pair(_SchemaPosition(place, number, _Role.OPTION), before, after)


def _required_changes(
    place: _SchemaPosition, was: Mapping[str, Json], now: Mapping[str, Json]
) -> Iterator[RequiredChange]:
    """Which names became required or no longer are. Of a parameter that came or went, that change tells it."""
    required = now.get("required", _MISSING_MEMBER)
    had, has = was.get("properties"), now.get("properties")
    moved = had.keys() ^ has.keys() if isinstance(had, Mapping) and isinstance(has, Mapping) else frozenset[str]()
    for name in sorted(_changed_required_names(was.get("required", _MISSING_MEMBER), required) - moved):
        parameter = _SchemaPosition(_SchemaPosition(place, "properties", _Role.KEYWORD), name, _Role.PARAMETER)
        yield RequiredChange(parameter.path(), parameter.subject(), isinstance(required, list) and name in required)


def _change_of(pair: _Pair) -> SpecChange:
    path, subject = pair.place.path(), pair.place.subject()
    before, after = _plain(pair.before), _plain(pair.after)
    if pair.place.role is _Role.PARAMETER:
        if isinstance(before, MissingMember) and not isinstance(after, MissingMember):
            return ParameterAddition(path, subject, after, bool(pair.required_names))
        if isinstance(after, MissingMember) and not isinstance(before, MissingMember):
            return ParameterRemoval(path, subject, before)
    return SchemaChange(path, subject, pair.place.keyword(), before, after)


def _required_names(required: _Value) -> frozenset[str] | None:
    """The names in a `required`, where it is a list of names; nothing given is none of them."""
    if isinstance(required, MissingMember):
        return frozenset()
    if not isinstance(required, list):
        return None
    names = frozenset(name for name in required if isinstance(name, str))
    return names if all(isinstance(name, str) for name in required) else None


def _changed_required_names(before: _Value, after: _Value) -> frozenset[str]:
    was, now = _required_names(before), _required_names(after)
    return frozenset() if was is None or now is None else was ^ now


def _has_nested_schemas(was: list[Json], now: list[Json]) -> bool:
    return any(isinstance(each, dict | list) for each in (*was, *now))


def _is_same_value(one: _Value, other: _Value) -> bool:
    """As the fingerprint sees it: 1, 1.0 and true are three things."""
    if isinstance(one, MissingMember) or isinstance(other, MissingMember):
        return one == other
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    return canonical_json(one) == canonical_json(other)


def _or_missing(value: _T | None) -> _T | MissingMember:
    return _MISSING_MEMBER if value is None else value


def _plain(value: _Value) -> Json | MissingMember:
    return dict(value) if isinstance(value, Mapping) else value


# --- words -----------------------------------------------------------------------------------------------------------

_MAX_QUOTED_CHARS: Final = 60
_KEYWORD: Final = re.compile(r"[A-Za-z0-9$._-]+")


def _describe_value_change(what: str, before: Json | MissingMember, after: Json | MissingMember) -> str:
    if isinstance(before, MissingMember):
        return f"{what} was added: {_format_value(after)}."
    if isinstance(after, MissingMember):
        return f"{what} was removed."
    if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > _MAX_QUOTED_CHARS:
        same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
        start = min(len(before), len(after)) if same is None else same
        return (
            f"{what} changed after {start} characters: {_format_value(before[start:])} became "
            f"{_format_value(after[start:])}."
        )
    return f"{what} changed from {_format_value(before)} to {_format_value(after)}."


def _keyword_text(key: str) -> str:
    """A keyword as it is; whatever else a server may have made a key of, quoted."""
    return key if len(key) <= _MAX_QUOTED_CHARS and _KEYWORD.fullmatch(key) else _format_value(key)


def _format_value(value: Json | MissingMember) -> str:
    if isinstance(value, MissingMember):
        return "nothing"
    if isinstance(value, str):
        return escape_strictly(repr(value[:_MAX_QUOTED_CHARS])) + ("…" if len(value) > _MAX_QUOTED_CHARS else "")
    text = canonical_json(value)[: 4 * _MAX_QUOTED_CHARS].decode("utf-8", "replace")
    short = truncate(text, _MAX_QUOTED_CHARS)
    is_plain = short.isprintable() and escape_strictly(short) == short
    return short if is_plain else short.encode("unicode_escape").decode("ascii")


# The difference of two specs as a person reads it: section by section, texts by words, schemas by path.
#
# Bounded, and harmless to show: what a server wrote stands in it with everything written out that does not show.

MAX_CHANGES: Final = 200
"""Of one section. Beyond them it is told how many more there are."""
MAX_VALUE_CHARS: Final = 1_000
_MAX_PATH_CHARS: Final = 300


class SpecChangeKind(Enum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True)
class SpecDifference:
    """One place that differs. `before` and `after` are JSON text; of two texts, `words` tells how one became the
    other. Without any of them, the sentence is all there is to tell."""

    path: str
    kind: SpecChangeKind
    sentence: str
    before: str | None = None
    after: str | None = None
    words: tuple[DiffPiece, ...] = ()


@dataclass(frozen=True)
class SpecSection:
    """One member of the spec, by the name the protocol uses: a text by its words, anything else by its places."""

    name: str
    words: tuple[DiffPiece, ...] = ()
    changes: tuple[SpecDifference, ...] = ()
    more_count: int = 0
    """Changes that are not told any more."""


def spec_sections(before: ToolSpec, after: ToolSpec) -> tuple[SpecSection, ...]:
    """Only those that differ, in the order in which a spec reads. Empty exactly when the fingerprints are equal."""
    by_name: dict[str, list[SpecChange]] = {}
    for change in diff_specs(before, after):
        by_name.setdefault(str(change.path[0]), []).append(change)
    return tuple(_section(name, changes) for name, changes in by_name.items())


def format_path(path: SpecPath) -> str:
    """`inputSchema.properties.path.type`; steps that no keyword or name looks like are quoted."""
    return harmless_text(".".join(map(_step, islice(path, 60))), _MAX_PATH_CHARS) + ("…" if len(path) > 60 else "")


def _step(step: str | int) -> str:
    text = str(step)
    return text if text.replace("_", "").replace("-", "").replace("$", "").isalnum() else repr(harmless_text(text, 60))


def _section(name: str, changes: list[SpecChange]) -> SpecSection:
    match changes:
        case [TextChange(_, before, after)]:
            return SpecSection(
                name, words=diff_words(before or "", after or ""), changes=tuple(_presence_differences(changes))
            )
        case _:
            told = tuple(_difference_of(change) for change in changes[:MAX_CHANGES])
            return SpecSection(name, changes=told, more_count=max(0, len(changes) - MAX_CHANGES))


def _presence_differences(changes: Iterable[SpecChange]) -> Iterator[SpecDifference]:
    """An empty title and none are two things with the same words."""
    for change in changes:
        if isinstance(change, TextChange) and (change.before or "") == (change.after or ""):
            yield _difference_of(change)


def _difference_of(change: SpecChange) -> SpecDifference:
    path, told = format_path(change.path), describe_change(change)
    match change:
        case ParameterAddition(schema=schema):
            return SpecDifference(path, SpecChangeKind.ADDED, told, after=_json(schema))
        case ParameterRemoval(schema=schema):
            return SpecDifference(path, SpecChangeKind.REMOVED, told, before=_json(schema))
        case RequiredChange():
            # That a name is among the required ones is no value of the parameter: it is told in words alone.
            return SpecDifference(path, SpecChangeKind.CHANGED, told)
        case TextChange(_, before, after):
            return _value_difference(
                path, told, MissingMember() if before is None else before, MissingMember() if after is None else after
            )
        case SchemaChange(_, _, _, before, after) | AnnotationChange(_, before, after):
            return _value_difference(path, told, before, after)
        case _:
            assert_never(change)


def _value_difference(
    path: str, told: str, before: Json | MissingMember, after: Json | MissingMember
) -> SpecDifference:
    how = (
        SpecChangeKind.ADDED
        if isinstance(before, MissingMember)
        else SpecChangeKind.REMOVED
        if isinstance(after, MissingMember)
        else SpecChangeKind.CHANGED
    )
    words = diff_words(before, after) if isinstance(before, str) and isinstance(after, str) else ()
    return SpecDifference(path, how, told, _json(before), _json(after), words)


def _json(value: Json | MissingMember) -> str | None:
    if isinstance(value, MissingMember):
        return None
    return harmless_text(canonical_json(value).decode("utf-8", "surrogatepass"), MAX_VALUE_CHARS)


# What a person should know of a tool before they approve it, whatever its words are: what it says that it may do,
# and
# what callers will send otherwise than before.
#
# No judgement of the words: that is the scanner's. Annotations are claims of the server; that one is given up is
# news.

MAX_CAUTIONS: Final = 20
_CAUTIONS_VALUES: Final = frozenset({"default", "enum", "const"})
_HINT_SENTENCES: Final = {
    "destructiveHint": "It says that it may delete or overwrite things.",
    "openWorldHint": "It says that it reaches beyond what its server keeps, to other machines or people.",
}


def review_cautions(before: ToolSpec | None, now: ToolSpec) -> tuple[str, ...]:
    """Each a sentence. `before` is what was approved, if anything was."""
    told = _cautions_of_new(now) if before is None else _cautions_of_change(before, now)
    return tuple(islice(told, MAX_CAUTIONS))


def _cautions_of_new(spec: ToolSpec) -> Iterator[str]:
    said: Mapping[str, Json] = spec.annotations or {}
    for hint, words in _HINT_SENTENCES.items():
        if said.get(hint) is True and said.get("readOnlyHint") is not True:
            yield words
    if "readOnlyHint" not in said and "destructiveHint" not in said:
        yield "It does not say whether it only reads; take it that it may change or delete things."


def _cautions_of_change(before: ToolSpec, now: ToolSpec) -> Iterator[str]:
    for change in diff_specs(before, now):
        yield from _cautions_of_one_change(change)


def _cautions_of_one_change(change: SpecChange) -> Iterator[str]:
    match change:
        case AnnotationChange((_, "readOnlyHint"), True, _):
            yield "It said that it only reads, and does not say so any more."
        case AnnotationChange((_, "destructiveHint"), _, True):
            yield "It now says that it may delete or overwrite things."
        case AnnotationChange((_, "destructiveHint"), False, _):
            yield "It said that it deletes and overwrites nothing, and does not say so any more."
        case AnnotationChange((_, "openWorldHint"), _, True):
            yield "It now says that it reaches beyond what its server keeps, to other machines or people."
        case AnnotationChange((_, "openWorldHint"), False, _):
            yield "It said that it stays within what its server keeps, and does not say so any more."
        case AnnotationChange(("annotations",), dict() as was, _) if was.get("readOnlyHint") is True:
            yield "It said that it only reads, and does not say so any more."
        case ParameterAddition(path, _, _, True) | RequiredChange(path, _, True) if path[0] == "inputSchema":
            yield f"Callers must send something new. {describe_change(change)}"
        case SchemaChange(path, _, keyword) if path[0] == "inputSchema" and _CAUTIONS_VALUES & {
            *keyword.split("."),
            path[-1],
        }:
            yield f"Callers may send another value than before. {describe_change(change)}"
        case _:
            pass
