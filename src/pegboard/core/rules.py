"""The rules. A rule can lock a tool, or say nothing; no rule can unlock what another one locked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias, assert_never

from .argument import ArgumentOverride
from .catalogue import Health, ProviderAsleep, ProviderDown, ProviderNeedsSignIn, ProviderOff, ProviderStart, ProviderUp
from .characters import is_deceptive_name
from .ids import BuiltinKey, ServerKey, SourceKey, ToolId, ToolsetKey
from .pattern import Pattern, matches_glob, parse_pattern
from .policy import Policy
from .server import AllButTools, DeclaredAt, EveryTool, OnlyTools, Server, Trust
from .shaping import OverriddenTool, override_tool
from .status import (
    ChangedSinceApproval,
    DeniedByOverride,
    DeniedByPattern,
    DeniedByToolFilter,
    LockReason,
    NearUnknownDenial,
    NoApproval,
    OwnerOff,
    ProviderUnavailable,
    ServerInQuarantine,
    SwitchedOff,
    UndeterminedState,
    UnreadableDecision,
    UnusableOverride,
)
from .tool import Tool
from .values import problems_of_values

Rule: TypeAlias = Callable[[Tool, Health | None, Policy], LockReason | None]
"""Looks at one tool, the health of its provider, and what people decided."""


def owner_is_on(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    return find_owner_off(tool.id.source, policy)


def owner_is_known(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    """A tool of a server or toolset that no policy names is nobody's: it stays locked."""
    match tool.id.source:
        case ServerKey() as key if key not in policy.servers:
            return UndeterminedState(tool.id, f"no server {key} is declared or installed")
        case ToolsetKey(toolset) if toolset not in policy.toolsets:
            return UndeterminedState(tool.id, f"no toolset {toolset!r} is declared or installed")
        case ToolsetKey(toolset) as key if key not in policy.servers:
            return UndeterminedState(tool.id, f"toolset {toolset!r} brings no tools of its own")
        case _:
            return None


def server_is_reviewed(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    server = _server(tool, policy)
    return None if server is None else find_quarantine(server)


def limit_lets_it(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    server = _server(tool, policy)
    if server is None:
        return None
    match server.limit:
        case EveryTool():
            return None
        case OnlyTools(names, at):
            if not _is_among(tool, names):
                return DeniedByToolFilter(tool.id, "not among the enabled_tools", at or server.origin)
        case AllButTools(names, at):
            if _is_among(tool, names):
                return DeniedByToolFilter(tool.id, "among the disabled_tools", at or server.origin)
        case _:
            assert_never(server.limit)
    return None


def no_pattern_denies_it(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    fitting = policy.deny_patterns.matching_indexes(tool.id)
    if not fitting:
        return None
    denial = policy.declared.denials[fitting[0]]
    return DeniedByPattern(tool.id, denial.pattern, denial.at)


def no_declared_override_denies_it(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    if not policy.declared_overrides.disables(tool.id):
        return None
    said = policy.declared_overrides.for_tool(tool.id).origin["enabled"].origin("enabled")
    return DeniedByOverride(tool.id, said if isinstance(said, DeclaredAt) else None)


def is_switched_on(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    """The tool's own switch is the nearest; without one, an override may hide it that is not the operator's."""
    switch = policy.decisions.switches.get(tool.id)
    if switch is not None:
        return None if switch.is_on else SwitchedOff(tool.id, switch)
    row = policy.overrides.disabling_override(tool.id)
    return None if row is None or row.is_declared else SwitchedOff(tool.id, None, row.from_manifest)


def overrides_fit_it(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    """A pin that does not hold, or a parameter that cannot be hidden, would leave callers a say they must not have."""
    shape = overridden_tool_of(tool, policy)
    return None if shape is None or shape.is_applicable else UnusableOverride(tool.id, shape.is_operators, shape.at)


def is_approved(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    """First sight is no case here: the gateway approves what it sees first, by a command with an author."""
    server = _server(tool, policy)
    if server is None:
        return None
    # What people write of tools (denials, overrides, selections) goes by their names: one that reads like another is
    # approved by a person even where its server is trusted openly.
    if policy.trust(server) is Trust.OPEN and not is_deceptive_name(tool.id.name):
        return None
    approval = policy.decisions.approvals.get(tool.id)
    if approval is None:
        row = policy.decisions.unreadable_index.approval(tool.id)
        return NoApproval(tool.id) if row is None else UnreadableDecision(tool.id, row)
    if approval.fingerprint != tool.spec.fingerprint:
        return ChangedSinceApproval(tool.id, approval.spec, tool.spec)
    return None


def decisions_are_readable(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    """An unreadable row may have closed the tool, so it counts as closed. Of its approval `is_approved` tells."""
    row = policy.decisions.unreadable_index.row_locking(tool.id)
    return None if row is None else UnreadableDecision(tool.id, row)


def provider_is_up(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    if policy.decisions.unreadable_index.row_stopping(tool.id.source) is not None:
        return None  # it was not started for that reason, which is told by another rule
    match health:
        case ProviderUp() | ProviderAsleep():
            return None
        case ProviderStart() | ProviderDown() | ProviderNeedsSignIn() | ProviderOff():
            return ProviderUnavailable(tool.id.source, health)
        case None:
            source = tool.id.source
            server = source if not isinstance(source, BuiltinKey) and source in policy.servers else None
            return UndeterminedState(tool.id, f"nothing is known of {source}", server)
        case _:
            assert_never(health)


def no_unknown_denial_is_near_it(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    """A misspelled denial must not leave its tool open. `with_suspects` finds which tools may be meant."""
    denial = policy.suspects.get(tool.id)
    return None if denial is None else NearUnknownDenial(tool.id, denial)


RULES: Final[tuple[Rule, ...]] = (
    owner_is_on,
    server_is_reviewed,
    limit_lets_it,
    no_pattern_denies_it,
    no_declared_override_denies_it,
    is_switched_on,
    overrides_fit_it,
    is_approved,
    provider_is_up,
    decisions_are_readable,
    owner_is_known,
    no_unknown_denial_is_near_it,
)
"""Their order changes no verdict: reasons are told in the order of their statuses."""

SOURCE_RULES: Final[frozenset[Rule]] = frozenset({owner_is_on, server_is_reviewed, provider_is_up, owner_is_known})
"""These look at nothing but the tool's source: silent about one of its tools, they are silent about all."""


def find_owner_off(source: SourceKey, policy: Policy) -> OwnerOff | None:
    """The toolset first, then the server: each by its switch, else as it was declared or installed."""
    toolset = policy.toolsets.get(source.toolset)
    if toolset is not None:
        switch = policy.decisions.switches.get(toolset.id)
        if not (switch.is_on if switch is not None else toolset.enabled):
            return OwnerOff(toolset.id, switch or toolset.origin)
    match source:
        case ServerKey() as key if (server := policy.servers.get(key)) is not None:
            switch = policy.decisions.switches.get(key)
            if not (switch.is_on if switch is not None else server.enabled):
                return OwnerOff(key, switch or server.origin)
        case ToolsetKey() as key if (own := policy.servers.get(key)) is not None and not own.enabled:
            return OwnerOff(key.toolset, own.origin)
        case _:
            pass
    return None


def find_quarantine(server: Server) -> ServerInQuarantine | None:
    return ServerInQuarantine(server.key) if server.quarantined else None


def servers_under_review(policy: Policy) -> tuple[ServerInQuarantine, ...]:
    """The servers that are not started before a person has reviewed them."""
    found = (find_quarantine(server) for server in policy.servers.values())
    return tuple(reason for reason in found if reason is not None)


def overridden_tool_of(tool: Tool, policy: Policy) -> OverriddenTool | None:
    """What overrides make of the tool's parameters. Nothing is looked at where nobody has said anything of any."""
    said = policy.overrides.arguments_of(tool.id)
    if said is None:
        return None
    known = policy.overridden_tools_cache.get(tool.id)
    if known is None or known[0] is not tool:
        known = policy.overridden_tools_cache[tool.id] = tool, _override_tool(tool, policy, *said)
    return known[1]


def _override_tool(
    tool: Tool, policy: Policy, said: Mapping[str, ArgumentOverride], named: frozenset[str]
) -> OverriddenTool | None:
    shape = override_tool(tool, said, named)
    if shape is None:
        return None
    if policy.value_problems and (wrong := problems_of_values(tool, shape, policy.value_problems)):
        shape = replace(shape, inapplicable=(*shape.inapplicable, *wrong))
    if not shape.is_applicable:
        return _with_responsible_override(shape, tool, policy)
    declared = policy.declared_overrides.arguments_of(tool.id)
    if declared is None:
        return shape
    return replace(shape, is_operators=any(argument.is_fixed for argument in declared[0].values()))


def _with_responsible_override(shape: OverriddenTool, tool: Tool, policy: Policy) -> OverriddenTool:
    """Whose override it is that closes the tool: the operator's, as soon as one of them is."""
    grave = [f"arguments.{unfit.parameter}" for unfit in shape.inapplicable if unfit.locks_tool]
    origin = policy.overrides.for_tool(tool.id).origin
    for name in grave:
        for place, row in origin.items():
            if row.is_declared and place.rpartition(".")[0] == name and place.rpartition(".")[2] != "description":
                at = row.origin(name)
                return replace(shape, is_operators=True, at=at if isinstance(at, DeclaredAt) else None)
    return shape


def _server(tool: Tool, policy: Policy) -> Server | None:
    source = tool.id.source
    return None if isinstance(source, BuiltinKey) else policy.servers.get(source)


def _is_among(tool: Tool, names: tuple[str, ...]) -> bool:
    return tool.id.name in names or any(entry_matches(name, tool.id) for name in names)


def entry_matches(name: str, tool: ToolId) -> bool:
    """Whether an entry of a server's own lists is about this tool: a name or pattern, with or without a scope."""
    if matches_glob(name, tool.name):
        return True
    scoped = parse_pattern(name) if ":" in name else None
    return isinstance(scoped, Pattern) and scoped.matches(tool)
