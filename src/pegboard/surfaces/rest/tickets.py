"""Routes: tickets and standing permissions."""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.calls.secret_arguments import DisplayedArguments, exact_numbers
from pegboard.core.calls.tickets import ConsentScope, Ticket, TicketState
from pegboard.core.commands.commands import RevokeConsent
from pegboard.core.explain.explain import is_consent_current
from pegboard.core.model.principals import TokenScope as CallerScope
from pegboard.core.model.redaction import NO_DISPLAY_LIMITS, is_cut, shorten
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.overrides.schema import FilledArguments
from pegboard.core.policy.policy import Consent
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator, SaveFailure
from pegboard.gateway.tickets import ConsentTerms, TicketDesk
from pegboard.ports.providers import Clock
from pegboard.ports.stores import TicketsUnavailable
from pegboard.surfaces.rest.auth import current_identity, decision_author
from pegboard.surfaces.rest.commands import run_command
from pegboard.surfaces.rest.requests import AllowBody, DenyBody
from pegboard.surfaces.rest.responses import (
    MAX_PAGE_SIZE,
    AfterParam,
    LimitParam,
    PageResponse,
    ProblemError,
    make_router,
    paginate,
)
from pegboard.surfaces.rest.schemas import FreeObject, iso_time

NO_TICKET: str = "There is no ticket {id!r}. See: pegboard tickets list"


class ConsentTermsInfo(TypedDict):
    """On which terms further calls like this one can be allowed as well."""

    possible: bool
    destructive: bool
    """Whether that takes a second confirmation: the tool claims to be destructive, or what it claims is not known."""
    days: int | None
    """How long it lasts unless another end is chosen; `null` for ever."""


class FilledArgumentsInfo(TypedDict):
    """What overrides put into the call beside the arguments that its caller sent."""

    defaults: FreeObject
    exactNumbers: dict[str, str]
    """Of the defaults, as beside the arguments."""
    pinned: list[str]
    """Names alone: a pinned value may be a secret."""


class TicketInfo(TypedDict):
    id: str
    state: TicketState
    tool: str
    name: str
    principal: str
    client: str
    arguments: FreeObject
    """As a person sees them who decides: to the letter, but for what is marked as secret."""
    redacted: bool
    """Whether what looks like a secret is left out too: for those who may only look, and once nothing is to decide."""
    masked: list[str]
    """Where a value is masked that can be revealed, as JSON pointers into the arguments."""
    exactNumbers: dict[str, str]
    """Numbers in the arguments, by JSON pointer, that a browser would round or write otherwise: as they are."""
    filledArguments: FilledArgumentsInfo | None
    truncated: bool
    """Whether something is left out because it is long. Each gap says how much."""
    requestedAt: str
    deadline: str
    decidedBy: str | None
    decidedAt: str | None
    scope: ConsentScope | None
    note: str
    startedAt: str | None
    outcome: str | None
    credentialIdentity: str | None
    consentTerms: ConsentTermsInfo


class TicketsResponse(TypedDict):
    tickets: list[TicketInfo]


class ConsentInfo(TypedDict):
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
    credentialIdentity: str | None
    current: bool | None
    """Whether the tool, and what overrides put into its calls, are still those that it was given for; `null` where the
    tool is not listed."""


class ConsentsResponse(PageResponse):
    consents: list[ConsentInfo]


def ticket_routes(board: BoardState, clock: Clock, operator: Operator, ticket_desk: TicketDesk) -> APIRouter:
    routes = make_router("tickets")
    desk = ticket_desk

    @routes.get("/tickets")
    async def list_tickets(all: Annotated[bool, Query(description="The decided ones too.")] = False) -> TicketsResponse:
        """Calls that wait for a person's decision; with `all` the latest tickets, whatever became of them."""
        try:
            found = await (desk.latest_tickets() if all else desk.pending_tickets())
            return {"tickets": [await shown_to_caller(ticket) for ticket in found]}
        except TicketsUnavailable as error:
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.get("/tickets/consents")
    async def list_consents(
        tool: Annotated[str | None, Query(max_length=512, description="Only those for the tool with this id.")] = None,
        principal: Annotated[str | None, Query(max_length=256, description="Only those of this principal.")] = None,
        limit: LimitParam = MAX_PAGE_SIZE,
        after: AfterParam = None,
    ) -> ConsentsResponse:
        """Standing permissions: what runs without confirmation, for whom, until when, and when it last did."""
        chosen = [
            consent
            for consent in board.policy.decisions.consents.values()
            if tool in (None, str(consent.tool)) and principal in (None, consent.principal)
        ]
        consents, following = paginate(chosen, lambda each: each.id, limit, after)
        uses = await desk.last_uses()
        return {**following, "consents": [_consent_shape(consent, uses) for consent in consents]}

    @routes.delete("/tickets/consents/{id}")
    async def revoke_consent(id: str) -> ConsentInfo:
        """Revoke a standing permission. Every call that begins after the answer is asked about again, at every
        gateway on the same store; calls that run already are not ended."""
        consent = board.policy.decisions.consents.get(id)
        if consent is None and await operator.catch_up() is None:
            # It may have been given at another gateway a moment ago.
            consent = board.policy.decisions.consents.get(id)
        if consent is None:
            why = f"There is no standing permission {id[:64]!r}. See: pegboard tickets consents"
            raise ProblemError(HTTPStatus.NOT_FOUND, why)
        shape = _consent_shape(consent, await desk.last_uses())
        await run_command(operator, RevokeConsent(id, consent), None)
        return shape

    def _consent_shape(consent: Consent, uses: Mapping[str, datetime]) -> ConsentInfo:
        tool, last = board.catalogue.tools.get(consent.tool), uses.get(consent.id)
        return {
            "id": consent.id,
            "tool": str(consent.tool),
            "principal": consent.principal,
            "client": consent.client,
            "by": consent.by,
            "at": consent.at.isoformat(),
            "expiresAt": iso_time(consent.until),
            "expired": consent.is_expired(clock()),
            "lastUsedAt": iso_time(last),
            "credentialIdentity": None if consent.identity is None else consent.identity.description,
            "current": None if tool is None else is_consent_current(consent, tool, board.policy),
        }

    @routes.get("/tickets/{id}")
    async def show_ticket(
        id: str, full: Annotated[bool, Query(description="All of its arguments, while they are kept.")] = False
    ) -> TicketInfo:
        """One ticket, with the arguments of its call. Of long ones the beginning and the end, unless `full` is asked
        for; `cut` tells whether something is left out, `masked` where a value is masked."""
        try:
            return await shown_to_caller(require_ticket(id, await desk.find(id)), full=full)
        except TicketsUnavailable as error:
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.post("/tickets/{id}/reveal")
    async def reveal_ticket(id: str) -> TicketInfo:
        """All arguments of a waiting call with nothing masked. The activity records who revealed them."""
        try:
            match await desk.reveal(id, decision_author()):
                case (ticket, arguments):
                    shape = ticket_info(
                        ticket, clock(), desk.terms(ticket), DisplayedArguments(arguments, ()), full=True
                    )
                    return {**shape, "redacted": False}
                case refused:
                    return await shown_to_caller(require_ticket(id, refused))
        except TicketsUnavailable as error:
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.post("/tickets/{id}/allow")
    async def allow_ticket(id: str, body: AllowBody) -> TicketInfo:
        """Say yes: to this one call, or to all further ones by this client or by any until the permission ends. Where
        the tool claims to be destructive, further ones need `confirmDestructive`."""
        scope, lifetime, confirms = ConsentScope(body.scope), body.lifetime(), body.confirm_destructive
        try:
            allowed = await desk.allow(
                id, scope, decision_author(), body.note, lifetime=lifetime, confirms_destructive=confirms
            )
            return await shown_to_caller(require_ticket(id, allowed))
        except TicketsUnavailable as error:
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    @routes.post("/tickets/{id}/deny")
    async def deny_ticket(id: str, body: DenyBody) -> TicketInfo:
        """Say no. The caller is told, and is not asked about again at once."""
        try:
            return await shown_to_caller(require_ticket(id, await desk.deny(id, decision_author(), body.note)))
        except TicketsUnavailable as error:
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    async def shown_to_caller(ticket: Ticket, *, full: bool = False) -> TicketInfo:
        """Whoever may decide sees what they decide on; whoever may only look sees nothing that looks like a secret."""
        now = clock()
        if ticket.state_at(now) not in (TicketState.WAITING, TicketState.ALLOWED):
            return ticket_info(ticket, now, desk.terms(ticket))
        if CallerScope.OPERATE in current_identity().scopes:
            shape = ticket_info(ticket, now, desk.terms(ticket), await desk.display(ticket, full=full), full=full)
            return {**shape, "redacted": False}
        arguments = await desk.redacted_arguments(ticket) if full else None
        displayed = None if arguments is None else DisplayedArguments(arguments, ())
        return ticket_info(ticket, now, desk.terms(ticket), displayed, full=full)

    def require_ticket(id: str, found: Ticket | CommandRejection | None) -> Ticket:
        match found:
            case None:
                raise ProblemError(HTTPStatus.NOT_FOUND, NO_TICKET.format(id=id[:64]))
            case SaveFailure(why):
                raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, why)
            case CommandRejection(why):
                raise ProblemError(HTTPStatus.CONFLICT, why)
            case _:
                return found

    return routes


def ticket_info(
    ticket: Ticket,
    now: datetime,
    terms: ConsentTerms,
    displayed: DisplayedArguments | None = None,
    *,
    full: bool = False,
) -> TicketInfo:
    """`displayed` is in place of what is kept of the arguments for good; `full` when it is all of them."""
    arguments = ticket.redacted_arguments if displayed is None else displayed.arguments
    return {
        "id": ticket.id,
        "state": ticket.state_at(now),
        "tool": str(ticket.tool),
        "name": ticket.name,
        "principal": ticket.principal,
        "client": ticket.client,
        "arguments": arguments,
        "redacted": True,
        "masked": [] if displayed is None else [*displayed.masked_paths],
        "exactNumbers": exact_numbers(arguments),
        "filledArguments": None if ticket.filled_arguments is None else _filled_arguments_info(ticket.filled_arguments),
        "truncated": is_cut(arguments) and (displayed is None or not full),
        "requestedAt": ticket.asked_at.isoformat(),
        "deadline": ticket.deadline.isoformat(),
        "decidedBy": ticket.by,
        "decidedAt": iso_time(ticket.decided_at),
        "scope": ticket.scope,
        "note": ticket.note,
        "startedAt": iso_time(ticket.started_at),
        "outcome": ticket.outcome,
        "credentialIdentity": None if ticket.identity is None else ticket.identity.description,
        "consentTerms": {"possible": terms.possible, "destructive": terms.destructive, "days": terms.days},
    }


def _filled_arguments_info(filled: FilledArguments) -> FilledArgumentsInfo:
    defaults = shorten(dict(filled.defaults), NO_DISPLAY_LIMITS)
    shown = defaults if isinstance(defaults, dict) else {}
    return {"defaults": shown, "exactNumbers": exact_numbers(shown), "pinned": [*filled.pinned_names]}
