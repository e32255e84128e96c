"""Exports the decisions of a board and imports them into another. Toolset files are exported separately.

Toolsets that were imported have files, and are carried by their own export; what was decided about them travels here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar

from pegboard.core.commands.base import Command, DecisionSummary, count_text
from pegboard.core.model.confirmation import UNSET_CONFIRMATION, ConfirmationMode, PrincipalConfirmation
from pegboard.core.model.ids import (
    BUILTIN,
    BuiltinKey,
    PrincipalId,
    ProviderKey,
    ServerKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
)
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import Server, Trust, quarantine_server
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Approval, Consent, Policy, PolicyDecisions, Switch, Switchable

_REPLACED_TABLES: Final = frozenset(
    {"switches", "approvals", "baselines", "tool_overrides", "trust", "grants", "consents"}
)
"""Whatever their unreadable rows said is replaced, too."""

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class PolicyExport:
    servers: Mapping[ProviderKey, Server] = field(default_factory=dict[ProviderKey, Server])
    toolsets: Mapping[ToolsetId, Toolset] = field(default_factory=dict[ToolsetId, Toolset])
    switches: Mapping[Switchable, Switch] = field(default_factory=dict[Switchable, Switch])
    approvals: Mapping[ToolId, Approval] = field(default_factory=dict[ToolId, Approval])
    first_seen: Mapping[ProviderKey, datetime] = field(default_factory=dict[ProviderKey, datetime])
    overrides: tuple[Override, ...] = ()
    trust: Mapping[ProviderKey, Trust] = field(default_factory=dict[ProviderKey, Trust])
    grants: Mapping[PrincipalId, frozenset[ToolsetId]] = field(default_factory=dict[PrincipalId, frozenset[ToolsetId]])
    consents: Mapping[str, Consent] = field(default_factory=dict[str, Consent])
    confirmations: Mapping[PrincipalId, PrincipalConfirmation] = field(
        default_factory=dict[PrincipalId, PrincipalConfirmation]
    )
    """Only what restricts: a principal is marked interactive on each board by itself."""
    tokens_required: bool = False
    """Whether callers had to show tokens where it was exported. The tokens themselves are never carried."""


@dataclass(frozen=True)
class ReplaceDecisions(Command):
    """From now on what people decided is this, and nothing else of it. Each approval approves the one spec that it
    holds: what nobody has read stays locked."""

    export: PolicyExport
    allow_open: bool = False
    """Even if the policy comes from a board that requires tokens, and this one does not."""

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        refused = check_tokens_required(policy, self.export, self.allow_open)
        return refused or apply_import(policy, self.export, by)

    def describe(self) -> DecisionSummary:
        said = self.export
        counts = f"{count_text(len(said.servers), 'server')}, {count_text(len(said.approvals), 'approval')}"
        return DecisionSummary("policy", None, f"all decisions replaced by those of a file: {counts} and the rest")


def check_tokens_required(policy: Policy, said: PolicyExport, is_open: bool) -> CommandRejection | None:
    """Decisions that were made behind tokens are not put where anybody may call."""
    if not said.tokens_required or policy.requires_tokens or is_open:
        return None
    return CommandRejection(
        "This policy comes from a board that requires tokens, and this board does not: whoever reaches it could call "
        "every open tool. Make a token first: pegboard tokens make NAME --scope call   Or import it as it is: --open"
    )


def policy_export(decided: PolicyDecisions) -> PolicyExport:
    """A grant that is bound to a caller's credentials stays behind: elsewhere nobody has them."""
    return PolicyExport(
        servers={
            key: server
            for key, server in decided.servers.items()
            if isinstance(key, ServerKey) and key.toolset not in decided.files
        },
        toolsets={id: toolset for id, toolset in decided.toolsets.items() if id not in decided.files},
        switches=decided.switches,
        approvals=decided.approvals,
        first_seen=decided.first_seen,
        overrides=decided.overrides,
        trust=decided.trust,
        grants=decided.grants,
        consents={id: consent for id, consent in decided.consents.items() if consent.identity is None},
        confirmations={
            who: strict
            for who, said in decided.confirmations.items()
            if (strict := _restrictions_of(said)) != UNSET_CONFIRMATION
        },
    )


def _restrictions_of(said: PrincipalConfirmation) -> PrincipalConfirmation:
    """What of it restricts. That a person sits at a principal's clients is true of one board, and does not travel."""
    unmarked, by_ticket = said.interactive is False, said.mode is ConfirmationMode.TICKET
    return PrincipalConfirmation(
        False if unmarked else None,
        said.mode if by_ticket else None,
        said.interactive_at if unmarked else None,
        said.mode_at if by_ticket else None,
    )


def _restrict(here: PrincipalConfirmation, said: PrincipalConfirmation) -> PrincipalConfirmation:
    """As it is here, with what the file restricts."""
    strict = _restrictions_of(said)
    if strict.interactive is not None:
        here = replace(here, interactive=False, interactive_at=strict.interactive_at)
    return here if strict.mode is None else replace(here, mode=strict.mode, mode_at=strict.mode_at)


def apply_import(policy: Policy, said: PolicyExport, by: PrincipalId) -> PolicyDecisions | CommandRejection:
    wrong = tuple(import_conflicts(policy, said))
    if wrong:
        return CommandRejection("\n".join(wrong))
    decided, here = policy.decisions, _ImportTarget(policy, said)
    added = said.servers
    if policy.is_agent(by):
        added = {key: server if key in decided.servers else quarantine_server(server) for key, server in added.items()}
    return replace(
        decided,
        servers={**{key: each for key, each in decided.servers.items() if key.toolset in decided.files}, **added},
        toolsets={**{id: each for id, each in decided.toolsets.items() if id in decided.files}, **said.toolsets},
        switches={what: each for what, each in said.switches.items() if here.has(what)},
        approvals={tool: each for tool, each in said.approvals.items() if here.has(tool)},
        first_seen={key: at for key, at in said.first_seen.items() if here.has(key)},
        overrides=tuple(row for row in said.overrides if here.has(row.toolset)),
        trust={key: each for key, each in said.trust.items() if here.has(key)},
        grants=said.grants,
        consents={
            **{id: consent for id, consent in decided.consents.items() if consent.identity is not None},
            **{id: consent for id, consent in said.consents.items() if here.has(consent.tool)},
        },
        confirmations={
            **decided.confirmations,
            **{
                who: _restrict(decided.confirmations.get(who, UNSET_CONFIRMATION), each)
                for who, each in said.confirmations.items()
            },
        },
        unreadable=tuple(row for row in decided.unreadable if row.row.table not in _REPLACED_TABLES),
    )


def import_conflicts(policy: Policy, said: PolicyExport) -> Iterator[str]:
    """What contradicts this board, each with what to do. Nothing is carried then."""
    files, declared = policy.decisions.files, policy.declared
    for key in said.servers:
        if key in declared.servers:
            yield f"Server {key} is declared at {declared.servers[key].origin}. Take it out of one of both files."
        elif key.toolset in declared.toolsets:
            where = declared.toolsets[key.toolset].origin
            yield f"Server {key}: its toolset is declared at {where}. Take it out of one of both files."
        elif key.toolset in files:
            yield f"Server {key}: toolset {key.toolset!r} was imported here, and has what its toolset.yaml says."
        elif key.toolset not in said.toolsets:
            yield f"Server {key} belongs to toolset {key.toolset!r}, which is not in this file. Write it there."
    for id in said.toolsets:
        if (id in declared.toolsets or id in files) and not any(key.toolset == id for key in said.servers):
            yield f"Toolset {id!r} is here already, and not by a decision of this kind. Take it out of this file."
    for override in said.overrides:
        if isinstance(override.target, ToolId) and override.target.toolset != override.toolset:
            yield f"The override of {override.target} stands in toolset {override.toolset!r}, so it would never fit."
    if declared.consent_days is not None:
        for consent in said.consents.values():
            if consent.until is None and policy.decisions.consents.get(consent.id) != consent:
                yield (
                    f"Standing permission {consent.id} has no end, and on this board each has one. Write a date after "
                    "`until` in the file, or consent_days: never under confirmation in pegboard.yaml."
                )


def describe_left_out(policy: Policy, said: PolicyExport) -> Iterator[str]:
    """Decisions about what is not on this board. They are not kept: what comes later by such a name is another."""
    here = _ImportTarget(policy, said)
    for words, what in _imported_subjects(said):
        if not here.has(what):
            yield f"{words} is left out: {_explain_missing(what)}"


class _ImportTarget:
    """What there will be on this board."""

    def __init__(self, policy: Policy, said: PolicyExport) -> None:
        files = policy.decisions.files
        kept = {key for key in policy.decisions.servers if key.toolset in files}
        self._sources = {*said.servers, *policy.declared.servers, *kept}
        self._toolsets = {*said.toolsets, *policy.declared.toolsets, *files, BUILTIN}

    def has(self, what: Switchable | ProviderKey) -> bool:
        match what:
            case ToolId(source):
                return isinstance(source, BuiltinKey) or source in self._sources
            case ServerKey() | ToolsetKey():
                return what in self._sources
            case toolset:
                return toolset in self._toolsets


def _imported_subjects(said: PolicyExport) -> Iterator[tuple[str, Switchable | ProviderKey]]:
    for what in said.switches:
        yield f"The switch of {what}", what
    for tool in said.approvals:
        yield f"The approval of {tool}", tool
    for key in {**said.first_seen, **said.trust}:
        yield f"The trust in {key}", key
    for override in said.overrides:
        yield f"The override of {override.target}", override.toolset
    for consent in said.consents.values():
        yield f"The standing permission {consent.id}", consent.tool


def _explain_missing(what: Switchable | ProviderKey) -> str:
    of = what.source if isinstance(what, ToolId) else what
    if isinstance(of, ServerKey):
        return f"there is no server {of} here. Add it first to keep it."
    return f"there is no toolset {str(of)!r} here. Import it first to keep it."


@dataclass(frozen=True)
class DecisionDifference:
    """How the decisions of one kind differ: by what each is about."""

    kind: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def decision_differences(before: PolicyExport, after: PolicyExport) -> Iterator[DecisionDifference]:
    """Only the kinds in which something differs."""
    for kind, was, now in (
        ("servers", _by_text_key(before.servers), _by_text_key(after.servers)),
        ("toolsets", _by_text_key(before.toolsets), _by_text_key(after.toolsets)),
        ("trust", _by_text_key(before.trust), _by_text_key(after.trust)),
        ("first_sights", _by_text_key(before.first_seen), _by_text_key(after.first_seen)),
        ("switches", _by_text_key(before.switches), _by_text_key(after.switches)),
        ("approvals", _by_text_key(before.approvals), _by_text_key(after.approvals)),
        ("overrides", _overrides_by_target(before.overrides), _overrides_by_target(after.overrides)),
        ("grants", _by_text_key(before.grants), _by_text_key(after.grants)),
        ("confirmations", _by_text_key(before.confirmations), _by_text_key(after.confirmations)),
        ("remembered", _by_text_key(before.consents), _by_text_key(after.consents)),
    ):
        altered = DecisionDifference(
            kind,
            tuple(sorted(now.keys() - was.keys())),
            tuple(sorted(was.keys() - now.keys())),
            tuple(sorted(name for name in was.keys() & now.keys() if was[name] != now[name])),
        )
        if altered.added or altered.removed or altered.changed:
            yield altered


def _by_text_key(values: Mapping[K, V]) -> Mapping[str, object]:
    return {str(key): value for key, value in values.items()}


def _overrides_by_target(overrides: tuple[Override, ...]) -> Mapping[str, object]:
    """Who said it is no part of what it says."""
    return {f"{row.toolset} {row.target}": replace(row, origins={}) for row in overrides}
