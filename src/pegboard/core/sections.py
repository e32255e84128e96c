"""The difference of two specs as a person reads it: section by section, texts by words, schemas by path.

Bounded, and harmless to show: what a server wrote stands in it with everything written out that does not show.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final, assert_never

from .diff import (
    AnnotationChanged,
    Change,
    Missing,
    ParameterAdded,
    ParameterRemoved,
    Path,
    RequiredChanged,
    SchemaChanged,
    TextChanged,
    diff,
    sentence,
)
from .rewording import Piece, harmless, reworded
from .tool import Json, ToolSpec, canonical

MOST_CHANGES: Final = 200
"""Of one section. Beyond them it is told how many more there are."""
LONGEST_VALUE: Final = 1_000
_LONGEST_PATH: Final = 300


class Alteration(Enum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True)
class Altered:
    """One place that differs. `before` and `after` are JSON text; of two texts, `words` tells how one became the
    other. Without any of them, the sentence is all there is to tell."""

    path: str
    how: Alteration
    sentence: str
    before: str | None = None
    after: str | None = None
    words: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Section:
    """One member of the spec, by the name the protocol uses: a text by its words, anything else by its places."""

    name: str
    words: tuple[Piece, ...] = ()
    changes: tuple[Altered, ...] = ()
    more: int = 0
    """Changes that are not told any more."""


def sections(before: ToolSpec, after: ToolSpec) -> tuple[Section, ...]:
    """Only those that differ, in the order in which a spec reads. Empty exactly when the fingerprints are equal."""
    by_name: dict[str, list[Change]] = {}
    for change in diff(before, after):
        by_name.setdefault(str(change.path[0]), []).append(change)
    return tuple(_section(name, changes) for name, changes in by_name.items())


def path_text(path: Path) -> str:
    """`inputSchema.properties.path.type`; steps that no keyword or name looks like are quoted."""
    return harmless(".".join(map(_step, islice(path, 60))), _LONGEST_PATH) + ("…" if len(path) > 60 else "")


def _step(step: str | int) -> str:
    text = str(step)
    return text if text.replace("_", "").replace("-", "").replace("$", "").isalnum() else repr(harmless(text, 60))


def _section(name: str, changes: list[Change]) -> Section:
    match changes:
        case [TextChanged(_, before, after)]:
            return Section(name, words=reworded(before or "", after or ""), changes=tuple(_presence(changes)))
        case _:
            told = tuple(_altered(change) for change in changes[:MOST_CHANGES])
            return Section(name, changes=told, more=max(0, len(changes) - MOST_CHANGES))


def _presence(changes: Iterable[Change]) -> Iterator[Altered]:
    """An empty title and none are two things with the same words."""
    for change in changes:
        if isinstance(change, TextChanged) and (change.before or "") == (change.after or ""):
            yield _altered(change)


def _altered(change: Change) -> Altered:
    path, told = path_text(change.path), sentence(change)
    match change:
        case ParameterAdded(schema=schema):
            return Altered(path, Alteration.ADDED, told, after=_json(schema))
        case ParameterRemoved(schema=schema):
            return Altered(path, Alteration.REMOVED, told, before=_json(schema))
        case RequiredChanged():
            # That a name is among the required ones is no value of the parameter: it is told in words alone.
            return Altered(path, Alteration.CHANGED, told)
        case TextChanged(_, before, after):
            return _values(path, told, Missing() if before is None else before, Missing() if after is None else after)
        case SchemaChanged(_, _, _, before, after) | AnnotationChanged(_, before, after):
            return _values(path, told, before, after)
        case _:
            assert_never(change)


def _values(path: str, told: str, before: Json | Missing, after: Json | Missing) -> Altered:
    how = (
        Alteration.ADDED
        if isinstance(before, Missing)
        else Alteration.REMOVED
        if isinstance(after, Missing)
        else Alteration.CHANGED
    )
    words = reworded(before, after) if isinstance(before, str) and isinstance(after, str) else ()
    return Altered(path, how, told, _json(before), _json(after), words)


def _json(value: Json | Missing) -> str | None:
    if isinstance(value, Missing):
        return None
    return harmless(canonical(value).decode("utf-8", "surrogatepass"), LONGEST_VALUE)
