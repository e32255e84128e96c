"""What a person can do to servers, tools, overrides and grants; and `apply_command`, which makes a new policy of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar, assert_never

from pegboard.core.commands.base import (
    MAX_NAMED,
    Command,
    DecisionSummary,
    and_more,
    apply_override,
    apply_switch,
    count_text,
    find_override,
    forget_providers,
    list_command,
    override_key,
    reject_if_missing,
    reject_unknown_server,
)
from pegboard.core.commands.row_repair import drop_superseded_rows, without_grant
from pegboard.core.decision.facts import find_quarantine
from pegboard.core.model.ids import BUILTIN, PrincipalId, ProviderKey, ServerKey, ToolId, ToolsetId, provider_title
from pegboard.core.model.rejection import CommandRejection as CommandRejection
from pegboard.core.model.server import Container, Http, InstalledBy, Server, Stdio, Trust, quarantine_server
from pegboard.core.model.tool import Fingerprint, OwnTools, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.model.web_api import WebApi
from pegboard.core.overrides.model import ARGUMENT_PREFIX, NothingToClear, Override, OverrideEdit, apply_edit
from pegboard.core.policy.policy import (
    Approval,
    Consent,
    CredentialIdentity,
    Policy,
    PolicyDecisions,
    Switch,
    Switchable,
    format_end,
)
from pegboard.core.policy.unreadable_rows import RevokesGrants

T = TypeVar("T")

_MAX_CHANGED_NAMED: Final = 5
"""Of many tools that a refusal is about, so many are named."""
FINGERPRINT_CHARS: Final = 12


def apply_command(policy: Policy, command: Command, by: PrincipalId, at: datetime) -> Policy | CommandRejection:
    changed = command.apply(policy, by, at)
    if isinstance(changed, CommandRejection):
        return changed
    changed = drop_superseded_rows(policy.decisions, changed, command.switch_targets)
    after = replace(policy, decisions=replace(changed, version=policy.version + 1), tokens_stay_required=False)
    reopened = command.reopens and not after.requires_tokens
    return after if reopened else replace(after, tokens_stay_required=policy.tokens_stay_required)


@dataclass(frozen=True)
class AddServer(Command):
    """What a caller adds, and not the operator, is put into quarantine."""

    server: Server
    toolset: Toolset
    specs_seen: Mapping[ToolId, ToolSpec] | None = None
    """What a person was shown of it just before. With trust baseline that counts as its first sight, and nothing else
    does: what it lists when it runs is new unless it is exactly this."""

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        server = quarantine_server(self.server) if policy.is_agent(by) else self.server
        added = _add_server(policy, server, self.toolset)
        if self.specs_seen is None or isinstance(added, CommandRejection):
            return added
        if server.quarantined or server.trust is not Trust.BASELINE:
            return added
        return TakeBaseline(server.key, self.specs_seen).apply(replace(policy, decisions=added), by, at)

    def describe(self) -> DecisionSummary:
        server = self.server
        held = "" if find_quarantine(server) is None else ", in quarantine"
        seen = "" if self.specs_seen is None else f", {count_text(len(self.specs_seen), 'tool')} seen before"
        text = f"added, {_describe_connection(server)}, trust {server.trust.value}{held}{seen}"
        return DecisionSummary("server", str(server.key), text)


@dataclass(frozen=True, slots=True)
class RemoveServer(Command):
    """Takes with it what was decided about the server alone, so that adding it again starts from first sight."""

    key: ServerKey

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        key, decided = self.key, policy.decisions
        if key not in decided.servers:
            if (declared := policy.declared.servers.get(key)) is not None:
                return CommandRejection(f"Server {key} is declared at {declared.origin}. Remove it there.")
            return reject_unknown_server(key)
        if key.toolset in decided.files:
            return CommandRejection(
                f"Server {key} came with toolset {key.toolset!r}. Switch it off: pegboard servers disable {key}   "
                "Or take it out of the toolset.yaml and import that again, or: "
                f"pegboard toolset remove {key.toolset}"
            )
        owner = decided.toolsets.get(key.toolset)
        alone = all(other == key or other.toolset != key.toolset for other in decided.servers)
        orphaned = owner is not None and owner.user_mcp and alone
        kept = forget_providers(decided, lambda other: other == key, toolset=key.toolset if orphaned else None)
        return replace(
            kept,
            toolsets={id: toolset for id, toolset in kept.toolsets.items() if not (orphaned and id == key.toolset)},
            overrides=tuple(
                row
                for row in kept.overrides
                if not (isinstance(row.target, ToolId) and row.target.source == key)
                and not (orphaned and row.toolset == key.toolset)
            ),
        )

    def describe(self) -> DecisionSummary:
        return DecisionSummary("server", str(self.key), "removed with its switches and approvals")


@dataclass(frozen=True, slots=True)
class SetSwitch(Command):
    target: Switchable
    enabled: bool
    note: str = ""

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        switch = Switch(self.enabled, by, at, self.note)
        return reject_if_missing(policy, self.target) or apply_switch(policy.decisions, switch, self.target)

    def describe(self) -> DecisionSummary:
        return DecisionSummary("switch", str(self.target), f"{_switched_text(self.enabled)}{_note_text(self.note)}")

    @property
    def switch_targets(self) -> tuple[Switchable, ...]:
        return (self.target,)


@dataclass(frozen=True)
class SetToolSwitches(Command):
    """All of them or none: who switches many at once has looked at them as one list."""

    tools: tuple[ToolId, ...]
    enabled: bool
    note: str = ""

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        missed = filter(None, (reject_if_missing(policy, tool) for tool in self.tools))
        switch = Switch(self.enabled, by, at, self.note)
        return next(missed, None) or apply_switch(policy.decisions, switch, *self.tools)

    def describe(self) -> DecisionSummary:
        named = f"{', '.join(map(str, self.tools[:MAX_NAMED]))}{and_more(self.tools)}"
        switched = f"{count_text(len(self.tools), 'tool')} {_switched_text(self.enabled)}{_note_text(self.note)}"
        return DecisionSummary("switch", _common_owner(self.tools), f"{switched} ({named})")

    def describe_by_owner(self) -> tuple[DecisionSummary, ...]:
        groups = _group_by_owner(self.tools, lambda tool: tool)
        return tuple(replace(self, tools=group).describe() for group in groups)

    @property
    def switch_targets(self) -> tuple[Switchable, ...]:
        return self.tools


@dataclass(frozen=True)
class ApproveTool(Command):
    """Names the fingerprint that was read, so a spec that changed meanwhile is not approved unseen."""

    tool: ToolId
    spec: ToolSpec
    read_fingerprint: Fingerprint

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        return _approve(policy, (self,), by, at)

    def describe(self) -> DecisionSummary:
        return DecisionSummary("approval", str(self.tool), f"approved as {self.spec.fingerprint[:FINGERPRINT_CHARS]}")


@dataclass(frozen=True)
class ApproveTools(Command):
    """All of them or none: who approves many at once has read them as one list."""

    approvals: tuple[ApproveTool, ...]

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        return _approve(policy, self.approvals, by, at)

    def describe(self) -> DecisionSummary:
        given = self.approvals
        named = [f"{each.tool} as {each.spec.fingerprint[:FINGERPRINT_CHARS]}" for each in given[:MAX_NAMED]]
        text = f"{count_text(len(given), 'tool')} approved: {', '.join(named)}{and_more(given)}"
        return DecisionSummary("approval", _common_owner(each.tool for each in given), text)

    def describe_by_owner(self) -> tuple[DecisionSummary, ...]:
        groups = _group_by_owner(self.approvals, lambda each: each.tool)
        return tuple(replace(self, approvals=group).describe() for group in groups)


@dataclass(frozen=True, slots=True)
class BlockTool(Command):
    """A person read the tool and said no. It stays locked, whatever it becomes, until one approves it after all."""

    tool: ToolId
    note: str = ""

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        switch = Switch(False, by, at, self.note, blocks=True)
        return reject_if_missing(policy, self.tool) or apply_switch(policy.decisions, switch, self.tool)

    def describe(self) -> DecisionSummary:
        return DecisionSummary("block", str(self.tool), f"blocked at its review{_note_text(self.note)}")

    @property
    def switch_targets(self) -> tuple[Switchable, ...]:
        return (self.tool,)


@dataclass(frozen=True, slots=True)
class ReleaseServer(Command):
    """A person has reviewed a server in quarantine: it may be started. What it lists waits, because nobody saw it when
    it was added."""

    server: ProviderKey

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        key, decided = self.server, policy.decisions
        server = policy.servers.get(key)
        if server is None:
            return reject_unknown_server(key)
        if not server.quarantined:
            return CommandRejection(f"{provider_title(key)} is not in quarantine. {list_command(key)}")
        if key not in decided.servers:
            return CommandRejection(
                f"{provider_title(key)} is declared at {server.origin}. Take it out of quarantine there."
            )
        return replace(
            decided,
            servers={**decided.servers, key: replace(server, quarantined=False)},
            first_seen={**decided.first_seen, key: at},
        )

    def describe(self) -> DecisionSummary:
        return DecisionSummary("server", str(self.server), "released from quarantine")


@dataclass(frozen=True)
class TakeBaseline(Command):
    """First sight of a server whose trust is baseline: what it lists now counts as seen when it was added."""

    server: ProviderKey
    specs: Mapping[ToolId, ToolSpec] = field(default_factory=dict[ToolId, ToolSpec])

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        if (refused := _reject_first_sight(policy, self.server, self.specs)) is not None:
            return refused
        decided = policy.decisions
        seen = {tool: Approval(spec, by, at, first_sight=True) for tool, spec in self.specs.items()}
        return replace(
            decided, approvals={**seen, **decided.approvals}, first_seen={**decided.first_seen, self.server: at}
        )

    def describe(self) -> DecisionSummary:
        text = f"{count_text(len(self.specs), 'tool')} approved at first sight"
        return DecisionSummary("first_sight", str(self.server), text)


@dataclass(frozen=True, slots=True)
class SetTrust(Command):
    server: ProviderKey
    trust: Trust

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        trust = {**policy.decisions.trust, self.server: self.trust}
        return reject_if_missing(policy, self.server) or replace(policy.decisions, trust=trust)

    def describe(self) -> DecisionSummary:
        return DecisionSummary("trust", str(self.server), f"trust {self.trust.value}")


@dataclass(frozen=True)
class SetOverride(Command):
    override: Override

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        misplaced = _reject_if_misplaced(policy, self.override)
        return misplaced or apply_override(policy.decisions, self.override, settles=self.override)

    def describe(self) -> DecisionSummary:
        """Which fields, not what they say: a pinned argument is nobody's to read."""
        fields = self.override.fields_set
        text = f"sets {', '.join(fields)}" if fields else "cleared"
        return DecisionSummary("override", str(self.override.target), text)


@dataclass(frozen=True)
class EditOverride(Command):
    """Some fields of one override said or cleared; the others stay as they are."""

    edit: OverrideEdit

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        edit, decided = self.edit, policy.decisions
        if (misplaced := _reject_if_misplaced(policy, edit.changes)) is not None:
            return misplaced
        row = apply_edit(find_override(decided, edit.changes), edit, InstalledBy(by, at))
        if isinstance(row, NothingToClear):
            return _reject_nothing_set(policy, edit.changes, row.fields)
        return apply_override(decided, row, settles=edit.changes)

    def describe(self) -> DecisionSummary:
        changes, cleared = self.edit.changes, self.edit.cleared_fields
        said = [name for name in changes.fields_set if name != "arguments"]
        said += [f"{ARGUMENT_PREFIX}{name}" for name in changes.arguments or {}]
        parts = [f"sets {', '.join(said)}"] if said else []
        parts += [f"clears {', '.join(sorted(cleared))}"] if cleared else []
        return DecisionSummary("override", str(changes.target), "; ".join(parts))


@dataclass(frozen=True, slots=True)
class SetGrants(Command):
    """Exactly these toolsets, from now on; `None` takes the limit away."""

    principal: PrincipalId
    toolsets: frozenset[ToolsetId] | None

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        grants = {who: what for who, what in policy.decisions.grants.items() if who != self.principal}
        if self.toolsets is not None:
            grants[self.principal] = self.toolsets
        # Who takes a limit away means the unreadable one as well.
        return replace(without_grant(policy.decisions, RevokesGrants(self.principal)), grants=grants)

    def describe(self) -> DecisionSummary:
        limit = "no limit" if self.toolsets is None else ", ".join(sorted(self.toolsets)) or "nothing"
        return DecisionSummary("grant", None, f"{self.principal} may use: {limit}")


@dataclass(frozen=True, slots=True)
class AddConsent(Command):
    """Give a standing permission: from now on this tool, as it is, runs for this principal without confirmation.
    `client` narrows it to one."""

    id: str
    tool: ToolId
    fingerprint: Fingerprint
    principal: PrincipalId
    client: str | None
    until: datetime | None
    identity: CredentialIdentity | None = None

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        if (missing := reject_if_missing(policy, self.tool)) is not None:
            return missing
        given = self.principal, self.client, by, at, self.until, self.identity
        fresh, decided = Consent(self.id, self.tool, self.fingerprint, *given), policy.decisions
        others = {
            key: consent
            for key, consent in decided.consents.items()
            if consent.scope_key != fresh.scope_key and not consent.is_expired(at)
        }
        return replace(decided, consents={**others, self.id: fresh})

    def describe(self) -> DecisionSummary:
        source = "from any client" if self.client is None else f"from the client {self.client!r}"
        source += "" if self.identity is None else f", at {self.identity.description}"
        allowed = f"allowed {self.principal} to call this without confirmation, {source}, {format_end(self.until)}"
        return DecisionSummary("ticket", str(self.tool), allowed)


@dataclass(frozen=True, slots=True)
class RevokeConsent(Command):
    """Take a standing permission back: the next call is asked about again."""

    id: str
    consent: Consent | None = None
    """The permission as it was shown to the person, for the record."""

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        known = policy.decisions.consents
        if self.id not in known:
            return CommandRejection(f"There is no standing permission {self.id!r}. See: pegboard tickets consents")
        return replace(policy.decisions, consents={key: kept for key, kept in known.items() if key != self.id})

    def describe(self) -> DecisionSummary:
        if self.consent is None:
            return DecisionSummary("ticket", None, f"revoked the standing permission {self.id}")
        whose = self.consent.caller_text
        revoked = f"revoked the permission of {whose} to call this without confirmation ({self.id})"
        return DecisionSummary("ticket", str(self.consent.tool), revoked)


def _approve(
    policy: Policy, approvals: tuple[ApproveTool, ...], by: PrincipalId, at: datetime
) -> PolicyDecisions | CommandRejection:
    """Who approves a tool that was blocked takes that back; a switch of another kind is another decision."""
    changed: list[ToolId] = []
    for each in approvals:
        if (missing := reject_if_missing(policy, each.tool)) is not None:
            return missing
        if each.spec.fingerprint != each.read_fingerprint:
            changed.append(each.tool)
    if changed:
        return CommandRejection(_describe_changed_meanwhile(changed, len(approvals)))
    decided, given = policy.decisions, {each.tool: Approval(each.spec, by, at) for each in approvals}
    return replace(
        decided,
        approvals={**decided.approvals, **given},
        switches={what: switch for what, switch in decided.switches.items() if not (switch.blocks and what in given)},
    )


def _describe_changed_meanwhile(changed: list[ToolId], asked: int) -> str:
    told = ", ".join(str(tool) for tool in changed[:_MAX_CHANGED_NAMED]) + (
        " and others" if len(changed) > _MAX_CHANGED_NAMED else ""
    )
    none = "" if asked == 1 else " None of them was approved."
    return f"{told} changed while you were reading it.{none} Review the difference again: pegboard approvals list"


def _add_server(policy: Policy, server: Server, toolset: Toolset) -> PolicyDecisions | CommandRejection:
    key = server.key
    if key.toolset != toolset.id:
        return CommandRejection(
            f"Server {key} does not belong to toolset {toolset.id!r}. Name one and the same toolset."
        )
    if (there := policy.servers.get(key)) is not None:
        return CommandRejection(
            f"Server {key} is there already: {there.origin}. Choose another id, or remove it first."
        )
    if (known := policy.declared.toolsets.get(toolset.id)) is not None:
        return CommandRejection(
            f"Toolset {toolset.id!r} is declared at {known.origin}, and a declared toolset is the operator's. "
            f"Choose another toolset, or add the server in the file."
        )
    if toolset.id in policy.decisions.files:
        return CommandRejection(
            f"Toolset {toolset.id!r} was imported, and has what its toolset.yaml says. "
            f"Choose another toolset, or add the server there and import it again: pegboard toolset import"
        )
    decided = policy.decisions
    return replace(
        decided,
        servers={**decided.servers, key: server},
        toolsets={toolset.id: toolset, **decided.toolsets},
    )


def _reject_first_sight(policy: Policy, key: ProviderKey, specs: Mapping[ToolId, ToolSpec]) -> CommandRejection | None:
    server = policy.servers.get(key)
    if server is None:
        return reject_unknown_server(key)
    if policy.decisions.was_seen(key):
        return CommandRejection(f"{key} was seen before: what it lists now must be approved one by one.")
    if server.quarantined or policy.trust(server) is Trust.STRICT:
        return CommandRejection(f"{key} is not trusted at first sight: what it lists must be approved one by one.")
    foreign = sorted(str(tool) for tool in specs if tool.source != key)
    if foreign:
        return CommandRejection(f"{foreign[0]} is not a tool of {key}: only its own tools are approved at first sight.")
    return None


def _reject_if_misplaced(policy: Policy, override: Override) -> CommandRejection | None:
    if override.is_declared:
        return CommandRejection("A declared override lives in its file. Edit the file instead.")
    target = override.target
    if isinstance(target, ToolId) and target.toolset != override.toolset:
        return CommandRejection(f"{target} is not in toolset {override.toolset!r}, so the override would never fit.")
    return None if override.toolset == BUILTIN else reject_if_missing(policy, override.toolset)


def _reject_nothing_set(policy: Policy, at: Override, what: tuple[str, ...]) -> CommandRejection:
    """What a file says at the same place is cleared there, and a person may have meant that one."""
    declared = next((row for row in policy.declared.overrides if override_key(row) == override_key(at)), None)
    places = [] if declared is None else [str(origin) for name in what if (origin := declared.origin(name))]
    where = f" It is declared at {', '.join(places)}: edit the file." if places else " See: pegboard overrides list"
    return CommandRejection(f"No person's override of {at.target} in {at.toolset!r} says {', '.join(what)}.{where}")


def _switched_text(on: bool) -> str:
    return f"switched {'on' if on else 'off'}"


def _note_text(note: str) -> str:
    return f": {note}" if note else ""


def _group_by_owner(several: Iterable[T], tool: Callable[[T], ToolId]) -> Iterable[tuple[T, ...]]:
    groups: dict[str, list[T]] = {}
    for each in several:
        groups.setdefault(str(tool(each).source), []).append(each)
    return map(tuple, groups.values())


def _common_owner(tools: Iterable[ToolId]) -> str | None:
    """The server they all belong to, if it is one."""
    owners = {str(tool.source) for tool in tools}
    return owners.pop() if len(owners) == 1 else None


def _describe_connection(server: Server) -> str:
    """How, not where: commands and addresses may hold secrets, and `servers list` shows them masked."""
    match server.connection:
        case Stdio():
            return "started as a program"
        case Http(transport=transport):
            return f"reached by {transport.value}"
        case Container():
            return "started in a container"
        case OwnTools():
            return "run by itself"
        case WebApi(_, title):
            return f"reached by the API of {title}"
        case _:
            assert_never(server.connection)
