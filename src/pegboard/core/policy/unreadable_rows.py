"""Rows of the store that cannot be read. What such a row may have closed stays closed until a person fixes it."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from pegboard.core.model.ids import (
    BuiltinKey,
    PrincipalId,
    ProviderKey,
    ServerKey,
    SourceKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
)
from pegboard.core.model.text import quote_name, shell_word, truncate
from pegboard.core.overrides.model import Override

CellValue: TypeAlias = str | bytes | int | float | None
Subject: TypeAlias = ToolId | ServerKey | ToolsetKey | ToolsetId | Override
"""What a row is about. Of an override only its toolset and its target are known."""

MAX_CELL_SHOWN: Final = 120
UNREADABLE_ROW: Final = "unreadable row "
"""How the subject of a notice begins that is about one."""
APPROVALS: Final = "approvals"
BASELINES: Final = "baselines"
TOKENS: Final = "api_tokens"
TOOLSETS: Final = "toolsets"
TRUST: Final = "trust"
CONFIRMATIONS: Final = "principal_confirmations"
TICKETS: Final = "tickets"
USES: Final = frozenset({"consent_uses", "token_uses"})
_OWN_TABLES: Final = frozenset({TOOLSETS, "toolset_mcp_servers", "toolset_own", "toolset_docker_containers"})


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One row, by its table and its primary key."""

    table: str
    key: tuple[tuple[str, CellValue], ...]

    @property
    def id(self) -> str:
        """A short name for it, the same for as long as its key is."""
        return hashlib.sha256(repr((self.table, self.key)).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def __str__(self) -> str:
        return f"table {self.table}, row {', '.join(f'{name}={_format_cell(cell)}' for name, cell in self.key)}"


@dataclass(frozen=True, slots=True)
class LocksTools:
    """Every tool that is, or belongs to, one of these."""

    subjects: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class LocksBoard:
    """The row may have closed any tool: nothing of its key can be read."""


@dataclass(frozen=True, slots=True)
class RevokesGrants:
    """This principal may use no toolset; `None`: any principal may be meant, so nobody without a readable grant."""

    principal: PrincipalId | None


@dataclass(frozen=True, slots=True)
class RevokesPermission:
    """The row only gave something, and without it nobody has that: a token, a standing permission, an approval."""

    principal: PrincipalId | None = None
    """Whose token it was, where that can be read."""


UnreadableEffect: TypeAlias = LocksTools | LocksBoard | RevokesGrants | RevokesPermission


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    row: StoredRow
    effect: UnreadableEffect
    why: str
    """What is wrong with it: for operators, never for agents."""
    orphans: tuple[StoredRow, ...] = ()
    """Readable rows that mean nothing without it, such as the tools of a toolset: they go when it goes."""

    @property
    def name(self) -> str:
        """As agents may read it. A key that says nothing of the tool may be another tool's, and is left out."""
        if isinstance(self.effect, LocksBoard):
            return f"table {self.row.table}, a row whose key cannot be read"
        return str(self.row)

    @property
    def is_decision(self) -> bool:
        """Whether the row is a part of the policy, and no ticket or last use."""
        return self.row.table != TICKETS and self.row.table not in USES


@dataclass(frozen=True)
class UnreadableIndex:
    """The unreadable rows by what they are about."""

    rows: tuple[UnreadableRow, ...] = ()

    def row_locking(self, tool: ToolId) -> UnreadableRow | None:
        """The row for which this tool is locked, its approval aside."""
        if not self.rows:
            return None
        whole = self.row_stopping(tool.source)
        if whole is not None:
            return whole
        if (row := self._by_subject.get(tool)) is not None:
            return row
        return next((row for override, row in self._overrides if override.matches(tool)), None)

    def row_stopping(self, source: SourceKey) -> UnreadableRow | None:
        """The row for which all of a provider's tools are locked, and nothing of it runs."""
        if not self.rows:
            return None
        if self._board is not None:
            return self._board
        found = None if isinstance(source, BuiltinKey) else self._by_subject.get(source)
        return found or self._by_subject.get(source.toolset)

    def approval(self, tool: ToolId) -> UnreadableRow | None:
        return self._approvals.get(tool)

    def hides_trust(self, key: ProviderKey) -> bool:
        return any(row.row.table == TRUST and _is_about(row, key) for row in self.rows)

    def hides_baseline(self, key: ProviderKey) -> bool:
        """Whether it is unknown that this provider was seen before: then it counts as seen."""
        return any(
            row.row.table == BASELINES and (isinstance(row.effect, RevokesPermission) or _is_about(row, key))
            for row in self.rows
        )

    def hides_files(self, toolset: ToolsetId) -> bool:
        return any(row.row.table == "toolset_files" and toolset in subjects_of(row) for row in self.rows)

    def grant(self, principal: PrincipalId) -> UnreadableRow | None:
        """The row for which this principal may use nothing, unless another row says what it may."""
        found = [row for row in self.rows if isinstance(row.effect, RevokesGrants)]
        own = (row for row in found if row.effect == RevokesGrants(principal))
        return next(own, None) or next((row for row in found if row.effect == RevokesGrants(None)), None)

    @cached_property
    def hides_confirmation(self) -> bool:
        """Whether it is unknown of some principal how its calls are confirmed: then no client confirms any."""
        return any(row.row.table == CONFIRMATIONS for row in self.rows)

    @cached_property
    def has_token(self) -> bool:
        return any(row.row.table == TOKENS for row in self.rows)

    @cached_property
    def callers(self) -> frozenset[PrincipalId]:
        """Whose tokens cannot be read, as far as that is known."""
        effects = (row.effect for row in self.rows if row.row.table == TOKENS)
        return frozenset(
            one.principal for one in effects if isinstance(one, RevokesPermission) and one.principal is not None
        )

    @cached_property
    def providers(self) -> frozenset[ProviderKey]:
        """Those whose own rows cannot be read, so that nothing is known of them but what was approved."""
        rows = (row for row in self.rows if row.row.table in _OWN_TABLES)
        return frozenset(key for row in rows for key in subjects_of(row) if isinstance(key, ServerKey | ToolsetKey))

    @cached_property
    def _board(self) -> UnreadableRow | None:
        return next((row for row in self.rows if isinstance(row.effect, LocksBoard)), None)

    @cached_property
    def _by_subject(self) -> "Mapping[ToolId | ServerKey | ToolsetKey | ToolsetId, UnreadableRow]":
        found: dict[ToolId | ServerKey | ToolsetKey | ToolsetId, UnreadableRow] = {}
        for row in self.rows:
            if row.row.table not in (APPROVALS, BASELINES):
                for subject in subjects_of(row):
                    if not isinstance(subject, Override):
                        found.setdefault(subject, row)
        return found

    @cached_property
    def _overrides(self) -> tuple[tuple[Override, UnreadableRow], ...]:
        return tuple((one, row) for row in self.rows for one in subjects_of(row) if isinstance(one, Override))

    @cached_property
    def _approvals(self) -> Mapping[ToolId, UnreadableRow]:
        rows = (row for row in self.rows if row.row.table == APPROVALS)
        return {one: row for row in rows for one in subjects_of(row) if isinstance(one, ToolId)}


def describe_effect(row: UnreadableRow) -> str:
    """What stays closed because of the row, as a sentence for operators."""
    table = row.row.table
    match row.effect:
        case LocksBoard():
            return "It may have closed any tool, so every tool is locked."
        case RevokesPermission() if table == BASELINES:
            return "Nothing is approved at first sight until it is fixed."
        case RevokesGrants(None):
            return "Any principal may be meant, so nobody without a readable grant may use anything."
        case RevokesGrants(principal):
            return f"{quote_name(principal)} may use no toolset."
        case RevokesPermission() if table == TOKENS:
            return "The token lets nobody in; the gateway goes on asking for tokens."
        case RevokesPermission() if table == CONFIRMATIONS:
            return (
                "No client confirms a call until it is fixed, but those of principals that the file marks interactive."
            )
        case RevokesPermission() if table == TICKETS:
            return "No call runs by it; a call that is repeated is asked about again."
        case RevokesPermission() if table in USES:
            return "It is not known when that was last used; nothing else depends on it."
        case RevokesPermission():
            return "What it allowed is not allowed."
        case LocksTools(about) if table == BASELINES:
            return f"Nothing of {_list_subjects(about)} is approved at first sight until it is fixed."
        case LocksTools(about) if table == APPROVALS:
            return (
                f"{_list_subjects(about)} is locked until it is approved again, unless the trust of its server is open."
            )
        case LocksTools(about):
            return f"Locked: {_list_subjects(about)}." if about else "Nothing more is locked by it."


def describe_row(row: UnreadableRow) -> str:
    """Which row it is, what is wrong with it, what stays closed, and what to do."""
    return (
        f"The store has a row that cannot be read ({row.row}): {row.why}. {describe_effect(row)} {repair_command(row)}"
    )


def repair_command(row: UnreadableRow) -> str:
    """The command that decides anew what the row decided, or deletes the row."""
    check = "pegboard store check --repair"
    if not row.is_decision:
        return f"Delete the row: {check}"
    match row.row.table, subjects_of(row):
        case "approvals", (ToolId() as tool,):
            word = shell_word(str(tool)) or "TOOL"
            return f"Review the tool and approve it again: pegboard approvals show {word}   Or delete the row: {check}"
        case _:
            return f"Delete the row, and decide again: {check}"


def _list_subjects(about: Iterable[Subject]) -> str:
    return ", ".join(quote_name(one.target if isinstance(one, Override) else one) for one in about)


def subjects_of(row: UnreadableRow) -> tuple[Subject, ...]:
    """What the row is about, where it locks tools."""
    return row.effect.subjects if isinstance(row.effect, LocksTools) else ()


def _is_about(row: UnreadableRow, key: ProviderKey) -> bool:
    return key in subjects_of(row)


def _format_cell(cell: CellValue) -> str:
    shown = repr(quote_name(cell)) if isinstance(cell, str) else repr(cell)
    return truncate(shown, MAX_CELL_SHOWN)
