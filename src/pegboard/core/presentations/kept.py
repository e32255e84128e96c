"""Tools that stay listed beside those of a presentation, and are called there by their own names."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from pegboard.core.ids import ToolId, WireName
from pegboard.core.naming import hashed_name, long_names
from pegboard.core.reference import ReferenceKind, ToolDirectory, UnknownReference, find_tools, parse_reference
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.tool import Tool

from .presenting import PinnedEntry, PresentationSettings

MAX_PINNED: Final = 500
"""Who wants more than these listed wants every tool as itself."""


def pinned_tools(
    resolution: Resolution, presenting: PresentationSettings, taken: Collection[str]
) -> Mapping[WireName, ToolId]:
    """Those that this caller may know of, open or locked, by the names under which they are listed, in their order.

    A name that is `taken` by the presentation's own tools goes to none of them: such a tool has a longer one.
    """
    if not presenting.always_visible:
        return {}
    within = _directory(resolution)
    meant: set[ToolId] = set()
    for listed in presenting.always_visible:
        found = find_tools(parse_reference(listed.text), within, ReferenceKind.TOOL, suggest=False)
        meant.update(() if isinstance(found, UnknownReference) else found)
    named: dict[WireName, ToolId] = {}
    for id in resolution.names:
        if id in meant and len(named) < MAX_PINNED and (free := free_name(id, resolution, taken)) is not None:
            named[free] = id
    return named


def open_pinned_tools(resolution: Resolution, named: Mapping[WireName, ToolId]) -> Iterator[tuple[WireName, Tool]]:
    """Those of them that are listed: as callers see them."""
    for name, id in named.items():
        verdict = resolution.verdicts[id]
        if isinstance(verdict, OpenTool):
            yield name, verdict.visible_tool


def unmatched_pinned_entries(
    resolution: Resolution, presenting: PresentationSettings
) -> Iterator[tuple[PinnedEntry, UnknownReference]]:
    """What the operator named that means no tool here."""
    within = _directory(resolution)
    for listed in presenting.always_visible:
        found = find_tools(parse_reference(listed.text), within, ReferenceKind.TOOL)
        if isinstance(found, UnknownReference):
            yield listed, found


def _directory(resolution: Resolution) -> ToolDirectory:
    ids = tuple(resolution.names)
    return ToolDirectory(ids, frozenset(id.toolset for id in ids) | resolution.offered_toolsets)


def free_name(id: ToolId, resolution: Resolution, taken: Collection[str]) -> WireName | None:
    """Its name beside tools to which those names belong. A longer one, where it would have one of theirs: that means
    this tool and no other, though it is not the one in the list of all tools."""
    if (name := resolution.names[id]) not in taken:
        return name
    forms = (WireName(form) for form in (*long_names(id), hashed_name(id)))
    return next((form for form in forms if form not in taken and resolution.find_tool(form) == id), None)
