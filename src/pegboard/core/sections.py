"""The difference of two specs as a person reads it: section by section, texts by words, schemas by path.

Bounded, and harmless to show: what a server wrote stands in it with everything written out that does not show.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final, assert_never

from .diff import (
    AnnotationChange,
    MissingMember,
    ParameterAddition,
    ParameterRemoval,
    RequiredChange,
    SchemaChange,
    SpecChange,
    SpecPath,
    TextChange,
    describe_change,
    diff_specs,
)
from .rewording import DiffPiece, diff_words, harmless_text
from .tool import Json, ToolSpec, canonical_json

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
