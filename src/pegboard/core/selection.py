"""Which tools are chosen: start from toolsets, add the enabled, take away the disabled. The same way at every level."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from .ids import ServerKey, ToolId, ToolsetId
from .reference import Directory, Kind, Unknown, find, find_toolset, reference

_SUGGESTIONS: Final = 8
"""Near matches cost time, and a request may name thousands of things in vain."""


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
    toolsets: frozenset[ToolsetId] = frozenset()
    """Those chosen whole, known before their tools are."""


def toolsets(names: Iterable[str]) -> Toolsets:
    """`all` among the names means every toolset, whatever else is named."""
    listed: dict[str, str] = {}
    for name in names:
        listed.setdefault(name.strip().lower(), name.strip())
    listed.pop("", None)
    return Everything() if "all" in listed else TheseToolsets(tuple(listed.values()))


def means_tool(text: str, tool: ToolId) -> bool:
    """Whether an entry of a selection is about this tool, be it on the board or not."""
    servers = frozenset({tool.source} if isinstance(tool.source, ServerKey) else ())
    found = find(reference(text), Directory((tool,), frozenset({tool.toolset}), servers), Kind.TOOL, suggest=False)
    return not isinstance(found, Unknown) and bool(found)


def disables(selection: Selection, tool: ToolId) -> bool:
    return any(means_tool(text, tool) for text in selection.disabled)


def select(selection: Selection, within: Directory) -> Selected:
    chosen: set[ToolId] = set()
    whole: set[ToolsetId] = set()
    unknown: list[Unknown] = []

    def found(text: str, kind: Kind) -> tuple[ToolId, ...]:
        what = find(reference(text), within, kind, suggest=len(unknown) < _SUGGESTIONS)
        if isinstance(what, Unknown):
            unknown.append(what)
            return ()
        return what

    match selection.toolsets:
        case Everything():
            chosen |= within.known
            whole |= within.toolsets
        case TheseToolsets(names):
            for name in names:
                match find_toolset(name, within, suggest=len(unknown) < _SUGGESTIONS):
                    case Unknown() as stranger:
                        unknown.append(stranger)
                    case toolset:
                        whole.add(toolset)
                        chosen.update(within.by_toolset.get(toolset, ()))
        case _:
            assert_never(selection.toolsets)
    for text in selection.enabled:
        chosen.update(found(text, Kind.ENABLED_TOOL))
    for text in selection.disabled:
        chosen.difference_update(found(text, Kind.DISABLED_TOOL))
    return Selected(frozenset(chosen), tuple(unknown), frozenset(whole))
