"""The command that deletes unreadable rows, and how other commands treat them."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from pegboard.core.commands.base import (
    MAX_NAMED,
    Command,
    DecisionSummary,
    and_more,
    count_text,
    forget_providers,
)
from pegboard.core.model.ids import BuiltinKey, PrincipalId, ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import Server
from pegboard.core.model.tool import OwnTools
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Policy, PolicyDecisions
from pegboard.core.policy.unreadable_rows import (
    BASELINES,
    CONFIRMATIONS,
    LocksTools,
    RevokesGrants,
    RevokesPermission,
    StoredRow,
    Subject,
    UnreadableRow,
    subjects_of,
)

_TOOLSET_TABLES = frozenset(
    {"toolsets", "toolset_mcp_servers", "toolset_own", "tools", "toolset_docker_containers", "toolset_files"}
)


@dataclass(frozen=True, slots=True)
class DeleteRows(Command):
    """Delete rows that cannot be read. What they decided is then undecided: what they closed may open."""

    rows: tuple[StoredRow, ...]

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        decided, known = policy.decisions, {row.row: row for row in policy.decisions.unreadable}
        for row in self.rows:
            if row not in known:
                return CommandRejection(f"There is no unreadable row of {row}. Look again: pegboard store check")
        for row in self.rows:
            decided = _delete_row(policy, decided, known[row], at)
        return replace(decided, unreadable=tuple(row for row in decided.unreadable if row.row not in self.rows))

    def describe(self) -> DecisionSummary:
        deleted = f"{'; '.join(map(str, self.rows[:MAX_NAMED]))}{and_more(self.rows)}"
        return DecisionSummary("store", None, f"deleted {count_text(len(self.rows), 'unreadable row')}: {deleted}")


def _delete_row(policy: Policy, decided: PolicyDecisions, row: UnreadableRow, at: datetime) -> PolicyDecisions:
    """A provider that was seen before stays seen, and what is gone takes with it what was decided about it."""
    if row.row.table == BASELINES:
        named = [key for key in subjects_of(row) if isinstance(key, ServerKey | ToolsetKey)]
        return replace(decided, first_seen={**dict.fromkeys(named or policy.servers, at), **decided.first_seen})
    if row.row.table not in _TOOLSET_TABLES:
        return decided
    subjects = subjects_of(row)
    if row.row.table == "tools":
        decided = replace(
            decided, servers={key: _remove_tool_entries(one, subjects) for key, one in decided.servers.items()}
        )
    toolset = next((one for one in subjects if isinstance(one, str)), None) if row.row.table == "toolsets" else None
    return forget_providers(
        decided,
        lambda key: key in subjects or key.toolset == toolset,
        tools=lambda tool: tool in subjects,
        toolset=toolset,
    )


def _remove_tool_entries(server: Server, subjects: tuple[Subject, ...]) -> Server:
    own = server.connection
    if not isinstance(own, OwnTools):
        return server
    gone = {one.name for one in subjects if isinstance(one, ToolId) and one.source == server.key}
    if not gone:
        return server
    python = tuple(tool for tool in own.python if tool.spec.name not in gone)
    commands = tuple(tool for tool in own.commands if tool.spec.name not in gone)
    return replace(server, connection=replace(own, python=python, commands=commands))


def drop_superseded_rows(
    before: PolicyDecisions, after: PolicyDecisions, switched: Collection[Subject] = ()
) -> PolicyDecisions:
    """Without the unreadable rows that the change decided anew, or whose toolset or server it removed. What was
    `switched` may have no switch any more, because that is as good as one that is on."""
    if not after.unreadable:
        return after
    anew = [LocksTools((one,)) for one in switched]
    kept = tuple(
        row
        for row in after.unreadable
        if not _is_superseded(row, before, after) and not (row.row.table == "switches" and row.effect in anew)
    )
    return after if len(kept) == len(after.unreadable) else replace(after, unreadable=kept)


def without_grant(decided: PolicyDecisions, *effects: RevokesGrants) -> PolicyDecisions:
    return replace(decided, unreadable=tuple(row for row in decided.unreadable if row.effect not in effects))


def without_confirmation(decided: PolicyDecisions, principal: PrincipalId) -> PolicyDecisions:
    """Without an unreadable row about how this principal's calls are confirmed."""
    own = RevokesPermission(principal)
    kept = tuple(row for row in decided.unreadable if row.row.table != CONFIRMATIONS or row.effect != own)
    return replace(decided, unreadable=kept)


def _is_superseded(row: UnreadableRow, before: PolicyDecisions, after: PolicyDecisions) -> bool:
    if isinstance(row.effect, RevokesGrants):
        who = row.effect.principal
        return who is not None and after.grants.get(who) is not before.grants.get(who)
    if (
        row.row.table == CONFIRMATIONS
        and isinstance(row.effect, RevokesPermission)
        and row.effect.principal is not None
    ):
        who = row.effect.principal
        return after.confirmations.get(who) is not before.confirmations.get(who)
    subjects = subjects_of(row)
    if any(_is_gone(one, before, after) for one in subjects):
        return True
    # Of several things that a row may be about, one that is decided anew says nothing of the others.
    return len(subjects) > 0 and all(_is_decided_anew(row.row.table, one, before, after) for one in subjects)


def _is_gone(subject: Subject, before: PolicyDecisions, after: PolicyDecisions) -> bool:
    """Whether its server or toolset was there, and is no more."""
    match subject:
        case ToolId(BuiltinKey()):
            return False
        case ToolId(ServerKey() | ToolsetKey() as key) | (ServerKey() as key) | (ToolsetKey() as key):
            return (key in before.servers and key not in after.servers) or _has_left(key.toolset, before, after)
        case Override(toolset):
            return _has_left(toolset, before, after)
        case ToolId():
            return False
        case toolset:
            return _has_left(toolset, before, after)


def _has_left(toolset: ToolsetId, before: PolicyDecisions, after: PolicyDecisions) -> bool:
    return toolset in before.toolsets and toolset not in after.toolsets


def _is_decided_anew(table: str, subject: Subject, before: PolicyDecisions, after: PolicyDecisions) -> bool:
    match table, subject:
        case "approvals", ToolId():
            return _differs(after.approvals.get(subject), before.approvals.get(subject))
        case "switches", ToolId() | ServerKey() | str():
            return _differs(after.switches.get(subject), before.switches.get(subject))
        case "trust", ServerKey() | ToolsetKey():
            return _differs(after.trust.get(subject), before.trust.get(subject))
        case "baselines", ServerKey() | ToolsetKey():
            return _differs(after.first_seen.get(subject), before.first_seen.get(subject))
        case "tool_overrides", Override():
            return _differs(_override(after, subject), _override(before, subject))
        case _, ToolId() | ServerKey() | ToolsetKey() if table in _TOOLSET_TABLES:
            toolset = subject.toolset
            return _differs(after.files.get(toolset), before.files.get(toolset)) or (
                isinstance(subject, ServerKey) and _differs(after.servers.get(subject), before.servers.get(subject))
            )
        case _, str() if table in _TOOLSET_TABLES:
            return _differs(after.toolsets.get(subject), before.toolsets.get(subject)) or _differs(
                after.files.get(subject), before.files.get(subject)
            )
        case _:
            return False


def _differs(after: object, before: object) -> bool:
    return after is not None and after is not before


def _override(decided: PolicyDecisions, place: Override) -> Override | None:
    rows = decided.manifest_overrides if place.from_manifest else decided.overrides
    return next((row for row in rows if (row.toolset, row.target) == (place.toolset, place.target)), None)
