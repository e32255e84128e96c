"""`Selection` (toolsets + enabled - disabled) and `View` (the caller and the request)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, assert_never

from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.patterns import LaunchFilter
from pegboard.core.model.references import (
    ReferenceKind,
    ToolDirectory,
    UnknownReference,
    find_tools,
    find_toolset,
    parse_reference,
)

_MAX_SUGGESTIONS: Final = 8
"""Near matches cost time, and a request may name thousands of things in vain."""


@dataclass(frozen=True, slots=True)
class AllToolsets:
    """Every toolset: what is meant by `all`, and by saying nothing."""


@dataclass(frozen=True, slots=True)
class TheseToolsets:
    """Just these; none of them means no toolset at all."""

    names: tuple[str, ...]


ToolsetChoice: TypeAlias = AllToolsets | TheseToolsets


@dataclass(frozen=True)
class Selection:
    """As it was written: names stay text until they meet a board, because tools come and go."""

    toolsets: ToolsetChoice = field(default_factory=AllToolsets)
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True)
class SelectedTools:
    tools: frozenset[ToolId]
    unknown: tuple[UnknownReference, ...] = ()
    toolsets: frozenset[ToolsetId] = frozenset()
    """Those chosen whole, known before their tools are."""


def parse_toolsets(names: Iterable[str]) -> ToolsetChoice:
    """`all` among the names means every toolset, whatever else is named."""
    listed: dict[str, str] = {}
    for name in names:
        listed.setdefault(name.strip().lower(), name.strip())
    listed.pop("", None)
    return AllToolsets() if "all" in listed else TheseToolsets(tuple(listed.values()))


def entry_means_tool(text: str, tool: ToolId) -> bool:
    """Whether an entry of a selection is about this tool, be it on the board or not."""
    servers = frozenset({tool.source} if isinstance(tool.source, ServerKey) else ())
    found = find_tools(
        parse_reference(text),
        ToolDirectory((tool,), frozenset({tool.toolset}), servers),
        ReferenceKind.TOOL,
        suggest=False,
    )
    return not isinstance(found, UnknownReference) and bool(found)


def disables_tool(selection: Selection, tool: ToolId) -> bool:
    return any(entry_means_tool(text, tool) for text in selection.disabled)


def select_tools(selection: Selection, within: ToolDirectory) -> SelectedTools:
    chosen: set[ToolId] = set()
    whole: set[ToolsetId] = set()
    unknown: list[UnknownReference] = []

    def find_entry(text: str, kind: ReferenceKind) -> tuple[ToolId, ...]:
        what = find_tools(parse_reference(text), within, kind, suggest=len(unknown) < _MAX_SUGGESTIONS)
        if isinstance(what, UnknownReference):
            unknown.append(what)
            return ()
        return what

    match selection.toolsets:
        case AllToolsets():
            chosen |= within.id_set
            whole |= within.toolsets
        case TheseToolsets(names):
            for name in names:
                match find_toolset(name, within, suggest=len(unknown) < _MAX_SUGGESTIONS):
                    case UnknownReference() as stranger:
                        unknown.append(stranger)
                    case toolset:
                        whole.add(toolset)
                        chosen.update(within.by_toolset.get(toolset, ()))
        case _:
            assert_never(selection.toolsets)
    for text in selection.enabled:
        chosen.update(find_entry(text, ReferenceKind.ENABLED_TOOL))
    for text in selection.disabled:
        chosen.difference_update(find_entry(text, ReferenceKind.DISABLED_TOOL))
    return SelectedTools(frozenset(chosen), tuple(unknown), frozenset(whole))


# Who asks, and how far they narrow what they want to see. A view can only take tools away.


@dataclass(frozen=True)
class View:
    """One caller's question: which tools may I use? Each narrowing runs inside what is chosen for everyone."""

    principal: PrincipalId = LOCAL_PRINCIPAL
    narrowings: tuple[Selection, ...] = ()
    filters: tuple[LaunchFilter, ...] = ()
    """What was said at the launch of whoever asks: by pattern, so that what fits nothing is no error."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Worked out once: what was resolved for a view is looked up by it at every call."""
        return hash((self.principal, self.narrowings, self.filters))

    def __reduce__(self) -> tuple[type["View"], tuple[PrincipalId, tuple[Selection, ...], tuple[LaunchFilter, ...]]]:
        # Text hashes differently in another process, so the hash is left behind.
        return View, (self.principal, self.narrowings, self.filters)

    def narrow(self, by: Selection) -> "View":
        return View(self.principal, (*self.narrowings, by), self.filters)

    def with_filter(self, by: LaunchFilter) -> "View":
        return View(self.principal, self.narrowings, (*self.filters, by)) if by.is_limited else self
