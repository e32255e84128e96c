"""All that a person can do to the policy. A surface makes a command; `apply` says what the policy becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from .carrying import ReplaceDecisions, replaced, tokens_missing
from .choosing import ChooseTools, chosen
from .consent import Consent
from .editing import Edit, NothingThere, edited
from .entitling import Entitlement, MakeToken, RemovePrincipal, RevokeToken, SetPrincipalConfirmation, entitled
from .ids import BUILTIN, BuiltinKey, PrincipalId, ProviderKey, ServerKey, ToolId, ToolsetId, ToolsetKey, titled
from .imported import InstallToolset, RemoveToolset, TurnSecret, installed, removed
from .leaving import forgetting
from .override import Override
from .policy import Approval, Decided, Policy, Switch, Switchable
from .rejected import Rejected as Rejected
from .row_repair import DeleteRows, superseded, without_grant, without_rows
from .server import InstalledBy, Server, Trust, unreviewed
from .settling import ThrowSeveral, overridden, place, row_at, switched
from .tool import Fingerprint, ToolSpec
from .toolset import Toolset
from .unreadable import GrantsNothing
from .whose import Whose

_NAMED: Final = 5
"""Of many tools that a refusal is about, so many are named."""
_SEE: Final = {ServerKey: "See: pegboard servers list", ToolsetKey: "See: pegboard toolset list"}


@dataclass(frozen=True)
class AddServer:
    """What a caller adds, and not the operator, is put into quarantine."""

    server: Server
    toolset: Toolset
    seen: Mapping[ToolId, ToolSpec] | None = None
    """What a person was shown of it just before. With trust baseline that counts as its first sight, and nothing else
    does: what it lists when it runs is new unless it is exactly this."""


@dataclass(frozen=True, slots=True)
class RemoveServer:
    key: ServerKey


@dataclass(frozen=True, slots=True)
class ThrowSwitch:
    what: Switchable
    on: bool
    note: str = ""


@dataclass(frozen=True)
class Approve:
    """Names the fingerprint that was read, so a spec that changed meanwhile is not approved unseen."""

    tool: ToolId
    spec: ToolSpec
    read: Fingerprint


@dataclass(frozen=True)
class ApproveSeveral:
    """All of them or none: who approves many at once has read them as one list."""

    approvals: tuple[Approve, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A person read the tool and said no. It stays locked, whatever it becomes, until one approves it after all."""

    tool: ToolId
    note: str = ""


@dataclass(frozen=True, slots=True)
class Release:
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

    edit: Edit


@dataclass(frozen=True, slots=True)
class Grant:
    """Exactly these toolsets, from now on; `None` takes the limit away."""

    principal: PrincipalId
    toolsets: frozenset[ToolsetId] | None


@dataclass(frozen=True, slots=True)
class Remember:
    """Give a standing permission: from now on this tool, as it is, runs for this principal without confirmation.
    `client` narrows it to one."""

    id: str
    tool: ToolId
    fingerprint: Fingerprint
    principal: PrincipalId
    client: str | None
    until: datetime | None
    whose: Whose | None = None


@dataclass(frozen=True, slots=True)
class Revoke:
    """Take a standing permission back: the next call is asked about again."""

    id: str
    given: Consent | None = None
    """The permission as it was shown to the person, for the record."""


Command: TypeAlias = (
    AddServer
    | RemoveServer
    | ThrowSwitch
    | ThrowSeveral
    | Approve
    | ApproveSeveral
    | Block
    | Release
    | TakeBaseline
    | SetTrust
    | SetOverride
    | EditOverride
    | ChooseTools
    | Grant
    | Remember
    | Revoke
    | InstallToolset
    | RemoveToolset
    | TurnSecret
    | Entitlement
    | ReplaceDecisions
    | DeleteRows
)


def apply(policy: Policy, command: Command, by: PrincipalId, at: datetime) -> Policy | Rejected:
    changed = _changed(policy, command, by, at)
    if isinstance(changed, Rejected):
        return changed
    changed = superseded(policy.decided, changed, _switched(command))
    after = replace(policy, decided=replace(changed, version=policy.version + 1), closed=False)
    reopened = isinstance(command, RemovePrincipal) and command.reopen and not after.requires_tokens
    return after if reopened else replace(after, closed=policy.closed)


def _switched(command: Command) -> tuple[Switchable, ...]:
    match command:
        case ThrowSwitch(what) | Block(what):
            return (what,)
        case ThrowSeveral(tools):
            return tuple(tools)
        case _:
            return ()


def _changed(policy: Policy, command: Command, by: PrincipalId, at: datetime) -> Decided | Rejected:
    decided = policy.decided
    match command:
        case AddServer(server, toolset, seen):
            given = unreviewed(server) if policy.is_agent(by) else server
            added = _added(policy, given, toolset)
            if seen is None or isinstance(added, Rejected):
                return added
            return _seen_before(policy, added, given, seen, by, at)
        case RemoveServer(key):
            return _removed(policy, key)
        case ThrowSwitch(what, on, note):
            if (missing := _missing(policy, what)) is not None:
                return missing
            return switched(decided, Switch(on, by, at, note), what)
        case ThrowSeveral(tools, on, note):
            missed = filter(None, (_missing(policy, tool) for tool in tools))
            return next(missed, None) or switched(decided, Switch(on, by, at, note), *tools)
        case Block(tool, note):
            if (missing := _missing(policy, tool)) is not None:
                return missing
            return switched(decided, Switch(False, by, at, note, blocks=True), tool)
        case Approve():
            return _approved(policy, (command,), by, at)
        case ApproveSeveral(approvals):
            return _approved(policy, approvals, by, at)
        case Release(key):
            return _released(policy, key, at)
        case TakeBaseline():
            return _baseline(policy, command, by, at)
        case SetTrust(key, trust):
            if (missing := _missing(policy, key)) is not None:
                return missing
            return replace(decided, trust={**decided.trust, key: trust})
        case SetOverride(override):
            return _misplaced(policy, override) or overridden(decided, override, settles=override)
        case EditOverride(edit):
            if (misplaced := _misplaced(policy, edit.said)) is not None:
                return misplaced
            row = edited(row_at(decided, edit.said), edit, InstalledBy(by, at))
            if isinstance(row, NothingThere):
                return _not_said(policy, edit.said, row.what)
            return overridden(decided, row, settles=edit.said)
        case ChooseTools(toolset):
            return _missing(policy, toolset) or chosen(decided, command, InstalledBy(by, at))
        case MakeToken() | RevokeToken() | RemovePrincipal() | SetPrincipalConfirmation():
            return entitled(policy, command, by, at)
        case Grant(principal, toolsets):
            grants = {who: what for who, what in decided.grants.items() if who != principal}
            # Who takes a limit away means the unreadable one as well.
            decided = without_grant(decided, GrantsNothing(principal))
            return replace(decided, grants=grants if toolsets is None else {**grants, principal: toolsets})
        case Remember(id, tool, fingerprint, principal, client, until, whose):
            if (missing := _missing(policy, tool)) is not None:
                return missing
            fresh = Consent(id, tool, fingerprint, principal, client, by, at, until, whose)
            others = {
                key: consent
                for key, consent in decided.consents.items()
                if consent.place != fresh.place and not consent.is_expired(at)
            }
            return replace(decided, consents={**others, id: fresh})
        case Revoke(id):
            if id not in decided.consents:
                return Rejected(f"There is no standing permission {id!r}. See: pegboard tickets consents")
            return replace(decided, consents={key: kept for key, kept in decided.consents.items() if key != id})
        case ReplaceDecisions(carried, is_open):
            return tokens_missing(policy, carried, is_open) or replaced(policy, carried, by)
        case DeleteRows():
            return without_rows(policy, command, at)
        case InstallToolset():
            return installed(policy, command, by, at)
        case RemoveToolset(id):
            return removed(policy, ToolsetId(id))
        case TurnSecret(toolset):
            if toolset in policy.toolsets:
                return decided
            return Rejected(f"There is no toolset {toolset!r}. See: pegboard toolset list")
        case _:
            assert_never(command)


def _approved(policy: Policy, approvals: tuple[Approve, ...], by: PrincipalId, at: datetime) -> Decided | Rejected:
    """Who approves a tool that was blocked takes that back; a switch of another kind is another decision."""
    changed: list[ToolId] = []
    for each in approvals:
        if (missing := _missing(policy, each.tool)) is not None:
            return missing
        if each.spec.fingerprint != each.read:
            changed.append(each.tool)
    if changed:
        return Rejected(_changed_meanwhile(changed, len(approvals)))
    decided, given = policy.decided, {each.tool: Approval(each.spec, by, at) for each in approvals}
    return replace(
        decided,
        approvals={**decided.approvals, **given},
        switches={what: switch for what, switch in decided.switches.items() if not (switch.blocks and what in given)},
    )


def _changed_meanwhile(changed: list[ToolId], asked: int) -> str:
    told = ", ".join(str(tool) for tool in changed[:_NAMED]) + (" and others" if len(changed) > _NAMED else "")
    none = "" if asked == 1 else " None of them was approved."
    return f"{told} changed while you were reading it.{none} Review the difference again: pegboard approvals list"


def _released(policy: Policy, key: ProviderKey, at: datetime) -> Decided | Rejected:
    server = policy.servers.get(key)
    if server is None:
        return _no_server(key)
    if not server.quarantined:
        return Rejected(f"{titled(key)} is not in quarantine. {_SEE[type(key)]}")
    decided = policy.decided
    if key not in decided.servers:
        return Rejected(f"{titled(key)} is declared at {server.origin}. Take it out of quarantine there.")
    return replace(
        decided,
        servers={**decided.servers, key: replace(server, quarantined=False)},
        baselined={**decided.baselined, key: at},
    )


def _added(policy: Policy, server: Server, toolset: Toolset) -> Decided | Rejected:
    key = server.key
    if key.toolset != toolset.id:
        return Rejected(f"Server {key} does not belong to toolset {toolset.id!r}. Name one and the same toolset.")
    if (there := policy.servers.get(key)) is not None:
        return Rejected(f"Server {key} is there already: {there.origin}. Choose another id, or remove it first.")
    if (known := policy.declared.toolsets.get(toolset.id)) is not None:
        return Rejected(
            f"Toolset {toolset.id!r} is declared at {known.origin}, and a declared toolset is the operator's. "
            f"Choose another toolset, or add the server in the file."
        )
    if toolset.id in policy.decided.files:
        return Rejected(
            f"Toolset {toolset.id!r} was imported, and has what its toolset.yaml says. "
            f"Choose another toolset, or add the server there and import it again: pegboard toolset import"
        )
    decided = policy.decided
    return replace(
        decided,
        servers={**decided.servers, key: server},
        toolsets={toolset.id: toolset, **decided.toolsets},
    )


def _seen_before(
    policy: Policy, added: Decided, server: Server, seen: Mapping[ToolId, ToolSpec], by: PrincipalId, at: datetime
) -> Decided | Rejected:
    if server.quarantined or server.trust is not Trust.BASELINE:
        return added
    return _baseline(replace(policy, decided=added), TakeBaseline(server.key, seen), by, at)


def _baseline(policy: Policy, sight: TakeBaseline, by: PrincipalId, at: datetime) -> Decided | Rejected:
    if (refused := _no_first_sight(policy, sight.server, sight.specs)) is not None:
        return refused
    decided = policy.decided
    seen = {tool: Approval(spec, by, at, first_sight=True) for tool, spec in sight.specs.items()}
    return replace(decided, approvals={**seen, **decided.approvals}, baselined={**decided.baselined, sight.server: at})


def _removed(policy: Policy, key: ServerKey) -> Decided | Rejected:
    """Takes with it what was decided about the server alone, so that adding it again starts from first sight."""
    decided = policy.decided
    if key not in decided.servers:
        if (declared := policy.declared.servers.get(key)) is not None:
            return Rejected(f"Server {key} is declared at {declared.origin}. Remove it there.")
        return _no_server(key)
    if key.toolset in decided.files:
        return Rejected(
            f"Server {key} came with toolset {key.toolset!r}. Switch it off: pegboard servers disable {key}   Or take "
            f"it out of the toolset.yaml and import that again, or: pegboard toolset remove {key.toolset}"
        )
    owner = decided.toolsets.get(key.toolset)
    alone = all(other == key or other.toolset != key.toolset for other in decided.servers)
    orphaned = owner is not None and owner.user_mcp and alone
    kept = forgetting(decided, lambda other: other == key, toolset=key.toolset if orphaned else None)
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


def _missing(policy: Policy, what: Switchable | ToolsetKey) -> Rejected | None:
    """Tools come and go, so a switch may name one that is not listed now; its server must be known."""
    match what.source if isinstance(what, ToolId) else what:
        case ServerKey() | ToolsetKey() as key:
            return None if key in policy.servers else _no_server(key)
        case BuiltinKey():
            return None
        case toolset:
            known = toolset in policy.toolsets
            return None if known else Rejected(f"There is no toolset {toolset!r}. {_SEE[ToolsetKey]}")


def _no_server(key: ProviderKey) -> Rejected:
    what = f"no server {key}" if isinstance(key, ServerKey) else f"no toolset {key.toolset!r} with tools of its own"
    return Rejected(f"There is {what}. {_SEE[type(key)]}")


def _no_first_sight(policy: Policy, key: ProviderKey, specs: Mapping[ToolId, ToolSpec]) -> Rejected | None:
    server = policy.servers.get(key)
    if server is None:
        return _no_server(key)
    if policy.decided.was_seen(key):
        return Rejected(f"{key} was seen before: what it lists now must be approved one by one.")
    if server.quarantined or policy.trust(server) is Trust.STRICT:
        return Rejected(f"{key} is not trusted at first sight: what it lists must be approved one by one.")
    foreign = sorted(str(tool) for tool in specs if tool.source != key)
    if foreign:
        return Rejected(f"{foreign[0]} is not a tool of {key}: only its own tools are approved at first sight.")
    return None


def _misplaced(policy: Policy, override: Override) -> Rejected | None:
    if override.declared:
        return Rejected("A declared override lives in its file. Edit the file instead.")
    target = override.target
    if isinstance(target, ToolId) and target.toolset != override.toolset:
        return Rejected(f"{target} is not in toolset {override.toolset!r}, so the override would never fit.")
    return None if override.toolset == BUILTIN else _missing(policy, override.toolset)


def _not_said(policy: Policy, at: Override, what: tuple[str, ...]) -> Rejected:
    """What a file says at the same place is cleared there, and a person may have meant that one."""
    declared = next((row for row in policy.declared.overrides if place(row) == place(at)), None)
    places = [] if declared is None else [str(origin) for name in what if (origin := declared.origin(name))]
    where = f" It is declared at {', '.join(places)}: edit the file." if places else " See: pegboard overrides list"
    return Rejected(f"No person's override of {at.target} in {at.toolset!r} says {', '.join(what)}.{where}")
