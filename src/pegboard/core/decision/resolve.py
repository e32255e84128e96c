"""`resolve(catalogue, policy, view)`: a verdict for every tool."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final, TypeAlias

from pegboard.core.decision.facts import overridden_tool_of
from pegboard.core.decision.rules import RULES, SOURCE_RULES, Rule, no_unknown_denial_is_near_it
from pegboard.core.decision.status import LockReason, LockStatus, precedence_of, status_of
from pegboard.core.decision.unknown_names import BUILTIN_IDS, with_suspects
from pegboard.core.decision.visibility import HiddenReason, VisibilityFilter
from pegboard.core.model.catalogue import Catalogue, Health, Listing
from pegboard.core.model.databases import DatabaseId, DatabaseTool
from pegboard.core.model.ids import (
    BUILTIN,
    BuiltinKey,
    LegacyToolId,
    PrincipalId,
    ServerKey,
    ToolId,
    ToolsetId,
    WireName,
    parse_tool_id,
)
from pegboard.core.model.patterns import find_launch_block
from pegboard.core.model.references import ReferenceKind, ToolDirectory, UnknownReference, find_tools, parse_reference
from pegboard.core.model.selection import AllToolsets, View, select_tools
from pegboard.core.model.tool import Tool
from pegboard.core.model.wire_names import (
    NO_APPROVED_TOOLS,
    RESERVED_NAMES,
    ApprovedTools,
    assign_wire_names,
    is_hashed,
)
from pegboard.core.overrides.schema import OverriddenTool
from pegboard.core.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class OpenTool:
    tool: Tool
    confirm: bool = False
    """A person must say yes to each call."""
    overridden_tool: OverriddenTool | None = None
    """What overrides make of its parameters; mostly nothing."""

    @property
    def visible_tool(self) -> Tool:
        """The tool as callers see it. What they must not know of is not in it."""
        return self.tool if self.overridden_tool is None else self.overridden_tool.tool


@dataclass(frozen=True, slots=True)
class LockedTool:
    """Locked for at least one reason; all are kept, so that mending the first shows the next."""

    tool: Tool
    reason: LockReason
    other_reasons: tuple[LockReason, ...] = ()

    @property
    def status(self) -> LockStatus:
        return status_of(self.reason)


@dataclass(frozen=True, slots=True)
class HiddenTool:
    """Outside this caller's view. An agent is not told that it exists."""

    tool: Tool
    reason: HiddenReason


Verdict: TypeAlias = OpenTool | LockedTool | HiddenTool
ListingJudge: TypeAlias = Callable[[Listing, Policy], Mapping[ToolId, OpenTool | LockedTool]]

_BUILTINS: Final = ToolDirectory(BUILTIN_IDS, frozenset({BUILTIN}))


@dataclass(frozen=True)
class Resolution:
    """A verdict for every tool in the catalogue: nothing is dropped on the way."""

    policy_version: int
    view: View
    verdicts: Mapping[ToolId, Verdict]
    names: Mapping[ToolId, WireName]
    """Of everything this caller may know of, open or locked. A locked tool changes the name of no open one."""
    reserved_names: Mapping[WireName, ToolId] = field(default_factory=dict[WireName, ToolId])
    """Names that tools had before. Each still means its tool, and no other."""
    approved_tools: ApprovedTools = NO_APPROVED_TOOLS
    """What people approved of what this caller may know of. Their names are held from the start."""
    unknown_in_selection: tuple[UnknownReference, ...] = ()
    """What the board's own selection names in vain."""
    unknown_in_narrowing: tuple[UnknownReference, ...] = ()
    """What the caller's narrowing names in vain. With any of these, the request is an error."""
    offered_tools: frozenset[ToolId] = field(default_factory=frozenset[ToolId])
    """What a narrowing may choose from."""
    offered_toolsets: frozenset[ToolsetId] = field(default_factory=frozenset[ToolsetId])
    """The same by toolset, known before their tools are."""

    @cached_property
    def by_name(self) -> Mapping[WireName, ToolId]:
        return MappingProxyType({name: id for id, name in self.names.items()})

    def names_of_open_tools(self) -> Mapping[WireName, ToolId]:
        """Those that are held from now on. The name of a tool that was never open to this caller is not."""
        verdicts = self.verdicts
        return {name: id for id, name in self.names.items() if isinstance(verdicts[id], OpenTool)}

    def find_tool(self, name: str) -> ToolId | None:
        """The tool that this caller means: by the name in its list, else as `candidates` tells."""
        id = self.by_name.get(WireName(name))
        if id is not None:
            return id
        found = self.candidates(name)
        return found[0] if len(found) == 1 else None

    def candidates(self, name: str) -> tuple[ToolId, ...]:
        """The tools that a name may mean which is in no list now: a name from before, an id, or a longer name.

        More than one, and it means none of them.
        """
        owner = self.name_owner(name)
        if owner is not None:
            return (owner,) if owner in self.names else ()
        if ":" in name:
            return self._find_by_id(name)
        return self._directory.find_by_longer_name(name) if "__" in name or is_hashed(name) else ()

    def name_owner(self, name: str) -> ToolId | None:
        """Whose a name is even while nobody is shown it. The gateway's own names are no tool's, whatever is listed."""
        if name in RESERVED_NAMES:
            return None
        return self.reserved_names.get(WireName(name)) or self.approved_tools.names.get(WireName(name))

    @cached_property
    def _directory(self) -> ToolDirectory:
        return ToolDirectory(tuple(self.names), frozenset())

    def _find_by_id(self, text: str) -> tuple[ToolId, ...]:
        match parse_tool_id(text):
            case ToolId() as id:
                return (id,) if id in self.names else ()
            case LegacyToolId(server, name):
                keys = sorted((key for key in self._directory.by_server if key.server == server), key=str)
                ids = [ToolId(key, name) for key in keys]
                return tuple(ids if len(ids) > 1 else filter(self.names.__contains__, ids))
            case _:
                return ()

    @cached_property
    def open_ids(self) -> tuple[ToolId, ...]:
        return tuple([id for id, verdict in self.verdicts.items() if isinstance(verdict, OpenTool)])

    @cached_property
    def open_builtins(self) -> tuple[ToolId, ...]:
        return tuple([id for id in self.open_ids if isinstance(id.source, BuiltinKey)])

    @cached_property
    def locked_ids(self) -> tuple[ToolId, ...]:
        return tuple([id for id, verdict in self.verdicts.items() if isinstance(verdict, LockedTool)])

    def open_tools(self) -> Iterator[Tool]:
        return (verdict.tool for verdict in self.verdicts.values() if isinstance(verdict, OpenTool))

    def locked_tools(self) -> Iterator[LockedTool]:
        return (verdict for verdict in self.verdicts.values() if isinstance(verdict, LockedTool))


def judge_listing(listing: Listing, policy: Policy) -> Mapping[ToolId, OpenTool | LockedTool]:
    """The verdicts of one provider's tools, whoever asks. A pure function of its arguments, so it may be remembered."""
    if not listing.tools:
        return {}
    source, sample = listing.tools[0].id.source, listing.tools[0]
    health = listing.effective_health
    silent = {rule for rule in SOURCE_RULES if rule(sample, health, policy) is None}
    if not policy.suspects:
        silent.add(no_unknown_denial_is_near_it)
    rules = tuple(rule for rule in RULES if rule not in silent)
    return {
        tool.id: judge_tool(tool, health, policy, rules if tool.id.source == source else RULES)
        for tool in listing.tools
    }


def judge_tool(
    tool: Tool, health: Health | None, policy: Policy, rules: tuple[Rule, ...] = RULES
) -> OpenTool | LockedTool:
    reasons = [reason for rule in rules if (reason := rule(tool, health, policy)) is not None]
    if not reasons:
        return OpenTool(tool, policy.overrides.requires_confirmation(tool.id), overridden_tool_of(tool, policy))
    first, *more = sorted(reasons, key=precedence_of)
    return LockedTool(tool, first, tuple(more))


def resolve_single(verdict: OpenTool | LockedTool, name: WireName, policy: Policy, view: View) -> Resolution:
    """Of one tool that hangs on no board, for the gate: its own verdict, under the name that its caller uses."""
    id = verdict.tool.id
    return Resolution(policy.version, view, {id: verdict}, {id: name})


def build_directory(catalogue: Catalogue, policy: Policy) -> ToolDirectory:
    servers = {source for source in catalogue.listings if isinstance(source, ServerKey)}
    return ToolDirectory(
        ids=tuple(catalogue.tools),
        toolsets=frozenset({*policy.toolsets, *(source.toolset for source in catalogue.listings)}),
        servers=frozenset({*servers, *(key for key in policy.servers if isinstance(key, ServerKey))}),
    )


def build_visibility_filter(catalogue: Catalogue, policy: Policy, view: View) -> VisibilityFilter:
    everyone, policy = build_directory(catalogue, policy), with_suspects(catalogue, policy)
    chosen = select_tools(policy.declared.selection, everyone)
    limit = policy.grants_of(view.principal)
    granted = None if limit is None else limit.toolsets
    reach = chosen.tools if granted is None else frozenset(id for id in chosen.tools if id.toolset in granted)
    asked = policy.allowed_databases(view.principal)
    limited = {} if asked is None else _narrow_database_tools(catalogue, asked)
    reach -= frozenset(id for id, tool in limited.items() if not tool.databases)
    offered = _offered_directory(everyone, reach, chosen.toolsets if granted is None else chosen.toolsets & granted)
    narrowed = tuple((narrowing, select_tools(narrowing, offered)) for narrowing in view.narrowings)
    return VisibilityFilter(view, policy, everyone, chosen, limit, limited, reach, offered, narrowed)


def filter_for_principal(way: VisibilityFilter, catalogue: Catalogue, principal: PrincipalId) -> VisibilityFilter:
    """The same request by another caller, of a tool that `way` lets through: good for `removals` of it alone."""
    asked = way.policy.allowed_databases(principal)
    limited = {} if asked is None else _narrow_database_tools(catalogue, asked)
    view = replace(way.view, principal=principal)
    return replace(way, view=view, grants=way.policy.grants_of(principal), narrowed_tools=limited)


def resolve(
    catalogue: Catalogue,
    policy: Policy,
    view: View,
    *,
    judge: ListingJudge = judge_listing,
    held: Mapping[WireName, ToolId] = MappingProxyType({}),
) -> Resolution:
    """`held` are the names under which tools were open to this caller before: a name never moves from one tool to
    another, and calls under it go on reaching the tool that had it."""
    way = build_visibility_filter(catalogue, policy, view)
    policy = way.policy
    everyone, offered, narrowed, limited = (
        way.directory,
        way.offered_directory,
        way.narrowing_selections,
        way.narrowed_tools,
    )
    untouched = not narrowed and not view.filters and len(way.reachable) == len(everyone.ids)
    verdicts: dict[ToolId, Verdict] = {}
    for listing in catalogue.listings.values():
        judged = judge(listing, policy)
        for tool in listing.tools:
            removed = None if untouched else way.hidden_reason(tool.id)
            if removed is not None:
                verdicts[tool.id] = HiddenTool(tool, removed)
            elif (own := limited.get(tool.id, tool)) is tool:
                verdicts[tool.id] = judged[tool.id]
            else:
                verdicts[tool.id] = judge_tool(own, listing.effective_health, policy)
    present = [id for id, verdict in verdicts.items() if not isinstance(verdict, HiddenTool)]
    locked = {id for id, verdict in verdicts.items() if isinstance(verdict, LockedTool)}
    known = _approved_in_view(policy, view, verdicts, everyone)
    return Resolution(
        policy_version=policy.version,
        view=view,
        verdicts=verdicts,
        names=assign_wire_names(present, held, locked=locked, vouched=known),
        reserved_names=held,
        approved_tools=known,
        unknown_in_selection=tuple(filter(_is_unknown, way.selection.unknown)),
        unknown_in_narrowing=tuple(
            unknown for _, selected in narrowed for unknown in filter(_is_unknown, selected.unknown)
        ),
        offered_tools=offered.id_set,
        offered_toolsets=offered.toolsets,
    )


def _is_unknown(entry: UnknownReference) -> bool:
    """A denial of a built-in that is not on the board is none: `builtin_verdict` heeds it."""
    if entry.kind is not ReferenceKind.DISABLED_TOOL:
        return True
    found = find_tools(parse_reference(entry.text), _BUILTINS, entry.kind, suggest=False)
    return isinstance(found, UnknownReference) or not found


def _narrow_database_tools(catalogue: Catalogue, asked: frozenset[DatabaseId]) -> Mapping[ToolId, DatabaseTool]:
    """The tools over databases, as somebody sees them who may ask these alone."""
    listing = catalogue.listings.get(BuiltinKey())
    tools = () if listing is None else listing.tools
    return {tool.id: tool.narrow_to(asked) for tool in tools if isinstance(tool, DatabaseTool)}


def _approved_in_view(
    policy: Policy, view: View, verdicts: Mapping[ToolId, Verdict], everyone: ToolDirectory
) -> ApprovedTools:
    """Those that this view has; of those that are gone, the ones that it would have."""
    vouched, selection, granted = (
        policy.approved_tools,
        policy.declared.selection,
        policy.granted_toolsets(view.principal),
    )
    whole = isinstance(selection.toolsets, AllToolsets) and not selection.disabled
    if not vouched.ids or (whole and granted is None and not view.narrowings and not view.filters):
        return vouched
    seen = {id for id in vouched.ids if id in verdicts and not isinstance(verdicts[id], HiddenTool)}
    gone = [id for id in vouched.ids if id not in verdicts and (granted is None or id.toolset in granted)]
    if gone:
        within = ToolDirectory(tuple(gone), everyone.toolsets, everyone.servers)
        kept = [select_tools(each, within).tools for each in (selection, *view.narrowings)]
        seen.update(id for id in frozenset.intersection(*kept) if find_launch_block(view.filters, id) is None)
    return vouched if len(seen) == len(vouched.ids) else ApprovedTools(tuple([id for id in vouched.ids if id in seen]))


def _offered_directory(everyone: ToolDirectory, reach: frozenset[ToolId], whole: frozenset[ToolsetId]) -> ToolDirectory:
    """What a request may name. What has listed nothing yet counts by its toolset: a server that is still starting
    must not make a request an error."""
    if len(reach) == len(everyone.ids) and whole == everyone.toolsets:
        return everyone
    ids = tuple([id for id in everyone.ids if id in reach])
    toolsets = {id.toolset for id in ids}
    servers = {id.source for id in ids if isinstance(id.source, ServerKey)}
    return ToolDirectory(
        ids=ids,
        toolsets=frozenset(toolsets | {id for id in whole if id not in everyone.by_toolset}),
        servers=frozenset(
            servers | {key for key in everyone.servers if key.toolset in whole and key not in everyone.by_server}
        ),
    )
