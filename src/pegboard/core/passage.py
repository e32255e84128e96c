"""The steps by which a view leaves tools out: the board's selection, grants, databases, narrowings, filters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from .database.source import DatabaseId, DatabaseTool, enabled_databases
from .ids import PrincipalId, ToolId, ToolsetId
from .launch import LaunchBlock, find_launch_block
from .policy import Policy, PrincipalGrants
from .reference import ToolDirectory
from .selection import SelectedTools, Selection, select_tools
from .server import DeclaredAt
from .view import View


@dataclass(frozen=True, slots=True)
class HiddenByGrants:
    """The principal's grants do not cover the tool's toolset."""

    grants: PrincipalGrants
    toolset: ToolsetId


@dataclass(frozen=True, slots=True)
class HiddenBySelection:
    """The board's own selection leaves it out."""

    by: Selection
    at: DeclaredAt | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class HiddenByNarrowerView:
    """The caller's own narrowing leaves it out."""

    by: Selection


@dataclass(frozen=True, slots=True)
class HiddenByLaunchFilter:
    """The launch filter of whoever asks leaves it out."""

    block: LaunchBlock


@dataclass(frozen=True, slots=True)
class HiddenWithoutDatabase:
    """The principal may ask none of the databases that it is over."""

    principal: PrincipalId
    allowed_databases: frozenset[DatabaseId]
    at: DeclaredAt | None = field(default=None, compare=False)
    databases: tuple[DatabaseId, ...] = field(default=(), compare=False)
    """Those that it could be given."""


HiddenReason: TypeAlias = (
    HiddenByGrants | HiddenBySelection | HiddenByNarrowerView | HiddenByLaunchFilter | HiddenWithoutDatabase
)


@dataclass(frozen=True)
class VisibilityFilter:
    """The steps by which a view leaves tools out, each with what it lets through."""

    view: View
    policy: Policy
    directory: ToolDirectory
    selection: SelectedTools
    grants: PrincipalGrants | None
    narrowed_tools: Mapping[ToolId, DatabaseTool]
    """The tools over databases, as this caller sees them."""
    reachable: frozenset[ToolId]
    """What a narrowing may choose from."""
    offered_directory: ToolDirectory
    narrowing_selections: tuple[tuple[Selection, SelectedTools], ...]

    def hidden_reason(self, id: ToolId) -> HiddenReason | None:
        """The first step that leaves it out."""
        if id not in self.reachable:
            return self._reason_out_of_reach(id)
        for narrowing, selected in self.narrowing_selections:
            if id not in selected.tools:
                return HiddenByNarrowerView(narrowing)
        if self.view.filters and (barred := find_launch_block(self.view.filters, id)) is not None:
            return HiddenByLaunchFilter(barred)
        return None

    def hidden_reasons(self, id: ToolId) -> tuple[HiddenReason, ...]:
        """Every step that leaves it out, as if those before had let it through."""
        found: list[HiddenReason] = []
        if id not in self.selection.tools:
            found.append(self._selection_reason)
        if self.grants is not None and id.toolset not in self.grants.toolsets:
            found.append(self._grants_reason(id.toolset))
        if self._is_sourceless(id):
            found.append(self._database_reason)
        within = self.narrowing_selections if id in self.reachable else self._unbounded_narrowings
        found += [HiddenByNarrowerView(narrowing) for narrowing, selected in within if id not in selected.tools]
        if self.view.filters and (barred := find_launch_block(self.view.filters, id)) is not None:
            found.append(HiddenByLaunchFilter(barred))
        return tuple(found)

    def _reason_out_of_reach(self, id: ToolId) -> HiddenReason:
        if id not in self.selection.tools:
            return self._selection_reason
        if self._is_sourceless(id) and (self.grants is None or id.toolset in self.grants.toolsets):
            return self._database_reason
        return self._grants_reason(id.toolset)

    def _is_sourceless(self, id: ToolId) -> bool:
        return (tool := self.narrowed_tools.get(id)) is not None and not tool.databases

    def _grants_reason(self, toolset: ToolsetId) -> HiddenByGrants:
        assert self.grants is not None, "without a limit everything is granted"
        return self._grants_reasons.setdefault(toolset, HiddenByGrants(self.grants, toolset))

    @cached_property
    def _grants_reasons(self) -> dict[ToolsetId, HiddenByGrants]:
        return {}

    @cached_property
    def _selection_reason(self) -> HiddenBySelection:
        return HiddenBySelection(self.policy.declared.selection, self.policy.declared.selected_at)

    @cached_property
    def _database_reason(self) -> HiddenWithoutDatabase:
        principal = self.view.principal
        declared = self.policy.declared.principals.get(principal)
        asked = self.policy.allowed_databases(principal) or frozenset()
        on = tuple(enabled_databases(self.policy.declared.databases))
        return HiddenWithoutDatabase(principal, asked, None if declared is None else declared.at, on)

    @cached_property
    def _unbounded_narrowings(self) -> tuple[tuple[Selection, SelectedTools], ...]:
        """The narrowings over everything: what they would say of what is not offered to them."""
        return tuple((narrowing, select_tools(narrowing, self.directory)) for narrowing in self.view.narrowings)
