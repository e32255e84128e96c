"""Which tools are chosen: start from toolsets, add the enabled, take away the disabled. The same way at every level."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from .ids import ToolId
from .reference import Directory, Kind, Unknown, find, find_toolset, reference


@dataclass(frozen=True, slots=True)
class Everything:
    """Every toolset: what is meant by `all`, and by saying nothing."""


@dataclass(frozen=True, slots=True)
class TheseToolsets:
    """Just these; none of them means no toolset at all."""

    names: tuple[str, ...]


Toolsets: TypeAlias = Everything | TheseToolsets


@dataclass(frozen=True)
class Selection:
    """As it was written: names stay text until they meet a board, because tools come and go."""

    toolsets: Toolsets = field(default_factory=Everything)
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selected:
    tools: frozenset[ToolId]
    unknown: tuple[Unknown, ...] = ()


def toolsets(names: Iterable[str]) -> Toolsets:
    """`all` among the names means every toolset, whatever else is named."""
    listed = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    return Everything() if "all" in listed else TheseToolsets(listed)


def select(selection: Selection, within: Directory) -> Selected:
    chosen: set[ToolId] = set()
    unknown: list[Unknown] = []

    def found(what: tuple[ToolId, ...] | Unknown) -> tuple[ToolId, ...]:
        if isinstance(what, Unknown):
            unknown.append(what)
            return ()
        return what

    match selection.toolsets:
        case Everything():
            chosen |= within.known
        case TheseToolsets(names):
            for name in names:
                chosen.update(found(find_toolset(name, within)))
    for text in selection.enabled:
        chosen.update(found(find(reference(text), within, Kind.ENABLED_TOOL)))
    for text in selection.disabled:
        chosen.difference_update(found(find(reference(text), within, Kind.DISABLED_TOOL)))
    return Selected(frozenset(chosen), tuple(unknown))
