"""The rules. Each locks a tool or says nothing; none unlocks what another one locked."""

from collections.abc import Callable
from typing import Final, TypeAlias, assert_never

from pegboard.core.decision.facts import (
    approval_problem,
    find_owner_off,
    find_quarantine,
    overridden_tool_of,
    server_of,
)
from pegboard.core.decision.status import (
    DeniedByOverride,
    DeniedByPattern,
    DeniedByToolFilter,
    LockReason,
    NearUnknownDenial,
    ProviderUnavailable,
    SwitchedOff,
    UndeterminedState,
    UnreadableDecision,
    UnusableOverride,
)
from pegboard.core.model.catalogue import (
    Health,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import BuiltinKey, ServerKey, ToolId, ToolsetKey
from pegboard.core.model.patterns import Pattern, matches_glob, parse_pattern
from pegboard.core.model.server import AllButTools, DeclaredAt, EveryTool, OnlyTools
from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import Policy

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
    server = server_of(tool, policy)
    return None if server is None else find_quarantine(server)


def limit_lets_it(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
    server = server_of(tool, policy)
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
    return approval_problem(tool, policy)


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


def _is_among(tool: Tool, names: tuple[str, ...]) -> bool:
    return tool.id.name in names or any(entry_matches(name, tool.id) for name in names)


def entry_matches(name: str, tool: ToolId) -> bool:
    """Whether an entry of a server's own lists is about this tool: a name or pattern, with or without a scope."""
    if matches_glob(name, tool.name):
        return True
    scoped = parse_pattern(name) if ":" in name else None
    return isinstance(scoped, Pattern) and scoped.matches(tool)
