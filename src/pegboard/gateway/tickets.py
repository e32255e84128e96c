"""Where a person decides: lists the calls that wait, allows or denies one, and gives standing permissions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.commands import Rejected, Remember
from pegboard.core.consent import Lifetime, call_fingerprint, end_of
from pegboard.core.explain import seen_by
from pegboard.core.ids import CallId, PrincipalId
from pegboard.core.leftover import as_it_stands, gone_text, is_for_itself, is_of_board, needs_second_step
from pegboard.core.redact import WHOLE, is_cut, shorten
from pegboard.core.secret_marks import DisplayedArguments
from pegboard.core.ticket import (
    DISPLAYED,
    Begun,
    Ruling,
    Scope,
    State,
    Ticket,
    TooLarge,
    TooMany,
    Wanted,
    not_revealable,
    undecidable,
    unread_text,
)
from pegboard.core.tool import Json, JsonObject
from pegboard.core.view import View
from pegboard.ports import Clock, NoTicketsError, Stale, TicketsAway

from .board import Board
from .confirmation import Confirmation, fresh_id
from .operate import NotSaved, Operator

MOST_LISTED: Final = 500
MOST_COUNTED: Final = 1_000
"""More may not wait at once."""
COUNTED_WITHIN: Final = 2.0
_NONE: Final = "This gateway keeps no tickets."


@dataclass(frozen=True, slots=True)
class StandingTerms:
    """What holds for a standing permission beside one ticket."""

    possible: bool
    destructive: bool
    """Whether it must be confirmed a second time."""
    days: int | None
    """How long it lasts unless another end is chosen; `None` for ever."""


@dataclass(frozen=True)
class TicketDesk:
    board: Board
    operator: Operator
    confirmation: Confirmation
    clock: Clock

    async def waiting(self) -> Sequence[Ticket]:
        return await self._waiting(MOST_LISTED)

    async def _waiting(self, most: int) -> Sequence[Ticket]:
        found = await self.confirmation.tickets.listed(waiting_at=self.clock(), limit=most)
        return [ticket for ticket in found if is_of_board(ticket, self.board.policy)]

    async def count(self) -> int | None:
        """How many wait; `None` where the store does not tell at once."""
        try:
            with anyio.fail_after(COUNTED_WITHIN):
                return len(await self._waiting(MOST_COUNTED))
        except (TicketsAway, TimeoutError):
            return None

    async def latest(self) -> Sequence[Ticket]:
        found = await self.confirmation.tickets.listed(limit=MOST_LISTED)
        return [as_it_stands(ticket, self.board.policy) for ticket in found]

    async def find(self, id: str) -> Ticket | None:
        found = await self.confirmation.tickets.find(id)
        return None if found is None else as_it_stands(found, self.board.policy)

    async def display(self, ticket: Ticket, *, full: bool = False) -> DisplayedArguments | None:
        """Its arguments as a person sees them who decides; `None` where they are not kept, or not any more."""
        found = await self.confirmation.tickets.arguments(ticket.id)
        if found is None:
            return None
        show = self.confirmation.display.display
        return await anyio.to_thread.run_sync(show, self._schema(ticket), found, WHOLE if full else DISPLAYED)

    async def redacted(self, ticket: Ticket) -> JsonObject | None:
        """All of its arguments without what looks like a secret, for those who look and do not decide."""
        found = await self.confirmation.tickets.arguments(ticket.id)
        redact = self.confirmation.display.redact
        return None if found is None else await anyio.to_thread.run_sync(redact, self._schema(ticket), found, WHOLE)

    async def reveal(self, id: str, by: PrincipalId) -> tuple[Ticket, JsonObject] | Rejected | None:
        """All arguments of a waiting call with nothing masked, for a person who decides about it. It is recorded."""
        ticket = await self.find(id)
        if ticket is None:
            return None
        if (why := not_revealable(ticket, self.clock())) is not None:
            return Rejected(why)
        found = await self.confirmation.tickets.arguments(id)
        if found is None:
            return Rejected(f"The arguments of ticket {id} are not kept, so no more of them can be revealed.")
        displayed = await anyio.to_thread.run_sync(self.confirmation.display.display, self._schema(ticket), found)
        said = (
            f"the masked arguments of ticket {id} of {ticket.principal} are revealed"
            if displayed.masked
            else f"the arguments of ticket {id} of {ticket.principal} are read; none of them was masked"
        )
        self.operator.record("ticket", str(ticket.tool), said, by)
        whole = await anyio.to_thread.run_sync(shorten, found, WHOLE)
        return ticket, whole if isinstance(whole, dict) else {}

    def _schema(self, ticket: Ticket) -> Mapping[str, Json]:
        """Of the tool as it was when the call was made. Where it is not known any more, nothing is marked."""
        policy = self.board.policy
        tool, approval = self.board.catalogue.tools.get(ticket.tool), policy.decided.approvals.get(ticket.tool)
        if tool is not None:
            spec = seen_by(tool, policy, View(ticket.principal)).spec
            if spec.fingerprint == ticket.fingerprint:
                return spec.input_schema
        if approval is not None and approval.fingerprint == ticket.fingerprint:
            return approval.spec.input_schema
        return {}

    def terms(self, ticket: Ticket) -> StandingTerms:
        """On which terms further calls like that of this ticket can be allowed as well."""
        policy, tool = self.board.policy, self.board.catalogue.tools.get(ticket.tool)
        return StandingTerms(
            not is_for_itself(ticket, policy, tool),
            needs_second_step(ticket, policy, tool),
            policy.declared.standing_days,
        )

    async def last_uses(self) -> Mapping[str, datetime]:
        """Of standing permissions, by their ids."""
        return await self.confirmation.consent_uses.latest()

    async def allow(
        self,
        id: str,
        scope: Scope,
        by: PrincipalId,
        note: str = "",
        *,
        lifetime: Lifetime | None = None,
        confirms_destructive: bool = False,
    ) -> Ticket | Rejected | None:
        """`None` when there is no such ticket. The decision comes first: should a standing permission not be saved
        after it, one call too few runs without confirmation, and never one too many."""
        ticket = await self.find(id)
        if ticket is None:
            return None
        if ticket.at(self.clock()) is State.WAITING and is_cut(ticket.shown) and await self.display(ticket) is None:
            return Rejected(unread_text(ticket))
        if scope is Scope.ONCE:
            return await self._decided(ticket, State.GRANTED, scope, by, note)
        until = self._checked_end(ticket, scope, lifetime, confirms_destructive)
        if isinstance(until, Rejected):
            return until
        decided = await self._decided(ticket, State.GRANTED, scope, by, note)
        if isinstance(decided, Rejected):
            return decided
        client = ticket.client if scope is Scope.CLIENT else None
        fingerprint = call_fingerprint(ticket.fingerprint, ticket.overrides)
        command = Remember(fresh_id(), ticket.tool, fingerprint, ticket.principal, client, until, ticket.whose)
        match await self.operator.do(command, by):
            case Rejected(why) as rejected:
                kind = NotSaved if isinstance(rejected, NotSaved) else Rejected
                return kind(f"Ticket {id} is allowed once, but the standing permission is not saved: {why}")
            case Stale():
                return NotSaved(
                    f"Ticket {id} is allowed once, but the standing permission is not saved: others decide too fast."
                )
            case _:
                return decided

    def _checked_end(
        self, ticket: Ticket, scope: Scope, lifetime: Lifetime | None, confirms_destructive: bool
    ) -> datetime | Rejected | None:
        """When the standing permission would end, or why there can be none."""
        terms = self.terms(ticket)
        if scope is Scope.CLIENT and not ticket.client:
            return Rejected(
                f"The client of ticket {ticket.id} did not say what it is, so it would not be known again. "
                f"Allow it once, or always: pegboard tickets allow {ticket.id} --always"
            )
        if not terms.possible:
            return Rejected(
                f"Each call like that of ticket {ticket.id} is asked about by itself, so a yes to further ones would "
                f"have no effect. Allow this one: pegboard tickets allow {ticket.id}"
            )
        if terms.destructive and not confirms_destructive:
            return Rejected(
                f"{ticket.tool} claims to be destructive, or is not listed as it was when ticket {ticket.id} was made. "
                "A standing permission for it lets every further call run without confirmation, whatever its "
                "arguments. If you want that, confirm it: send confirmDestructive, or run "
                f"pegboard tickets allow {ticket.id} --{scope.value} --yes-destructive"
            )
        return end_of(lifetime, terms.days, self.clock())

    async def deny(self, id: str, by: PrincipalId, note: str = "") -> Ticket | Rejected | None:
        ticket = await self.find(id)
        return None if ticket is None else await self._decided(ticket, State.DENIED, None, by, note)

    async def _decided(
        self, ticket: Ticket, state: State, scope: Scope | None, by: PrincipalId, note: str
    ) -> Ticket | Rejected:
        now = self.clock()
        if not is_of_board(ticket, self.board.policy):
            return Rejected(gone_text(ticket))
        deadline = now + timedelta(seconds=self.board.policy.declared.confirmation_seconds)
        done = await self.confirmation.tickets.decide(ticket.id, Ruling(state, by, now, deadline, scope, note))
        found = await self.find(ticket.id) or ticket
        if not done:
            return Rejected(undecidable(found, now))
        self.confirmation.decided.ring()
        said = f"{'denied' if scope is None else 'allowed'} a call of {ticket.principal} (ticket {ticket.id})"
        self.operator.record("ticket", str(ticket.tool), said, by)
        return found


class NoTickets:
    """For a gateway without a place to keep tickets: who cannot be asked through its own client is told so."""

    async def claim(self, wanted: Wanted, now: datetime, deadline: datetime) -> Begun | Ticket | TooMany | TooLarge:
        raise NoTicketsError(_NONE)

    async def begin(self, ticket: Ticket, call: CallId, now: datetime) -> Begun | None:
        raise NoTicketsError(_NONE)

    async def end(self, id: str, ended: str, call: CallId) -> None:
        raise NoTicketsError(_NONE)

    async def decide(self, id: str, ruling: Ruling) -> bool:
        raise NoTicketsError(_NONE)

    async def withdraw(self, ids: Sequence[str], now: datetime) -> None:
        raise NoTicketsError(_NONE)

    async def find(self, id: str) -> Ticket | None:
        return None

    async def arguments(self, id: str) -> Mapping[str, Json] | None:
        return None

    async def listed(self, *, waiting_at: datetime | None = None, limit: int = 100) -> Sequence[Ticket]:
        return ()
