"""Routes for calls that wait for a person: what waits, the decision, and the grants that are remembered."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.commands import Rejected, Revoke
from pegboard.core.consent import Consent
from pegboard.core.explain import seen_by
from pegboard.core.redact import is_cut
from pegboard.core.ticket import Scope, State, Ticket
from pegboard.core.tool import Fingerprint
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.operate import NotSaved
from pegboard.ports import TicketsAway

from .access import whoever
from .answers import routes_about
from .bodies import AllowBody, DenyBody
from .deciding import done
from .pages import MOST, After, Following, Limit, page_of
from .problems import Problem
from .shapes import Told, moment

NONE: str = "There is no ticket {id!r}. See: pegboard tickets list"


class TicketShape(TypedDict):
    id: str
    state: State
    tool: str
    name: str
    principal: str
    client: str
    arguments: Told
    """Without secrets."""
    cut: bool
    asked: str
    deadline: str
    decidedBy: str | None
    decided: str | None
    scope: Scope | None
    note: str
    begun: str | None
    ended: str | None
    whose: str | None


class TicketsShape(TypedDict):
    tickets: list[TicketShape]


class GrantShape(TypedDict):
    """A yes to further calls that is remembered."""

    id: str
    tool: str
    principal: str
    client: str | None
    by: str
    at: str
    whose: str | None
    fits: bool | None
    """Whether the tool is still the one that it was given for; `null` where it is not listed."""


class RememberedShape(Following):
    grants: list[GrantShape]


def ticket_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("tickets")
    desk = gateway.tickets

    @routes.get("/tickets")
    async def list_tickets(all: Annotated[bool, Query(description="The decided ones too.")] = False) -> TicketsShape:
        """Calls that wait for a person's decision; with `all` the latest tickets, whatever became of them."""
        try:
            found = await (desk.latest() if all else desk.waiting())
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        return {"tickets": [ticket_shape(ticket, gateway.clock()) for ticket in found]}

    @routes.get("/tickets/grants")
    async def list_ticket_grants(limit: Limit = MOST, after: After = None) -> RememberedShape:
        """The grants that are remembered: what runs without asking, for whom."""
        policy = gateway.board.policy
        tools = gateway.board.catalogue.tools

        def fingerprint(consent: Consent) -> Fingerprint | None:
            tool = tools.get(consent.tool)
            return None if tool is None else seen_by(tool, policy, View(consent.principal)).spec.fingerprint

        consents, following = page_of([*policy.decided.consents.values()], lambda each: each.id, limit, after)
        return {**following, "grants": [grant_shape(consent, fingerprint(consent)) for consent in consents]}

    @routes.delete("/tickets/grants/{id}")
    async def revoke_ticket_grant(id: str) -> GrantShape:
        """Take a remembered grant back."""
        consent = gateway.board.policy.decided.consents.get(id)
        if consent is None:
            why = f"There is no remembered grant {id[:64]!r}. See: pegboard tickets grants"
            raise Problem(HTTPStatus.NOT_FOUND, why)
        await done(gateway, Revoke(id), None)
        return grant_shape(consent, None)

    @routes.get("/tickets/{id}")
    async def show_ticket(
        id: str, full: Annotated[bool, Query(description="All of its arguments, while they are kept.")] = False
    ) -> TicketShape:
        """One ticket, with the arguments of its call without secrets. Of long ones the beginning and the end, unless
        `full` is asked for; `cut` tells whether something is left out."""
        try:
            shape = _shown(id, await desk.find(id))
            whole = await desk.arguments(id) if full else None
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        return shape if whole is None else {**shape, "arguments": whole, "cut": False}

    @routes.post("/tickets/{id}/allow")
    async def allow_ticket(id: str, body: AllowBody) -> TicketShape:
        """Say yes: to this one call, or to all further ones by this client or by any."""
        try:
            return _shown(id, await desk.allow(id, Scope(body.scope), whoever(), body.note))
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.post("/tickets/{id}/deny")
    async def deny_ticket(id: str, body: DenyBody) -> TicketShape:
        """Say no. The caller is told, and is not asked about again at once."""
        try:
            return _shown(id, await desk.deny(id, whoever(), body.note))
        except TicketsAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    def _shown(id: str, found: Ticket | Rejected | None) -> TicketShape:
        match found:
            case None:
                raise Problem(HTTPStatus.NOT_FOUND, NONE.format(id=id[:64]))
            case NotSaved(why):
                raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, why)
            case Rejected(why):
                raise Problem(HTTPStatus.CONFLICT, why)
            case _:
                return ticket_shape(found, gateway.clock())

    return routes


def ticket_shape(ticket: Ticket, now: datetime) -> TicketShape:
    return {
        "id": ticket.id,
        "state": ticket.at(now),
        "tool": str(ticket.tool),
        "name": ticket.name,
        "principal": ticket.principal,
        "client": ticket.client,
        "arguments": ticket.shown,
        "cut": is_cut(ticket.shown),
        "asked": ticket.asked.isoformat(),
        "deadline": ticket.deadline.isoformat(),
        "decidedBy": ticket.by,
        "decided": moment(ticket.decided),
        "scope": ticket.scope,
        "note": ticket.note,
        "begun": moment(ticket.begun),
        "ended": ticket.ended,
        "whose": None if ticket.whose is None else ticket.whose.told,
    }


def grant_shape(consent: Consent, now: str | None) -> GrantShape:
    """`now` is the fingerprint of the tool as it is listed, if it is."""
    return {
        "id": consent.id,
        "tool": str(consent.tool),
        "principal": consent.principal,
        "client": consent.client,
        "by": consent.by,
        "at": consent.at.isoformat(),
        "whose": None if consent.whose is None else consent.whose.told,
        "fits": None if now is None else now == consent.fingerprint,
    }
