"""Tools that stay listed beside those of a presentation, and are called there by their own names."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from pegboard.core.ids import ToolId, WireName
from pegboard.core.naming import hashed_name, long_names
from pegboard.core.reference import Directory, Kind, Unknown, find, reference
from pegboard.core.resolve import Open, Resolution
from pegboard.core.tool import Tool

from .presenting import Listed, Presenting

MOST: Final = 500
"""Who wants more than these listed wants every tool as itself."""


def kept(resolution: Resolution, presenting: Presenting, taken: Collection[str]) -> Mapping[WireName, ToolId]:
    """Those that this caller may know of, open or locked, by the names under which they are listed, in their order.

    A name that is `taken` by the presentation's own tools goes to none of them: such a tool has a longer one.
    """
    if not presenting.always_visible:
        return {}
    within = _directory(resolution)
    meant: set[ToolId] = set()
    for listed in presenting.always_visible:
        found = find(reference(listed.text), within, Kind.TOOL, suggest=False)
        meant.update(() if isinstance(found, Unknown) else found)
    named: dict[WireName, ToolId] = {}
    for id in resolution.names:
        if id in meant and len(named) < MOST and (free := free_name(id, resolution, taken)) is not None:
            named[free] = id
    return named


def kept_open(resolution: Resolution, named: Mapping[WireName, ToolId]) -> Iterator[tuple[WireName, Tool]]:
    """Those of them that are listed: as callers see them."""
    for name, id in named.items():
        verdict = resolution.verdicts[id]
        if isinstance(verdict, Open):
            yield name, verdict.shown


def kept_in_vain(resolution: Resolution, presenting: Presenting) -> Iterator[tuple[Listed, Unknown]]:
    """What the operator named that means no tool here."""
    within = _directory(resolution)
    for listed in presenting.always_visible:
        found = find(reference(listed.text), within, Kind.TOOL)
        if isinstance(found, Unknown):
            yield listed, found


def _directory(resolution: Resolution) -> Directory:
    ids = tuple(resolution.names)
    return Directory(ids, frozenset(id.toolset for id in ids) | resolution.offered_toolsets)


def free_name(id: ToolId, resolution: Resolution, taken: Collection[str]) -> WireName | None:
    """Its name beside tools to which those names belong. A longer one, where it would have one of theirs: that means
    this tool and no other, though it is not the one in the list of all tools."""
    if (name := resolution.names[id]) not in taken:
        return name
    forms = (WireName(form) for form in (*long_names(id), hashed_name(id)))
    return next((form for form in forms if form not in taken and resolution.called(form) == id), None)
