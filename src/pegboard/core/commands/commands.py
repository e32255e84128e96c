"""All commands, and `apply_command`, which makes a new policy from the old one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from pegboard.core.commands.access import (
    AccessCommand,
    MakeToken,
    RemovePrincipal,
    RevokeToken,
    SetPrincipalConfirmation,
    apply_access_command,
)
from pegboard.core.commands.base import (
    SetToolSwitches,
    apply_override,
    apply_switch,
    find_override,
    forget_providers,
    override_key,
)
from pegboard.core.commands.row_repair import DeleteRows, delete_rows, drop_superseded_rows, without_grant
from pegboard.core.commands.toolset_choice import SetToolsetChoice, apply_choice
from pegboard.core.commands.toolset_install import (
    InstallToolset,
    RecordSecretChange,
    RemoveToolset,
    install_toolset,
    remove_toolset,
)
from pegboard.core.commands.transfer import ReplaceDecisions, apply_import, check_tokens_required
from pegboard.core.model.ids import (
    BUILTIN,
    BuiltinKey,
    PrincipalId,
    ProviderKey,
    ServerKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    provider_title,
)
from pegboard.core.model.rejection import CommandRejection as CommandRejection
from pegboard.core.model.server import InstalledBy, Server, Trust, quarantine_server
from pegboard.core.model.tool import Fingerprint, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import NothingToClear, Override, OverrideEdit, apply_edit
from pegboard.core.policy.policy import (
    Approval,
    Consent,
    CredentialIdentity,
    Policy,
    PolicyDecisions,
    Switch,
    Switchable,
)
from pegboard.core.policy.unreadable_rows import RevokesGrants

_MAX_NAMED: Final = 5
"""Of many tools that a refusal is about, so many are named."""
_LIST_COMMANDS: Final = {ServerKey: "See: pegboard servers list", ToolsetKey: "See: pegboard toolset list"}


@dataclass(frozen=True)
class AddServer:
    """What a caller adds, and not the operator, is put into quarantine."""

    server: Server
    toolset: Toolset
    specs_seen: Mapping[ToolId, ToolSpec] | None = None
    """What a person was shown of it just before. With trust baseline that counts as its first sight, and nothing else
    does: what it lists when it runs is new unless it is exactly this."""


@dataclass(frozen=True, slots=True)
class RemoveServer:
    key: ServerKey


@dataclass(frozen=True, slots=True)
class SetSwitch:
    target: Switchable
    enabled: bool
    note: str = ""


@dataclass(frozen=True)
class ApproveTool:
    """Names the fingerprint that was read, so a spec that changed meanwhile is not approved unseen."""

    tool: ToolId
    spec: ToolSpec
    read_fingerprint: Fingerprint


@dataclass(frozen=True)
class ApproveTools:
    """All of them or none: who approves many at once has read them as one list."""

    approvals: tuple[ApproveTool, ...]


@dataclass(frozen=True, slots=True)
class BlockTool:
    """A person read the tool and said no. It stays locked, whatever it becomes, until one approves it after all."""

    tool: ToolId
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseServer:
    """A person has reviewed a server in quarantine: it may be started. What it lists waits, because nobody saw it when
    it was added."""

    server: ProviderKey


@dataclass(frozen=True)
class TakeBaseline:
    """First sight of a server whose trust is baseline: what it lists now counts as seen when it was added."""

    server: ProviderKey
    specs: Mapping[ToolId, ToolSpec] = field(default_factory=dict[ToolId, ToolSpec])


@dataclass(frozen=True, slots=True)
class SetTrust:
    server: ProviderKey
    trust: Trust


@dataclass(frozen=True)
class SetOverride:
    override: Override


@dataclass(frozen=True)
class EditOverride:
    """Some fields of one override said or cleared; the others stay as they are."""

    edit: OverrideEdit


@dataclass(frozen=True, slots=True)
class SetGrants:
    """Exactly these toolsets, from now on; `None` takes the limit away."""

    principal: PrincipalId
    toolsets: frozenset[ToolsetId] | None


@dataclass(frozen=True, slots=True)
class AddConsent:
    """Give a standing permission: from now on this tool, as it is, runs for this principal without confirmation.
    `client` narrows it to one."""

    id: str
    tool: ToolId
    fingerprint: Fingerprint
    principal: PrincipalId
    client: str | None
    until: datetime | None
    identity: CredentialIdentity | None = None


@dataclass(frozen=True, slots=True)
class RevokeConsent:
    """Take a standing permission back: the next call is asked about again."""

    id: str
    consent: Consent | None = None
    """The permission as it was shown to the person, for the record."""


Command: TypeAlias = (
    AddServer
    | RemoveServer
    | SetSwitch
    | SetToolSwitches
    | ApproveTool
    | ApproveTools
    | BlockTool
    | ReleaseServer
    | TakeBaseline
    | SetTrust
    | SetOverride
    | EditOverride
    | SetToolsetChoice
    | SetGrants
    | AddConsent
    | RevokeConsent
    | InstallToolset
    | RemoveToolset
    | RecordSecretChange
    | AccessCommand
    | ReplaceDecisions
    | DeleteRows
)


def apply_command(policy: Policy, command: Command, by: PrincipalId, at: datetime) -> Policy | CommandRejection:
    changed = _run_command(policy, command, by, at)
    if isinstance(changed, CommandRejection):
        return changed
    changed = drop_superseded_rows(policy.decisions, changed, _switch_targets(command))
    after = replace(policy, decisions=replace(changed, version=policy.version + 1), tokens_stay_required=False)
    reopened = isinstance(command, RemovePrincipal) and command.reopen and not after.requires_tokens
    return after if reopened else replace(after, tokens_stay_required=policy.tokens_stay_required)


def _switch_targets(command: Command) -> tuple[Switchable, ...]:
    match command:
        case SetSwitch(what) | BlockTool(what):
            return (what,)
        case SetToolSwitches(tools):
            return tuple(tools)
        case _:
            return ()


def _run_command(policy: Policy, command: Command, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
    decided = policy.decisions
    match command:
        case AddServer(server, toolset, seen):
            given = quarantine_server(server) if policy.is_agent(by) else server
            added = _add_server(policy, given, toolset)
            if seen is None or isinstance(added, CommandRejection):
                return added
            return _approve_specs_seen(policy, added, given, seen, by, at)
        case RemoveServer(key):
            return _remove_server(policy, key)
        case SetSwitch(what, on, note):
            if (missing := _reject_if_missing(policy, what)) is not None:
                return missing
            return apply_switch(decided, Switch(on, by, at, note), what)
        case SetToolSwitches(tools, on, note):
            missed = filter(None, (_reject_if_missing(policy, tool) for tool in tools))
            return next(missed, None) or apply_switch(decided, Switch(on, by, at, note), *tools)
        case BlockTool(tool, note):
            if (missing := _reject_if_missing(policy, tool)) is not None:
                return missing
            return apply_switch(decided, Switch(False, by, at, note, blocks=True), tool)
        case ApproveTool():
            return _approve(policy, (command,), by, at)
        case ApproveTools(approvals):
            return _approve(policy, approvals, by, at)
        case ReleaseServer(key):
            return _release_server(policy, key, at)
        case TakeBaseline():
            return _take_baseline(policy, command, by, at)
        case SetTrust(key, trust):
            if (missing := _reject_if_missing(policy, key)) is not None:
                return missing
            return replace(decided, trust={**decided.trust, key: trust})
        case SetOverride(override):
            return _reject_if_misplaced(policy, override) or apply_override(decided, override, settles=override)
        case EditOverride(edit):
            if (misplaced := _reject_if_misplaced(policy, edit.changes)) is not None:
                return misplaced
            row = apply_edit(find_override(decided, edit.changes), edit, InstalledBy(by, at))
            if isinstance(row, NothingToClear):
                return _reject_nothing_set(policy, edit.changes, row.fields)
            return apply_override(decided, row, settles=edit.changes)
        case SetToolsetChoice(toolset):
            return _reject_if_missing(policy, toolset) or apply_choice(decided, command, InstalledBy(by, at))
        case MakeToken() | RevokeToken() | RemovePrincipal() | SetPrincipalConfirmation():
            return apply_access_command(policy, command, by, at)
        case SetGrants(principal, toolsets):
            grants = {who: what for who, what in decided.grants.items() if who != principal}
            # Who takes a limit away means the unreadable one as well.
            decided = without_grant(decided, RevokesGrants(principal))
            return replace(decided, grants=grants if toolsets is None else {**grants, principal: toolsets})
        case AddConsent(id, tool, fingerprint, principal, client, until, whose):
            if (missing := _reject_if_missing(policy, tool)) is not None:
                return missing
            fresh = Consent(id, tool, fingerprint, principal, client, by, at, until, whose)
            others = {
                key: consent
                for key, consent in decided.consents.items()
                if consent.scope_key != fresh.scope_key and not consent.is_expired(at)
            }
            return replace(decided, consents={**others, id: fresh})
        case RevokeConsent(id):
            if id not in decided.consents:
                return CommandRejection(f"There is no standing permission {id!r}. See: pegboard tickets consents")
            return replace(decided, consents={key: kept for key, kept in decided.consents.items() if key != id})
        case ReplaceDecisions(carried, is_open):
            return check_tokens_required(policy, carried, is_open) or apply_import(policy, carried, by)
        case DeleteRows():
            return delete_rows(policy, command, at)
        case InstallToolset():
            return install_toolset(policy, command, by, at)
        case RemoveToolset(id):
            return remove_toolset(policy, ToolsetId(id))
        case RecordSecretChange(toolset):
            if toolset in policy.toolsets:
                return decided
            return CommandRejection(f"There is no toolset {toolset!r}. See: pegboard toolset list")
        case _:
            assert_never(command)


def _approve(
    policy: Policy, approvals: tuple[ApproveTool, ...], by: PrincipalId, at: datetime
) -> PolicyDecisions | CommandRejection:
    """Who approves a tool that was blocked takes that back; a switch of another kind is another decision."""
    changed: list[ToolId] = []
    for each in approvals:
        if (missing := _reject_if_missing(policy, each.tool)) is not None:
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
    told = ", ".join(str(tool) for tool in changed[:_MAX_NAMED]) + (" and others" if len(changed) > _MAX_NAMED else "")
    none = "" if asked == 1 else " None of them was approved."
    return f"{told} changed while you were reading it.{none} Review the difference again: pegboard approvals list"


def _release_server(policy: Policy, key: ProviderKey, at: datetime) -> PolicyDecisions | CommandRejection:
    server = policy.servers.get(key)
    if server is None:
        return _reject_unknown_server(key)
    if not server.quarantined:
        return CommandRejection(f"{provider_title(key)} is not in quarantine. {_LIST_COMMANDS[type(key)]}")
    decided = policy.decisions
    if key not in decided.servers:
        return CommandRejection(
            f"{provider_title(key)} is declared at {server.origin}. Take it out of quarantine there."
        )
    return replace(
        decided,
        servers={**decided.servers, key: replace(server, quarantined=False)},
        first_seen={**decided.first_seen, key: at},
    )


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


def _approve_specs_seen(
    policy: Policy,
    added: PolicyDecisions,
    server: Server,
    seen: Mapping[ToolId, ToolSpec],
    by: PrincipalId,
    at: datetime,
) -> PolicyDecisions | CommandRejection:
    if server.quarantined or server.trust is not Trust.BASELINE:
        return added
    return _take_baseline(replace(policy, decisions=added), TakeBaseline(server.key, seen), by, at)


def _take_baseline(
    policy: Policy, sight: TakeBaseline, by: PrincipalId, at: datetime
) -> PolicyDecisions | CommandRejection:
    if (refused := _reject_first_sight(policy, sight.server, sight.specs)) is not None:
        return refused
    decided = policy.decisions
    seen = {tool: Approval(spec, by, at, first_sight=True) for tool, spec in sight.specs.items()}
    return replace(
        decided, approvals={**seen, **decided.approvals}, first_seen={**decided.first_seen, sight.server: at}
    )


def _remove_server(policy: Policy, key: ServerKey) -> PolicyDecisions | CommandRejection:
    """Takes with it what was decided about the server alone, so that adding it again starts from first sight."""
    decided = policy.decisions
    if key not in decided.servers:
        if (declared := policy.declared.servers.get(key)) is not None:
            return CommandRejection(f"Server {key} is declared at {declared.origin}. Remove it there.")
        return _reject_unknown_server(key)
    if key.toolset in decided.files:
        return CommandRejection(
            f"Server {key} came with toolset {key.toolset!r}. Switch it off: pegboard servers disable {key}   Or take "
            f"it out of the toolset.yaml and import that again, or: pegboard toolset remove {key.toolset}"
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


def _reject_if_missing(policy: Policy, what: Switchable | ToolsetKey) -> CommandRejection | None:
    """Tools come and go, so a switch may name one that is not listed now; its server must be known."""
    match what.source if isinstance(what, ToolId) else what:
        case ServerKey() | ToolsetKey() as key:
            return None if key in policy.servers else _reject_unknown_server(key)
        case BuiltinKey():
            return None
        case toolset:
            known = toolset in policy.toolsets
            return None if known else CommandRejection(f"There is no toolset {toolset!r}. {_LIST_COMMANDS[ToolsetKey]}")


def _reject_unknown_server(key: ProviderKey) -> CommandRejection:
    what = f"no server {key}" if isinstance(key, ServerKey) else f"no toolset {key.toolset!r} with tools of its own"
    return CommandRejection(f"There is {what}. {_LIST_COMMANDS[type(key)]}")


def _reject_first_sight(policy: Policy, key: ProviderKey, specs: Mapping[ToolId, ToolSpec]) -> CommandRejection | None:
    server = policy.servers.get(key)
    if server is None:
        return _reject_unknown_server(key)
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
    return None if override.toolset == BUILTIN else _reject_if_missing(policy, override.toolset)


def _reject_nothing_set(policy: Policy, at: Override, what: tuple[str, ...]) -> CommandRejection:
    """What a file says at the same place is cleared there, and a person may have meant that one."""
    declared = next((row for row in policy.declared.overrides if override_key(row) == override_key(at)), None)
    places = [] if declared is None else [str(origin) for name in what if (origin := declared.origin(name))]
    where = f" It is declared at {', '.join(places)}: edit the file." if places else " See: pegboard overrides list"
    return CommandRejection(f"No person's override of {at.target} in {at.toolset!r} says {', '.join(what)}.{where}")
