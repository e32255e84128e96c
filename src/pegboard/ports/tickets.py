"""Calls that wait for a person, over every process."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from pegboard.core.consent import Consent
from pegboard.core.ids import CallId
from pegboard.core.ticket import ArgumentsTooLarge, NewTicket, Ticket, TicketDecision, TicketUse, TooManyTickets
from pegboard.core.tool import Json


class TicketsUnavailable(Exception):  # noqa: N818 - it is told to a caller as a sentence
    """Tickets can neither be read nor kept now; the message says why, and what to do."""


class NoTicketsError(TicketsUnavailable):
    """There is no place for tickets here, and never was: somebody's own program holds the board."""


class TicketStore(Protocol):
    """Calls that wait for a person. Every step happens once, whichever process asks. Raises `TicketsAway`."""

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
    """Standing permissions as the store holds them now, and when each was used last. Raises `StoreAway`."""

    async def find(self, id: str) -> Consent | None:
        """As it is at this moment, for a call that is about to run by it: another gateway may have revoked it."""
        ...

    async def save_uses(self, uses: Mapping[str, datetime]) -> None: ...

    async def last_uses(self) -> Mapping[str, datetime]: ...
