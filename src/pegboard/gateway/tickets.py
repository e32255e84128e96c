"""Lists tickets, records decisions, and creates standing permissions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.calls.secret_arguments import DisplayedArguments
from pegboard.core.calls.tickets import (
    DISPLAY_LIMITS,
    ArgumentsTooLarge,
    ConsentScope,
    NewTicket,
    Ticket,
    TicketDecision,
    TicketState,
    TicketUse,
    TooManyTickets,
    confirms_one_call,
    explain_not_revealable,
    explain_undecidable,
    is_on_board,
    needs_second_step,
    unread_text,
    withdraw_if_orphaned,
    withdrawn_text,
)
from pegboard.core.commands.commands import AddConsent
from pegboard.core.explain.explain import tool_seen_by
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import CallId, PrincipalId
from pegboard.core.model.redaction import NO_DISPLAY_LIMITS, is_cut, shorten
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.policy.policy import Lifetime, call_fingerprint, consent_end
from pegboard.gateway.board import BoardState
from pegboard.gateway.confirmation import Confirmation, new_ticket_id
from pegboard.gateway.operator import Operator, SaveFailure
from pegboard.ports.providers import Clock
from pegboard.ports.stores import NoTicketsError, StaleVersion, TicketsUnavailable

MAX_LISTED_TICKETS: Final = 500
MAX_COUNTED_TICKETS: Final = 1_000
"""More may not wait at once."""
COUNT_TIMEOUT_S: Final = 2.0
_NO_TICKETS_TEXT: Final = "This gateway keeps no tickets."


@dataclass(frozen=True, slots=True)
class ConsentTerms:
    """What holds for a standing permission beside one ticket."""

    possible: bool
    destructive: bool
    """Whether it must be confirmed a second time."""
    days: int | None
    """How long it lasts unless another end is chosen; `None` for ever."""


@dataclass(frozen=True)
class TicketDesk:
    board: BoardState
    operator: Operator
    confirmation: Confirmation
    clock: Clock

    async def pending_tickets(self) -> Sequence[Ticket]:
        return await self._pending_tickets(MAX_LISTED_TICKETS)

    async def _pending_tickets(self, most: int) -> Sequence[Ticket]:
        found = await self.confirmation.tickets.list_tickets(waiting_at=self.clock(), limit=most)
        return [ticket for ticket in found if is_on_board(ticket, self.board.policy)]

    async def count(self) -> int | None:
        """How many wait; `None` where the store does not tell at once."""
        try:
            with anyio.fail_after(COUNT_TIMEOUT_S):
                return len(await self._pending_tickets(MAX_COUNTED_TICKETS))
        except (TicketsUnavailable, TimeoutError):
            return None

    async def latest_tickets(self) -> Sequence[Ticket]:
        found = await self.confirmation.tickets.list_tickets(limit=MAX_LISTED_TICKETS)
        return [withdraw_if_orphaned(ticket, self.board.policy) for ticket in found]

    async def find(self, id: str) -> Ticket | None:
        found = await self.confirmation.tickets.find(id)
        return None if found is None else withdraw_if_orphaned(found, self.board.policy)

    async def display(self, ticket: Ticket, *, full: bool = False) -> DisplayedArguments | None:
        """Its arguments as a person sees them who decides; `None` where they are not kept, or not any more."""
        found = await self.confirmation.tickets.arguments(ticket.id)
        if found is None:
            return None
        show = self.confirmation.display.display
        return await anyio.to_thread.run_sync(
            show, self._schema(ticket), found, NO_DISPLAY_LIMITS if full else DISPLAY_LIMITS
        )

    async def redacted_arguments(self, ticket: Ticket) -> JsonObject | None:
        """All of its arguments without what looks like a secret, for those who look and do not decide."""
        found = await self.confirmation.tickets.arguments(ticket.id)
        redact = self.confirmation.display.redact
        return (
            None
            if found is None
            else await anyio.to_thread.run_sync(redact, self._schema(ticket), found, NO_DISPLAY_LIMITS)
        )

    async def reveal(self, id: str, by: PrincipalId) -> tuple[Ticket, JsonObject] | CommandRejection | None:
        """All arguments of a waiting call with nothing masked, for a person who decides about it. It is recorded."""
        ticket = await self.find(id)
        if ticket is None:
            return None
        if (why := explain_not_revealable(ticket, self.clock())) is not None:
            return CommandRejection(why)
        found = await self.confirmation.tickets.arguments(id)
        if found is None:
            return CommandRejection(f"The arguments of ticket {id} are not kept, so no more of them can be revealed.")
        displayed = await anyio.to_thread.run_sync(self.confirmation.display.display, self._schema(ticket), found)
        said = (
            f"the masked arguments of ticket {id} of {ticket.principal} are revealed"
            if displayed.masked_paths
            else f"the arguments of ticket {id} of {ticket.principal} are read; none of them was masked"
        )
        self.operator.record("ticket", str(ticket.tool), said, by)
        whole = await anyio.to_thread.run_sync(shorten, found, NO_DISPLAY_LIMITS)
        return ticket, whole if isinstance(whole, dict) else {}

    def _schema(self, ticket: Ticket) -> Mapping[str, Json]:
        """Of the tool as it was when the call was made. Where it is not known any more, nothing is marked."""
        policy = self.board.policy
        tool, approval = self.board.catalogue.tools.get(ticket.tool), policy.decisions.approvals.get(ticket.tool)
        if tool is not None:
            spec = tool_seen_by(tool, policy, View(ticket.principal)).spec
            if spec.fingerprint == ticket.fingerprint:
                return spec.input_schema
        if approval is not None and approval.fingerprint == ticket.fingerprint:
            return approval.spec.input_schema
        return {}

    def terms(self, ticket: Ticket) -> ConsentTerms:
        """On which terms further calls like that of this ticket can be allowed as well."""
        policy, tool = self.board.policy, self.board.catalogue.tools.get(ticket.tool)
        return ConsentTerms(
            not confirms_one_call(ticket, policy, tool),
            needs_second_step(ticket, policy, tool),
            policy.declared.consent_days,
        )

    async def last_uses(self) -> Mapping[str, datetime]:
        """Of standing permissions, by their ids."""
        return await self.confirmation.consent_usage.last_uses()

    async def allow(
        self,
        id: str,
        scope: ConsentScope,
        by: PrincipalId,
        note: str = "",
        *,
        lifetime: Lifetime | None = None,
        confirms_destructive: bool = False,
    ) -> Ticket | CommandRejection | None:
        """`None` when there is no such ticket. The decision comes first: should a standing permission not be saved
        after it, one call too few runs without confirmation, and never one too many."""
        ticket = await self.find(id)
        if ticket is None:
            return None
        if (
            ticket.state_at(self.clock()) is TicketState.WAITING
            and is_cut(ticket.redacted_arguments)
            and await self.display(ticket) is None
        ):
            return CommandRejection(unread_text(ticket))
        if scope is ConsentScope.ONCE:
            return await self._decide(ticket, TicketState.ALLOWED, scope, by, note)
        until = self._checked_end(ticket, scope, lifetime, confirms_destructive)
        if isinstance(until, CommandRejection):
            return until
        decided = await self._decide(ticket, TicketState.ALLOWED, scope, by, note)
        if isinstance(decided, CommandRejection):
            return decided
        client = ticket.client if scope is ConsentScope.CLIENT else None
        fingerprint = call_fingerprint(ticket.fingerprint, ticket.overrides)
        command = AddConsent(
            new_ticket_id(), ticket.tool, fingerprint, ticket.principal, client, until, ticket.identity
        )
        match await self.operator.execute(command, by):
            case CommandRejection(why) as rejected:
                kind = SaveFailure if isinstance(rejected, SaveFailure) else CommandRejection
                return kind(f"Ticket {id} is allowed once, but the standing permission is not saved: {why}")
            case StaleVersion():
                return SaveFailure(
                    f"Ticket {id} is allowed once, but the standing permission is not saved: others decide too fast."
                )
            case _:
                return decided

    def _checked_end(
        self, ticket: Ticket, scope: ConsentScope, lifetime: Lifetime | None, confirms_destructive: bool
    ) -> datetime | CommandRejection | None:
        """When the standing permission would end, or why there can be none."""
        terms = self.terms(ticket)
        if scope is ConsentScope.CLIENT and not ticket.client:
            return CommandRejection(
                f"The client of ticket {ticket.id} did not say what it is, so it would not be known again. "
                f"Allow it once, or always: pegboard tickets allow {ticket.id} --always"
            )
        if not terms.possible:
            return CommandRejection(
                f"Each call like that of ticket {ticket.id} is asked about by itself, so a yes to further ones would "
                f"have no effect. Allow this one: pegboard tickets allow {ticket.id}"
            )
        if terms.destructive and not confirms_destructive:
            return CommandRejection(
                f"{ticket.tool} claims to be destructive, or is not listed as it was when ticket {ticket.id} was made. "
                "A standing permission for it lets every further call run without confirmation, whatever its "
                "arguments. If you want that, confirm it: send confirmDestructive, or run "
                f"pegboard tickets allow {ticket.id} --{scope.value} --yes-destructive"
            )
        return consent_end(lifetime, terms.days, self.clock())

    async def deny(self, id: str, by: PrincipalId, note: str = "") -> Ticket | CommandRejection | None:
        ticket = await self.find(id)
        return None if ticket is None else await self._decide(ticket, TicketState.DENIED, None, by, note)

    async def _decide(
        self, ticket: Ticket, state: TicketState, scope: ConsentScope | None, by: PrincipalId, note: str
    ) -> Ticket | CommandRejection:
        now = self.clock()
        if not is_on_board(ticket, self.board.policy):
            return CommandRejection(withdrawn_text(ticket))
        deadline = now + timedelta(seconds=self.board.policy.declared.confirmation_seconds)
        done = await self.confirmation.tickets.decide(ticket.id, TicketDecision(state, by, now, deadline, scope, note))
        found = await self.find(ticket.id) or ticket
        if not done:
            return CommandRejection(explain_undecidable(found, now))
        self.confirmation.ticket_changes.notify()
        said = f"{'denied' if scope is None else 'allowed'} a call of {ticket.principal} (ticket {ticket.id})"
        self.operator.record("ticket", str(ticket.tool), said, by)
        return found


class NoTicketStore:
    """For a gateway without a place to keep tickets: who cannot be asked through its own client is told so."""

    async def claim(
        self, wanted: NewTicket, now: datetime, deadline: datetime
    ) -> TicketUse | Ticket | TooManyTickets | ArgumentsTooLarge:
        raise NoTicketsError(_NO_TICKETS_TEXT)

    async def begin(self, ticket: Ticket, call: CallId, now: datetime) -> TicketUse | None:
        raise NoTicketsError(_NO_TICKETS_TEXT)

    async def end(self, id: str, ended: str, call: CallId) -> None:
        raise NoTicketsError(_NO_TICKETS_TEXT)

    async def decide(self, id: str, ruling: TicketDecision) -> bool:
        raise NoTicketsError(_NO_TICKETS_TEXT)

    async def withdraw(self, ids: Sequence[str], now: datetime) -> None:
        raise NoTicketsError(_NO_TICKETS_TEXT)

    async def find(self, id: str) -> Ticket | None:
        return None

    async def arguments(self, id: str) -> Mapping[str, Json] | None:
        return None

    async def list_tickets(self, *, waiting_at: datetime | None = None, limit: int = 100) -> Sequence[Ticket]:
        return ()
