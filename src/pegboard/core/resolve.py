"""The one question of the whole product: for this caller, now, which tools are open, and why not the others?"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final, TypeAlias

from .catalogue import Catalogue, Health, Listing
from .database.source import DatabaseTool, SourceId
from .ids import BUILTIN, BuiltinKey, LegacyToolId, PrincipalId, ServerKey, ToolId, ToolsetId, WireName, tool_id
from .launch import barring
from .naming import RESERVED, is_hashed, wire_names
from .passage import Passage, Removal
from .policy import Policy
from .reference import Directory, Kind, Unknown, find, reference
from .rules import RULES, SOURCE_RULES, Rule, no_unknown_denial_is_near_it, shape_of
from .selection import Everything, select
from .shaping import Shaped
from .status import Reason, Status, precedence, status
from .tool import Tool
from .unknown_names import BUILTIN_IDS, with_suspects
from .view import View
from .vouched import NOBODY, Vouched


@dataclass(frozen=True, slots=True)
class Open:
    tool: Tool
    confirm: bool = False
    """A person must say yes to each call."""
    shape: Shaped | None = None
    """What overrides make of its parameters; mostly nothing."""

    @property
    def shown(self) -> Tool:
        """The tool as callers see it. What they must not know of is not in it."""
        return self.tool if self.shape is None else self.shape.tool


@dataclass(frozen=True, slots=True)
class Locked:
    """Locked for at least one reason; all are kept, so that mending the first shows the next."""

    tool: Tool
    reason: Reason
    more: tuple[Reason, ...] = ()

    @property
    def status(self) -> Status:
        return status(self.reason)


@dataclass(frozen=True, slots=True)
class Absent:
    """Outside this caller's view. An agent is not told that it exists."""

    tool: Tool
    removed: Removal


Verdict: TypeAlias = Open | Locked | Absent
Judge: TypeAlias = Callable[[Listing, Policy], Mapping[ToolId, Open | Locked]]

_BUILTINS: Final = Directory(BUILTIN_IDS, frozenset({BUILTIN}))


@dataclass(frozen=True)
class Resolution:
    """A verdict for every tool in the catalogue: nothing is dropped on the way."""

    policy_version: int
    view: View
    verdicts: Mapping[ToolId, Verdict]
    names: Mapping[ToolId, WireName]
    """Of everything this caller may know of, open or locked. A locked tool changes the name of no open one."""
    held: Mapping[WireName, ToolId] = field(default_factory=dict[WireName, ToolId])
    """Names that tools had before. Each still means its tool, and no other."""
    vouched: Vouched = NOBODY
    """What people approved of what this caller may know of. Their names are held from the start."""
    unknown: tuple[Unknown, ...] = ()
    """What the board's own selection names in vain."""
    refused: tuple[Unknown, ...] = ()
    """What the caller's narrowing names in vain. With any of these, the request is an error."""
    offered: frozenset[ToolId] = field(default_factory=frozenset[ToolId])
    """What a narrowing may choose from."""
    offered_toolsets: frozenset[ToolsetId] = field(default_factory=frozenset[ToolsetId])
    """The same by toolset, known before their tools are."""

    @cached_property
    def by_name(self) -> Mapping[WireName, ToolId]:
        return MappingProxyType({name: id for id, name in self.names.items()})

    def open_names(self) -> Mapping[WireName, ToolId]:
        """Those that are held from now on. The name of a tool that was never open to this caller is not."""
        verdicts = self.verdicts
        return {name: id for id, name in self.names.items() if isinstance(verdicts[id], Open)}

    def called(self, name: str) -> ToolId | None:
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
        owner = self.owner(name)
        if owner is not None:
            return (owner,) if owner in self.names else ()
        if ":" in name:
            return self._with_id(name)
        return self._known.by_longer_name(name) if "__" in name or is_hashed(name) else ()

    def owner(self, name: str) -> ToolId | None:
        """Whose a name is even while nobody is shown it. The gateway's own names are no tool's, whatever is listed."""
        if name in RESERVED:
            return None
        return self.held.get(WireName(name)) or self.vouched.names.get(WireName(name))

    @cached_property
    def _known(self) -> Directory:
        return Directory(tuple(self.names), frozenset())

    def _with_id(self, text: str) -> tuple[ToolId, ...]:
        match tool_id(text):
            case ToolId() as id:
                return (id,) if id in self.names else ()
            case LegacyToolId(server, name):
                keys = sorted((key for key in self._known.by_server if key.server == server), key=str)
                ids = [ToolId(key, name) for key in keys]
                return tuple(ids if len(ids) > 1 else filter(self.names.__contains__, ids))
            case _:
                return ()

    @cached_property
    def open_ids(self) -> tuple[ToolId, ...]:
        return tuple([id for id, verdict in self.verdicts.items() if isinstance(verdict, Open)])

    @cached_property
    def open_builtins(self) -> tuple[ToolId, ...]:
        return tuple([id for id in self.open_ids if isinstance(id.source, BuiltinKey)])

    @cached_property
    def locked_ids(self) -> tuple[ToolId, ...]:
        return tuple([id for id, verdict in self.verdicts.items() if isinstance(verdict, Locked)])

    def open(self) -> Iterator[Tool]:
        return (verdict.tool for verdict in self.verdicts.values() if isinstance(verdict, Open))

    def locked(self) -> Iterator[Locked]:
        return (verdict for verdict in self.verdicts.values() if isinstance(verdict, Locked))


def judge(listing: Listing, policy: Policy) -> Mapping[ToolId, Open | Locked]:
    """The verdicts of one provider's tools, whoever asks. A pure function of its arguments, so it may be remembered."""
    if not listing.tools:
        return {}
    source, sample = listing.tools[0].id.source, listing.tools[0]
    health = listing.reach
    silent = {rule for rule in SOURCE_RULES if rule(sample, health, policy) is None}
    if not policy.suspects:
        silent.add(no_unknown_denial_is_near_it)
    rules = tuple(rule for rule in RULES if rule not in silent)
    return {
        tool.id: verdict_on(tool, health, policy, rules if tool.id.source == source else RULES)
        for tool in listing.tools
    }


def verdict_on(tool: Tool, health: Health | None, policy: Policy, rules: tuple[Rule, ...] = RULES) -> Open | Locked:
    reasons = [reason for rule in rules if (reason := rule(tool, health, policy)) is not None]
    if not reasons:
        return Open(tool, policy.overrides.confirms(tool.id), shape_of(tool, policy))
    first, *more = sorted(reasons, key=precedence)
    return Locked(tool, first, tuple(more))


def alone(verdict: Open | Locked, name: WireName, policy: Policy, view: View) -> Resolution:
    """Of one tool that hangs on no board, for the gate: its own verdict, under the name that its caller uses."""
    id = verdict.tool.id
    return Resolution(policy.version, view, {id: verdict}, {id: name})


def directory(catalogue: Catalogue, policy: Policy) -> Directory:
    servers = {source for source in catalogue.listings if isinstance(source, ServerKey)}
    return Directory(
        ids=tuple(catalogue.tools),
        toolsets=frozenset({*policy.toolsets, *(source.toolset for source in catalogue.listings)}),
        servers=frozenset({*servers, *(key for key in policy.servers if isinstance(key, ServerKey))}),
    )


def passage(catalogue: Catalogue, policy: Policy, view: View) -> Passage:
    everyone, policy = directory(catalogue, policy), with_suspects(catalogue, policy)
    chosen = select(policy.declared.selection, everyone)
    limit = policy.limit(view.principal)
    granted = None if limit is None else limit.toolsets
    reach = chosen.tools if granted is None else frozenset(id for id in chosen.tools if id.toolset in granted)
    asked = policy.asks(view.principal)
    limited = {} if asked is None else _limited(catalogue, asked)
    reach -= frozenset(id for id, tool in limited.items() if not tool.databases)
    offered = _offered(everyone, reach, chosen.toolsets if granted is None else chosen.toolsets & granted)
    narrowed = tuple((narrowing, select(narrowing, offered)) for narrowing in view.narrowings)
    return Passage(view, policy, everyone, chosen, limit, limited, reach, offered, narrowed)


def for_another(way: Passage, catalogue: Catalogue, principal: PrincipalId) -> Passage:
    """The same request by another caller, of a tool that `way` lets through: good for `removals` of it alone."""
    asked = way.policy.asks(principal)
    limited = {} if asked is None else _limited(catalogue, asked)
    view = replace(way.view, principal=principal)
    return replace(way, view=view, limit=way.policy.limit(principal), limited=limited)


def resolve(
    catalogue: Catalogue,
    policy: Policy,
    view: View,
    *,
    judge: Judge = judge,
    held: Mapping[WireName, ToolId] = MappingProxyType({}),
) -> Resolution:
    """`held` are the names under which tools were open to this caller before: a name never moves from one tool to
    another, and calls under it go on reaching the tool that had it."""
    way = passage(catalogue, policy, view)
    policy = way.policy
    everyone, offered, narrowed, limited = way.everyone, way.offered, way.narrowed, way.limited
    untouched = not narrowed and not view.filters and len(way.reach) == len(everyone.ids)
    verdicts: dict[ToolId, Verdict] = {}
    for listing in catalogue.listings.values():
        judged = judge(listing, policy)
        for tool in listing.tools:
            removed = None if untouched else way.removal(tool.id)
            if removed is not None:
                verdicts[tool.id] = Absent(tool, removed)
            elif (own := limited.get(tool.id, tool)) is tool:
                verdicts[tool.id] = judged[tool.id]
            else:
                verdicts[tool.id] = verdict_on(own, listing.reach, policy)
    present = [id for id, verdict in verdicts.items() if not isinstance(verdict, Absent)]
    locked = {id for id, verdict in verdicts.items() if isinstance(verdict, Locked)}
    known = _known(policy, view, verdicts, everyone)
    return Resolution(
        policy_version=policy.version,
        view=view,
        verdicts=verdicts,
        names=wire_names(present, held, locked=locked, vouched=known),
        held=held,
        vouched=known,
        unknown=tuple(filter(_is_unknown, way.chosen.unknown)),
        refused=tuple(unknown for _, selected in narrowed for unknown in filter(_is_unknown, selected.unknown)),
        offered=offered.known,
        offered_toolsets=offered.toolsets,
    )


def _is_unknown(entry: Unknown) -> bool:
    """A denial of a built-in that is not on the board is none: `builtin_verdict` heeds it."""
    if entry.kind is not Kind.DISABLED_TOOL:
        return True
    found = find(reference(entry.text), _BUILTINS, entry.kind, suggest=False)
    return isinstance(found, Unknown) or not found


def _limited(catalogue: Catalogue, asked: frozenset[SourceId]) -> Mapping[ToolId, DatabaseTool]:
    """The tools over databases, as somebody sees them who may ask these alone."""
    listing = catalogue.listings.get(BuiltinKey())
    tools = () if listing is None else listing.tools
    return {tool.id: tool.within(asked) for tool in tools if isinstance(tool, DatabaseTool)}


def _known(policy: Policy, view: View, verdicts: Mapping[ToolId, Verdict], everyone: Directory) -> Vouched:
    """Those that this view has; of those that are gone, the ones that it would have."""
    vouched, selection, granted = policy.vouched, policy.declared.selection, policy.granted(view.principal)
    whole = isinstance(selection.toolsets, Everything) and not selection.disabled
    if not vouched.ids or (whole and granted is None and not view.narrowings and not view.filters):
        return vouched
    seen = {id for id in vouched.ids if id in verdicts and not isinstance(verdicts[id], Absent)}
    gone = [id for id in vouched.ids if id not in verdicts and (granted is None or id.toolset in granted)]
    if gone:
        within = Directory(tuple(gone), everyone.toolsets, everyone.servers)
        kept = [select(each, within).tools for each in (selection, *view.narrowings)]
        seen.update(id for id in frozenset.intersection(*kept) if barring(view.filters, id) is None)
    return vouched if len(seen) == len(vouched.ids) else Vouched(tuple([id for id in vouched.ids if id in seen]))


def _offered(everyone: Directory, reach: frozenset[ToolId], whole: frozenset[ToolsetId]) -> Directory:
    """What a request may name. What has listed nothing yet counts by its toolset: a server that is still starting
    must not make a request an error."""
    if len(reach) == len(everyone.ids) and whole == everyone.toolsets:
        return everyone
    ids = tuple([id for id in everyone.ids if id in reach])
    toolsets = {id.toolset for id in ids}
    servers = {id.source for id in ids if isinstance(id.source, ServerKey)}
    return Directory(
        ids=ids,
        toolsets=frozenset(toolsets | {id for id in whole if id not in everyone.by_toolset}),
        servers=frozenset(
            servers | {key for key in everyone.servers if key.toolset in whole and key not in everyone.by_server}
        ),
    )
