"""Why a view leaves a tool out, for operators: the sentence and the remedy."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, assert_never

from pegboard.core.decision.rules import is_approved, owner_is_known, server_is_reviewed
from pegboard.core.decision.status import ChangedSinceApproval
from pegboard.core.model.databases import DatabaseId, DatabaseTool, enabled_databases
from pegboard.core.model.ids import PrincipalId, ToolId, ToolsetId
from pegboard.core.model.patterns import LaunchBlock, find_launch_block
from pegboard.core.model.references import ToolDirectory
from pegboard.core.model.selection import AllToolsets, SelectedTools, Selection, View, entry_means_tool, select_tools
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.text import shell_word
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import GrantSource, Policy, PrincipalGrants

# What an agent may read of a tool, whatever locks it: law 8 as one function.


def agent_visible_spec(tool: Tool, policy: Policy) -> ToolSpec | None:
    """The definition that a person accepted, if any did. `None`: nothing of it but its name.

    Of all the reasons for which a tool can be locked, only these speak of what may be read; a tool that is switched off
    and was never approved is withheld all the same.
    """
    if server_is_reviewed(tool, None, policy) is not None or owner_is_known(tool, None, policy) is not None:
        return None
    match is_approved(tool, None, policy):
        case None:
            return tool.spec
        case ChangedSinceApproval(_, approved):
            return approved
        case _:
            return None


# The steps by which a view leaves tools out: the board's selection, grants, databases, narrowings, filters.


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
    chosen_elsewhere: Mapping[str, str] = field(default_factory=dict[str, str], compare=False, repr=False)


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
        declared = self.policy.declared
        return HiddenBySelection(declared.selection, declared.selected_at, declared.chosen_elsewhere)

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


_SETTINGS_FILE: Final = "pegboard.yaml"
_MAX_NAMED: Final = 5


def explain_hidden(removed: HiddenReason) -> str:
    match removed:
        case HiddenBySelection():
            return "The board's selection leaves it out."
        case HiddenByGrants(PrincipalGrants(principal, toolsets, by), toolset):
            if by is GrantSource.NOBODY:
                return f"Nobody is called {principal!r} here, and that name is granted nothing."
            if by is GrantSource.UNREADABLE:
                return f"What {principal} may use cannot be read from the store, so it may use nothing."
            return f"{principal} may not use toolset {toolset}: it is granted {_names_text(toolsets, 'toolsets')}."
        case HiddenWithoutDatabase(principal, asked):
            return (
                f"{principal} may ask none of the databases that are on: it may ask {_names_text(asked, 'databases')}."
            )
        case HiddenByNarrowerView(by):
            return f"The request's own narrowing leaves it out: {describe_selection(by)}."
        case HiddenByLaunchFilter(why):
            return f"It is filtered away: {why}."
        case _:
            assert_never(removed)


def explain_hidden_clause(removed: HiddenReason) -> str:
    text = explain_hidden(removed).rstrip(".")
    return text[:1].lower() + text[1:] if text.startswith(("The ", "It ", "Nobody ", "What ")) else text


def hidden_remedy(removed: HiddenReason, tool: ToolId) -> str:
    """An operator's decision is told with its place and what it says now, so that the edit can be made without looking
    it up; what people decided with the command that decides it anew."""
    match removed:
        case HiddenBySelection(at=at) | HiddenWithoutDatabase(at=at):
            return f"This is operator policy: in {file_place(at)}, {suggest_edit(removed, tool)}."
        case HiddenByGrants(PrincipalGrants(by=GrantSource.FILE, at=at)):
            return f"This is operator policy: in {file_place(at)}, {suggest_edit(removed, tool)}."
        case HiddenByGrants(PrincipalGrants(principal, by=GrantSource.NOBODY)):
            return f"Make the name a token: pegboard tokens make{_principal_text(principal)} --scope call"
        case HiddenByGrants(PrincipalGrants(principal, by=GrantSource.UNREADABLE)):
            return (
                "Look at the row: pegboard store check   Or grant anew: pegboard grants "
                f"set{_principal_text(principal)} TOOLSET"
            )
        case HiddenByGrants(limit, toolset):
            told = f"Grant toolset {toolset} to {limit.principal}, under People in Settings or by"
            return (
                f"{told}: pegboard grants set{_principal_text(limit.principal)} {' '.join(grants_with(limit, toolset))}"
            )
        case HiddenByNarrowerView():
            return "Ask without narrowing the request so."
        case HiddenByLaunchFilter(why):
            key = f"{'allow' if why.by is None else 'deny'}_{why.kind}"
            return f"Change {key} of the filter: in pegboard.yaml under prompts, or by its flag."
        case _:
            assert_never(removed)


def grants_with(limit: PrincipalGrants, toolset: ToolsetId) -> tuple[ToolsetId, ...]:
    """What the principal may use now, and this toolset."""
    return tuple(sorted({*limit.toolsets, toolset}))


def suggest_edit(removed: HiddenBySelection | HiddenByGrants | HiddenWithoutDatabase, tool: ToolId) -> str:
    """What to write in the file, as a clause."""
    match removed:
        case HiddenBySelection():
            return " and ".join(_selection_edits(removed, tool))
        case HiddenByGrants(limit, toolset):
            return f"add {toolset} to what {limit.principal} may use (now {_names_text(limit.toolsets, 'toolsets')})"
        case HiddenWithoutDatabase(principal, asked, _, on):
            now = f"under databases of {principal} (now {_names_text(asked, 'databases')})"
            if on:
                return f"name {' or '.join(on)} {now}"
            return f"enable a database, and name it {now}"
        case _:
            assert_never(removed)


def file_place(at: DeclaredAt | None) -> str:
    return _SETTINGS_FILE if at is None else str(at)


def _selection_edits(removed: HiddenBySelection, tool: ToolId) -> Iterable[str]:
    """Every edit that it takes: a toolset that is not chosen, and entries that take the tool away again."""
    selection, id = removed.by, str(tool)
    now = f"(now {describe_selection(selection)})"
    taken = [text for text in selection.disabled if entry_means_tool(text, tool)]
    added = [text for text in selection.enabled if entry_means_tool(text, tool)]
    chosen = selection.toolsets
    whole = isinstance(chosen, AllToolsets) or tool.toolset in (name.strip().lower() for name in chosen.names)
    if not whole and not added:
        yield f"add {tool.toolset} to toolsets under selection {now}"
    if id in taken and (where := removed.chosen_elsewhere.get(id)) is not None:
        # What is left out there is left out of the board by this same list.
        yield f"choose {tool} where {where} is set up, and take it out of disabled_tools under selection too"
        taken.remove(id)
    if taken:
        yield f"take {', '.join(map(repr, taken))} out of disabled_tools under selection {now}"


def _principal_text(principal: str) -> str:
    word = shell_word(principal) or "PRINCIPAL"
    return f" -- {word}" if word.startswith("-") else f" {word}"


def _names_text(names: Collection[str], what: str) -> str:
    """Of many only how many they are: who wants to know which looks under People, or into the file."""
    if len(names) > _MAX_NAMED:
        return f"{len(names)} other {what}"
    return ", ".join(sorted(names)) or "nothing"


def describe_selection(selection: Selection) -> str:
    toolsets = "all" if isinstance(selection.toolsets, AllToolsets) else ", ".join(selection.toolsets.names) or "none"
    parts = [f"toolsets {toolsets}"]
    if selection.enabled:
        parts.append(f"plus {', '.join(selection.enabled)}")
    if selection.disabled:
        parts.append(f"minus {', '.join(selection.disabled)}")
    return ", ".join(parts)
