"""Facts of the policy about one tool: its server, overrides and approval. Not a verdict: the rules decide."""

from collections.abc import Mapping
from dataclasses import replace

from pegboard.core.decision.status import (
    ChangedSinceApproval,
    LockReason,
    NoApproval,
    OwnerOff,
    ServerInQuarantine,
    UnreadableDecision,
)
from pegboard.core.model.characters import is_deceptive_name
from pegboard.core.model.ids import BuiltinKey, ServerKey, SourceKey, ToolsetKey
from pegboard.core.model.server import DeclaredAt, Server, Trust
from pegboard.core.model.tool import Tool
from pegboard.core.overrides.model import ArgumentOverride
from pegboard.core.overrides.schema import OverriddenTool, override_tool, problems_of_values
from pegboard.core.policy.policy import Policy


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


def server_of(tool: Tool, policy: Policy) -> Server | None:
    source = tool.id.source
    return None if isinstance(source, BuiltinKey) else policy.servers.get(source)


def approval_problem(tool: Tool, policy: Policy) -> LockReason | None:
    """Why a person must approve the tool first.

    First sight is no case here: the gateway approves what it sees first, by a command with an author.
    """
    server = server_of(tool, policy)
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
