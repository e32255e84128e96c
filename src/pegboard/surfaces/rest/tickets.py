"""Routes for calls that wait for a person: what waits, the decision, and standing permissions."""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.commands import Rejected, Revoke
from pegboard.core.consent import Consent
from pegboard.core.explain import is_current
from pegboard.core.redact import WHOLE, is_cut, shorten
from pegboard.core.scope import Scope as CallerScope
from pegboard.core.secret_marks import DisplayedArguments, exact_numbers
from pegboard.core.shaping import FilledIn
from pegboard.core.ticket import Scope, State, Ticket
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.operate import NotSaved
from pegboard.gateway.tickets import StandingTerms
from pegboard.ports import TicketsAway

from .access import current, whoever
from .answers import routes_about
from .bodies import AllowBody, DenyBody
from .deciding import done
from .pages import MOST, After, Following, Limit, page_of
from .problems import Problem
from .shapes import Told, moment

NONE: str = "There is no ticket {id!r}. See: pegboard tickets list"


class StandingShape(TypedDict):
    """On which terms further calls like this one can be allowed as well."""

    possible: bool
    destructive: bool
    """Whether that takes a second confirmation: the tool claims to be destructive, or what it claims is not known."""
    days: int | None
    """How long it lasts unless another end is chosen; `null` for ever."""


class FilledInShape(TypedDict):
    """What overrides put into the call beside the arguments that its caller sent."""

    defaults: Told
    exactNumbers: dict[str, str]
    """Of the defaults, as beside the arguments."""
    pinned: list[str]
    """Names alone: a pinned value may be a secret."""


class TicketShape(TypedDict):
    id: str
    state: State
    tool: str
    name: str
    principal: str
    client: str
    arguments: Told
    """As a person sees them who decides: to the letter, but for what is marked as secret."""
    redacted: bool
    """Whether what looks like a secret is left out too: for those who may only look, and once nothing is to decide."""
    masked: list[str]
    """Where a value is masked that can be revealed, as JSON pointers into the arguments."""
    exactNumbers: dict[str, str]
    """Numbers in the arguments, by JSON pointer, that a browser would round or write otherwise: as they are."""
    filledIn: FilledInShape | None
    cut: bool
    """Whether something is left out because it is long. Each gap says how much."""
    asked: str
    deadline: str
    decidedBy: str | None
    decided: str | None
    scope: Scope | None
    note: str
    begun: str | None
    ended: str | None
    whose: str | None
    standing: StandingShape


class TicketsShape(TypedDict):
    tickets: list[TicketShape]


class ConsentShape(TypedDict):
    """A standing permission: calls of one tool by one principal run without confirmation."""

    id: str
    tool: str
    principal: str
    client: str | None
    """`null` for any client of the principal."""
    by: str
    at: str
    expiresAt: str | None
    """`null` where it has no end."""
    expired: bool
    lastUsedAt: str | None
    whose: str | None
    fits: bool | None
    """Whether the tool, and what overrides put into its calls, are still those that it was given for; `null` where the
    tool is not listed."""


class ConsentsShape(Following):
    consents: list[ConsentShape]


def ticket_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("tickets")
    desk = gateway.tickets

    @routes.get("/tickets")
    async def list_tickets(all: Annotated[bool, Query(description="The decided ones too.")] = False) -> TicketsShape:
        """Calls that wait for a person's decision; with `all` the latest tickets, whatever became of them."""
        try:
            found = await (desk.latest() if all else desk.waiting())
            return {"tickets": [await shown_to_caller(ticket) for ticket in found]}
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.get("/tickets/consents")
    async def list_consents(
        tool: Annotated[str | None, Query(max_length=512, description="Only those for the tool with this id.")] = None,
        principal: Annotated[str | None, Query(max_length=256, description="Only those of this principal.")] = None,
        limit: Limit = MOST,
        after: After = None,
    ) -> ConsentsShape:
        """Standing permissions: what runs without confirmation, for whom, until when, and when it last did."""
        chosen = [
            consent
            for consent in gateway.board.policy.decided.consents.values()
            if tool in (None, str(consent.tool)) and principal in (None, consent.principal)
        ]
        consents, following = page_of(chosen, lambda each: each.id, limit, after)
        uses = await desk.last_uses()
        return {**following, "consents": [_consent_shape(consent, uses) for consent in consents]}

    @routes.delete("/tickets/consents/{id}")
    async def revoke_consent(id: str) -> ConsentShape:
        """Revoke a standing permission. Every call that begins after the answer is asked about again, at every
        gateway on the same store; calls that run already are not ended."""
        consent = gateway.board.policy.decided.consents.get(id)
        if consent is None and await gateway.operator.catch_up() is None:
            # It may have been given at another gateway a moment ago.
            consent = gateway.board.policy.decided.consents.get(id)
        if consent is None:
            why = f"There is no standing permission {id[:64]!r}. See: pegboard tickets consents"
            raise Problem(HTTPStatus.NOT_FOUND, why)
        shape = _consent_shape(consent, await desk.last_uses())
        await done(gateway, Revoke(id, consent), None)
        return shape

    def _consent_shape(consent: Consent, uses: Mapping[str, datetime]) -> ConsentShape:
        tool, last = gateway.board.catalogue.tools.get(consent.tool), uses.get(consent.id)
        return {
            "id": consent.id,
            "tool": str(consent.tool),
            "principal": consent.principal,
            "client": consent.client,
            "by": consent.by,
            "at": consent.at.isoformat(),
            "expiresAt": moment(consent.until),
            "expired": consent.is_expired(gateway.clock()),
            "lastUsedAt": moment(last),
            "whose": None if consent.whose is None else consent.whose.told,
            "fits": None if tool is None else is_current(consent, tool, gateway.board.policy),
        }

    @routes.get("/tickets/{id}")
    async def show_ticket(
        id: str, full: Annotated[bool, Query(description="All of its arguments, while they are kept.")] = False
    ) -> TicketShape:
        """One ticket, with the arguments of its call. Of long ones the beginning and the end, unless `full` is asked
        for; `cut` tells whether something is left out, `masked` where a value is masked."""
        try:
            return await shown_to_caller(_found(id, await desk.find(id)), full=full)
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.post("/tickets/{id}/reveal")
    async def reveal_ticket(id: str) -> TicketShape:
        """All arguments of a waiting call with nothing masked. The activity records who revealed them."""
        try:
            match await desk.reveal(id, whoever()):
                case (ticket, arguments):
                    shape = ticket_shape(
                        ticket, gateway.clock(), desk.terms(ticket), DisplayedArguments(arguments, ()), full=True
                    )
                    return {**shape, "redacted": False}
                case refused:
                    return await shown_to_caller(_found(id, refused))
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.post("/tickets/{id}/allow")
    async def allow_ticket(id: str, body: AllowBody) -> TicketShape:
        """Say yes: to this one call, or to all further ones by this client or by any until the permission ends. Where
        the tool claims to be destructive, further ones need `confirmDestructive`."""
        scope, lifetime, confirms = Scope(body.scope), body.lifetime(), body.confirm_destructive
        try:
            allowed = await desk.allow(
                id, scope, whoever(), body.note, lifetime=lifetime, confirms_destructive=confirms
            )
            return await shown_to_caller(_found(id, allowed))
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.post("/tickets/{id}/deny")
    async def deny_ticket(id: str, body: DenyBody) -> TicketShape:
        """Say no. The caller is told, and is not asked about again at once."""
        try:
            return await shown_to_caller(_found(id, await desk.deny(id, whoever(), body.note)))
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    async def shown_to_caller(ticket: Ticket, *, full: bool = False) -> TicketShape:
        """Whoever may decide sees what they decide on; whoever may only look sees nothing that looks like a secret."""
        now = gateway.clock()
        if ticket.at(now) not in (State.WAITING, State.GRANTED):
            return ticket_shape(ticket, now, desk.terms(ticket))
        if CallerScope.OPERATE in current().scopes:
            shape = ticket_shape(ticket, now, desk.terms(ticket), await desk.display(ticket, full=full), full=full)
            return {**shape, "redacted": False}
        arguments = await desk.redacted(ticket) if full else None
        displayed = None if arguments is None else DisplayedArguments(arguments, ())
        return ticket_shape(ticket, now, desk.terms(ticket), displayed, full=full)

    def _found(id: str, found: Ticket | Rejected | None) -> Ticket:
        match found:
            case None:
                raise Problem(HTTPStatus.NOT_FOUND, NONE.format(id=id[:64]))
            case NotSaved(why):
                raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, why)
            case Rejected(why):
                raise Problem(HTTPStatus.CONFLICT, why)
            case _:
                return found

    return routes


def ticket_shape(
    ticket: Ticket,
    now: datetime,
    terms: StandingTerms,
    displayed: DisplayedArguments | None = None,
    *,
    full: bool = False,
) -> TicketShape:
    """`displayed` is in place of what is kept of the arguments for good; `full` when it is all of them."""
    arguments = ticket.shown if displayed is None else displayed.arguments
    return {
        "id": ticket.id,
        "state": ticket.at(now),
        "tool": str(ticket.tool),
        "name": ticket.name,
        "principal": ticket.principal,
        "client": ticket.client,
        "arguments": arguments,
        "redacted": True,
        "masked": [] if displayed is None else [*displayed.masked],
        "exactNumbers": exact_numbers(arguments),
        "filledIn": None if ticket.filled is None else _filled_shape(ticket.filled),
        "cut": is_cut(arguments) and (displayed is None or not full),
        "asked": ticket.asked.isoformat(),
        "deadline": ticket.deadline.isoformat(),
        "decidedBy": ticket.by,
        "decided": moment(ticket.decided),
        "scope": ticket.scope,
        "note": ticket.note,
        "begun": moment(ticket.begun),
        "ended": ticket.ended,
        "whose": None if ticket.whose is None else ticket.whose.told,
        "standing": {"possible": terms.possible, "destructive": terms.destructive, "days": terms.days},
    }


def _filled_shape(filled: FilledIn) -> FilledInShape:
    defaults = shorten(dict(filled.defaults), WHOLE)
    shown = defaults if isinstance(defaults, dict) else {}
    return {"defaults": shown, "exactNumbers": exact_numbers(shown), "pinned": [*filled.pinned]}
