"""Stores: policy, tickets, consents, runs, sessions, secrets and others."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from pegboard.core.calls.programs import StartedRun, StoredRun, SuspendedRun
from pegboard.core.calls.tickets import ArgumentsTooLarge, NewTicket, Ticket, TicketDecision, TicketUse, TooManyTickets
from pegboard.core.json.values import Json
from pegboard.core.model.ids import CallId, PrincipalId, ToolId
from pegboard.core.model.tool import Fingerprint
from pegboard.core.policy.policy import Consent, PolicyDecisions
from pegboard.core.presentations.evaluation import SavedQuery

# Where what people decided is kept.


@dataclass(frozen=True, slots=True)
class SavedVersion:
    version: int


@dataclass(frozen=True, slots=True)
class StaleVersion:
    """Someone else decided meanwhile: nothing was written. Load again and look before deciding."""

    current_version: int


class PolicyStore(Protocol):
    async def load(self) -> PolicyDecisions: ...

    async def save(
        self, before: PolicyDecisions, after: PolicyDecisions, *, by: PrincipalId, what: str, at: datetime
    ) -> SavedVersion | StaleVersion:
        """All of the change or nothing of it, and only if `before` is still what the store holds."""
        ...

    def changes(self) -> AsyncIterator[None]:
        """Yields when another process may have saved."""
        ...


class TicketsUnavailable(Exception):  # noqa: N818 - it is told to a caller as a sentence
    """Tickets can neither be read nor kept now; the message says why, and what to do."""


class NoTicketsError(TicketsUnavailable):
    """There is no place for tickets here, and never was: somebody's own program holds the board."""


class TicketStore(Protocol):
    """Calls that wait for a person. Every step happens once, whichever process asks. Raises `TicketsUnavailable`."""

    async def claim(
        self, wanted: NewTicket, now: datetime, deadline: datetime
    ) -> TicketUse | Ticket | TooManyTickets | ArgumentsTooLarge:
        """Use the yes that is there for this very call; else tell the ticket that stands for it, or make one."""
        ...

    async def begin(self, ticket: Ticket, call: CallId, now: datetime) -> TicketUse | None:
        """Use this ticket's yes, with the arguments it was asked with. `None` when that cannot be, and nothing is."""
        ...

    async def end(self, id: str, ended: str, call: CallId) -> None:
        """The call that used the ticket has ended so."""
        ...

    async def decide(self, id: str, ruling: TicketDecision) -> bool:
        """Whether the ticket was waiting, and so is decided by this now."""
        ...

    async def withdraw(self, ids: Sequence[str], now: datetime) -> None:
        """Whoever asked is gone: nobody need decide about these any more, and no yes to them is used."""
        ...

    async def find(self, id: str) -> Ticket | None: ...

    async def arguments(self, id: str) -> Mapping[str, Json] | None:
        """All arguments of the call that the ticket is for. `None` where they are not kept, or not any more."""
        ...

    async def list_tickets(self, *, waiting_at: datetime | None = None, limit: int = 100) -> Sequence[Ticket]:
        """Latest first; with a time, only those that wait for a decision then, the next deadline first."""
        ...


class ConsentStore(Protocol):
    """Standing permissions as the store holds them now, and when each was used last. Raises `StoreUnavailable`."""

    async def find(self, id: str) -> Consent | None:
        """As it is at this moment, for a call that is about to run by it: another gateway may have revoked it."""
        ...

    async def save_uses(self, uses: Mapping[str, datetime]) -> None: ...

    async def last_uses(self) -> Mapping[str, datetime]: ...


# Programs that run, and those that wait for a person, over every process.


class RunsUnavailable(TicketsUnavailable):
    """Suspended programs can neither be read nor kept now; the message says why, and what to do."""


class RunStore(Protocol):
    """Each is gone on with once, whichever process asks. Raises `RunsUnavailable`."""

    async def save(self, run: SuspendedRun, now: datetime) -> None:
        """In place of what was kept of it before. A ticket that another one waited for is this one's from now on."""
        ...

    async def find_waiting(self, ticket: str, now: datetime) -> StoredRun | None:
        """The one that goes on once this ticket is decided, until its time is over."""
        ...

    async def claim(self, found: StoredRun, now: datetime) -> bool:
        """Whether whoever asks is the one who goes on with it. Its state is gone then."""
        ...

    async def end(self, id: CallId) -> None:
        """It has ended, or never goes on."""
        ...


class ActiveRuns(Protocol):
    """Programs under way, so that each is known of should this process be killed. Neither waits nor fails."""

    def begin(self, begun: StartedRun) -> None: ...

    def end(self, id: CallId) -> None:
        """Once its record was handed to the audit."""
        ...


# Queries that people keep, with the tools that they should find.


class QueryStore(Protocol):
    """By name. Raises `StoreUnavailable`."""

    async def all(self) -> Sequence[SavedQuery]:
        """By name, no more than `MOST_QUERIES`."""
        ...

    async def save(self, query: SavedQuery) -> bool:
        """In place of one of the same name; false when there are `MOST_QUERIES` others already."""
        ...

    async def delete(self, name: str) -> bool:
        """Whether there was one."""
        ...


# Where it is kept since when tools wait for a person.


class PendingSinceStore(Protocol):
    """By the ids of tools, each with the definition that waits. Raises `StoreUnavailable`."""

    async def record_pending(
        self, waiting: Mapping[ToolId, Fingerprint], settled: Collection[ToolId], at: datetime
    ) -> Mapping[ToolId, datetime]:
        """Since when each of those waits, exactly so; `at` for what was not known to. Of what is settled nothing is
        kept any longer."""
        ...


# Where visits of browsers are kept, so that a restart of the gateway ends none.


@dataclass(frozen=True, slots=True)
class StoredSession:
    """Both marks are made with a key that is not in the store: whoever reads or writes it can make no visit of it."""

    secret: str
    """Of what the cookie holds."""
    token: str
    """Of the token that began it."""
    began_at: datetime
    last_seen_at: datetime


class SessionStore(Protocol):
    """By the place of a gateway: no other gateway on the same store takes its visits. Raises `StoreUnavailable`."""

    async def load(self, place: str) -> Sequence[StoredSession]:
        """The one that was seen last stands last."""
        ...

    async def save(
        self, place: str, visits: Sequence[StoredSession], ended: Collection[str], seen_after: datetime
    ) -> None:
        """Writes those, and forgets what has ended, by the marks of its secrets, and what nobody saw since then."""
        ...

    async def end_all(self) -> None:
        """Those of every gateway: whoever asks may not know the key or the place of the one that is meant."""
        ...


# Where it is kept when each API token was used last.


class TokenUsageStore(Protocol):
    """By the ids of tokens. Raises `StoreUnavailable`."""

    async def save_uses(self, uses: Mapping[str, datetime]) -> None: ...

    async def last_uses(self) -> Mapping[str, datetime]: ...


# What is kept so that only this gateway can read it.


@dataclass(frozen=True)
class UnreadableSecret:
    """Something is kept, and nobody can read it: a sentence that says why, and what to do."""

    why: str


class SecretsUnavailable(Exception):  # noqa: N818 - it is told to a person as a sentence
    """Secrets can neither be read nor kept now; the message says why, and what to do."""


class SecretStore(Protocol):
    """What is kept encrypted, by name. Raises `SecretsUnavailable`."""

    async def load(self, name: str) -> bytes | UnreadableSecret | None: ...

    async def save(self, name: str, value: bytes) -> None: ...

    async def delete(self, name: str) -> None: ...


# How the store is: what an operator wants to know of the database behind the board.


@dataclass(frozen=True)
class Storage:
    engine: str
    version: str
    """Of the engine."""
    revision: str
    """Of the tables."""
    size: int
    """Bytes, all that belongs to the database."""
    calls: int
    """Rows of activity."""
    oldest: datetime | None
    keep_days: float | None
    keep_rows: int | None
    arguments: bool
    results: bool
    """Whether arguments and results of calls are recorded."""


StorageProbe: TypeAlias = Callable[[], Awaitable[Storage]]
"""Raises `StoreUnavailable`, in words that may be shown."""
