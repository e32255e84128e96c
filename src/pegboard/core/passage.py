"""The steps by which a view leaves tools out: the board's selection, grants, databases, narrowings, filters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from .database.source import DatabaseTool, SourceId, enabled_databases
from .ids import PrincipalId, ToolId, ToolsetId
from .launch import Barred, barring
from .policy import Limit, Policy
from .reference import Directory
from .selection import Selected, Selection, select
from .server import DeclaredAt
from .view import View


@dataclass(frozen=True, slots=True)
class NotGranted:
    """The principal's grants do not cover the tool's toolset."""

    limit: Limit
    toolset: ToolsetId


@dataclass(frozen=True, slots=True)
class NotSelected:
    """The board's own selection leaves it out."""

    by: Selection
    at: DeclaredAt | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NarrowedAway:
    """The caller's own narrowing leaves it out."""

    by: Selection


@dataclass(frozen=True, slots=True)
class FilteredAway:
    """The launch filter of whoever asks leaves it out."""

    why: Barred


@dataclass(frozen=True, slots=True)
class NoDatabase:
    """The principal may ask none of the databases that it is over."""

    principal: PrincipalId
    asked: frozenset[SourceId]
    at: DeclaredAt | None = field(default=None, compare=False)
    on: tuple[SourceId, ...] = field(default=(), compare=False)
    """Those that it could be given."""


Removal: TypeAlias = NotGranted | NotSelected | NarrowedAway | FilteredAway | NoDatabase


@dataclass(frozen=True)
class Passage:
    """The steps by which a view leaves tools out, each with what it lets through."""

    view: View
    policy: Policy
    everyone: Directory
    chosen: Selected
    limit: Limit | None
    limited: Mapping[ToolId, DatabaseTool]
    """The tools over databases, as this caller sees them."""
    reach: frozenset[ToolId]
    """What a narrowing may choose from."""
    offered: Directory
    narrowed: tuple[tuple[Selection, Selected], ...]

    def removal(self, id: ToolId) -> Removal | None:
        """The first step that leaves it out."""
        if id not in self.reach:
            return self._beyond(id)
        for narrowing, selected in self.narrowed:
            if id not in selected.tools:
                return NarrowedAway(narrowing)
        if self.view.filters and (barred := barring(self.view.filters, id)) is not None:
            return FilteredAway(barred)
        return None

    def removals(self, id: ToolId) -> tuple[Removal, ...]:
        """Every step that leaves it out, as if those before had let it through."""
        found: list[Removal] = []
        if id not in self.chosen.tools:
            found.append(self._unselected)
        if self.limit is not None and id.toolset not in self.limit.toolsets:
            found.append(self._ungranted(id.toolset))
        if self._is_sourceless(id):
            found.append(self._without_database)
        within = self.narrowed if id in self.reach else self._wide
        found += [NarrowedAway(narrowing) for narrowing, selected in within if id not in selected.tools]
        if self.view.filters and (barred := barring(self.view.filters, id)) is not None:
            found.append(FilteredAway(barred))
        return tuple(found)

    def _beyond(self, id: ToolId) -> Removal:
        if id not in self.chosen.tools:
            return self._unselected
        if self._is_sourceless(id) and (self.limit is None or id.toolset in self.limit.toolsets):
            return self._without_database
        return self._ungranted(id.toolset)

    def _is_sourceless(self, id: ToolId) -> bool:
        return (tool := self.limited.get(id)) is not None and not tool.databases

    def _ungranted(self, toolset: ToolsetId) -> NotGranted:
        assert self.limit is not None, "without a limit everything is granted"
        return self._ungranted_by.setdefault(toolset, NotGranted(self.limit, toolset))

    @cached_property
    def _ungranted_by(self) -> dict[ToolsetId, NotGranted]:
        return {}

    @cached_property
    def _unselected(self) -> NotSelected:
        return NotSelected(self.policy.declared.selection, self.policy.declared.selected_at)

    @cached_property
    def _without_database(self) -> NoDatabase:
        principal = self.view.principal
        declared = self.policy.declared.principals.get(principal)
        asked = self.policy.asks(principal) or frozenset()
        on = tuple(enabled_databases(self.policy.declared.databases))
        return NoDatabase(principal, asked, None if declared is None else declared.at, on)

    @cached_property
    def _wide(self) -> tuple[tuple[Selection, Selected], ...]:
        """The narrowings over everything: what they would say of what is not offered to them."""
        return tuple((narrowing, select(narrowing, self.everyone)) for narrowing in self.view.narrowings)
