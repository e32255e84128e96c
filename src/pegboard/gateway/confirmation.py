"""Confirms one call: by a standing permission, in the caller's client, or by a ticket. Does not wait for tickets: the
caller returns.

Nobody waits here for a ticket: the caller is told of it and comes back.
"""

import hashlib
import json
import logging
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pegboard.core.calls.call import (
    AdmittedCall,
    CallConfirmation,
    ConfirmationRefusal,
    MissingConfirmation,
    NeedsInput,
    Outcome,
    Refusal,
    ToolCall,
)
from pegboard.core.calls.programs import NESTED_PROGRAM_TEXT, is_program_call
from pegboard.core.calls.secret_arguments import ArgumentDisplay
from pegboard.core.calls.tickets import (
    ANSWER_FORM,
    ELICITATION,
    NOT_READABLE_IN_CLIENT,
    ArgumentsTooLarge,
    TicketUse,
    TooManyTickets,
    build_new_ticket,
    call_digest,
    confirmation_question,
    describe_end,
    is_yes,
    refuse_by_answer,
    refuse_call,
    refuse_question,
    too_large_text,
    too_many_text,
)
from pegboard.core.json.values import Json
from pegboard.core.model.characters import escape_name
from pegboard.core.model.confirmation import ConfirmByTicket, explain_ticket
from pegboard.core.model.ids import CallId, PrincipalId, SourceKey, ToolId
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.settings import PYTHON_ID
from pegboard.core.overrides.schema import arguments_filled_in
from pegboard.core.policy.policy import Consent, CredentialIdentity, find_consent
from pegboard.gateway.access.tokens import UsageTracker
from pegboard.gateway.board import BoardState
from pegboard.gateway.signals import ChangeSignal
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.providers import ClientPeer, Clock, PeerRequestError
from pegboard.ports.stores import ConsentStore, NoTicketsError, TicketStore, TicketsUnavailable

log = logging.getLogger(__name__)

STORE_TIMEOUT_S: Final = 15.0
CONTINUATION_TTL: Final = timedelta(minutes=10)
_NO_WAY_TO_ASK: Final = (
    "A person must confirm this call first, and there is nobody to ask here: no client of the caller can confirm it, "
    "and this gateway keeps no tickets. It has not run. Tell the user."
)
_TOO_LONG_TO_ASK: Final = (
    "A person must confirm this call first. Not all of its arguments can be read in a question of the caller's "
    "client, and there is no place here where the call could wait for a decision. It has not run. Send less at once."
)
_CREDENTIALS_CHANGED: Final = (
    "While a person was asked, the credentials that this call would run with became others, so it did not run. "
    "Call it anew to ask again."
)
MAX_CONTINUATIONS: Final = 10_000
_ID_ALPHABET: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""Without those that are mistaken for one another: people type a ticket's id."""
CONTINUATION_FIELDS: Final = ("requestState", "inputResponses")


CredentialIdentityOf: TypeAlias = Callable[[SourceKey, Mapping[bytes, bytes]], CredentialIdentity | None]
"""In whose name a source runs what is called with these headers, where they may say so."""


CatchUp: TypeAlias = Callable[[], Awaitable[CommandRejection | None]]
"""Takes over what the store holds now; why not, where the store is away."""


def new_ticket_id() -> str:
    return "".join(secrets.choice(_ID_ALPHABET) for _ in range(10))


class Confirmation:
    def __init__(
        self,
        board: BoardState,
        tickets: TicketStore,
        clock: Clock,
        whose: CredentialIdentityOf = lambda *_: None,
        consents: ConsentStore | None = None,
        catch_up: CatchUp | None = None,
    ) -> None:
        self.tickets: Final = tickets
        self._consents: ConsentStore = BoardConsents(board) if consents is None else consents
        self.consent_usage: Final = UsageTracker(self._consents, clock, of="standing permissions")
        self.ticket_changes: Final = ChangeSignal()
        """Rings when a ticket was asked for, decided or used in this process. Of others the store knows."""
        self._board = board
        self._clock = clock
        self._credential_identity = whose
        self._catch_up = catch_up
        self._digest_key = secrets.token_bytes(32)
        self._continuations: OrderedDict[str, datetime] = OrderedDict()

    async def confirm(
        self, asked: AdmittedCall, peer: ClientPeer | None, *, each: bool = False
    ) -> CallConfirmation | ConfirmationRefusal:
        """Whether a person has said yes to this call. What was asked about is what the yes is for.

        `each`: whether a yes to all calls of the tool is none to this one.
        """
        if asked.tool.id == PYTHON_ID and is_program_call(asked.call):
            # It cannot run, so nobody is asked.
            return ConfirmationRefusal(asked.tool.id, MissingConfirmation.UNASKED, NESTED_PROGRAM_TEXT)
        whose = self.credential_identity(asked.tool.id, asked.call)
        said = await self._ask_person(asked, peer, whose, each)
        if isinstance(said, CallConfirmation) and self.credential_identity(asked.tool.id, asked.call) != whose:
            return ConfirmationRefusal(asked.tool.id, MissingConfirmation.UNANSWERED, _CREDENTIALS_CHANGED)
        return said

    def credential_identity(self, tool: ToolId, call: ToolCall) -> CredentialIdentity | None:
        """In whose name this call of it would run now."""
        return self._credential_identity(tool.source, call.headers)

    @property
    def display(self) -> ArgumentDisplay:
        """How arguments are displayed to a person who decides. The key of its digests never leaves this process."""
        return ArgumentDisplay(self._board.policy.declared.redaction, self._digest_key)

    async def _ask_person(
        self, asked: AdmittedCall, peer: ClientPeer | None, whose: CredentialIdentity | None, each: bool
    ) -> CallConfirmation | ConfirmationRefusal:
        call, tool = asked.call, asked.tool
        yes = CallConfirmation(tool.id, tool.spec.fingerprint, overrides=asked.overrides)
        if not each and await self._is_permitted(asked, whose):
            return yes._replace(by_consent=True)
        if await self._is_continuation(asked, whose):
            return yes
        if peer is not None and _can_ask(peer) and call.made_by is None:
            if isinstance(route := self._board.policy.confirmation_route(call.principal, tool.id), ConfirmByTicket):
                return await self._confirm_by_ticket(asked, whose, instead=route)
            # Arguments may be megabytes, and to walk through them would hold up everybody else.
            message = await anyio.to_thread.run_sync(
                confirmation_question,
                tool,
                call,
                self.display,
                whose,
                arguments_filled_in(asked.overridden_tool, call.arguments),
            )
            if message is None:
                answer = await self._confirm_by_ticket(asked, whose, nowhere=_TOO_LONG_TO_ASK)
                if isinstance(answer, ConfirmationRefusal) and answer.reason is MissingConfirmation.WAITING:
                    return replace(answer, text=f"{answer.text}\n{NOT_READABLE_IN_CLIENT}")
                return answer
            params: dict[str, Json] = {"message": message, "requestedSchema": ANSWER_FORM}
            reply: Mapping[str, Json] | None = None
            try:
                with anyio.move_on_after(self._board.policy.declared.confirmation_seconds):
                    reply = await peer.request(ELICITATION, params)
            except PeerRequestError as error:
                log.info("The client of call %s could not be asked: %s", call.id, error.message)
                return await self._confirm_by_ticket(asked, whose)
            if reply is None or not is_yes(reply):
                return refuse_by_answer(tool, reply)
            # Looked up again, in the store: while the user read the question, an operator may have decided that no
            # client counts, perhaps at another gateway.
            if self._catch_up is not None and (away := await self._catch_up()) is not None:
                log.warning("The answer to call %s does not count, the store is away: %s", call.id, away.why)
                return await self._confirm_by_ticket(asked, whose)
            route = self._board.policy.confirmation_route(call.principal, tool.id)
            return (
                await self._confirm_by_ticket(asked, whose, instead=route)
                if isinstance(route, ConfirmByTicket)
                else yes
            )
        return await self._confirm_by_ticket(asked, whose)

    def ticket_reason(self, principal: PrincipalId, tool: ToolId, peer: ClientPeer | None) -> str:
        """Why a call became a ticket although its client could ask; empty where the client could not."""
        if peer is None or not _can_ask(peer):
            return ""
        route = self._board.policy.confirmation_route(principal, tool)
        return explain_ticket(route) if isinstance(route, ConfirmByTicket) else ""

    async def _is_permitted(self, asked: AdmittedCall, whose: CredentialIdentity | None) -> bool:
        """Whether a standing permission covers this call. The board tells which one may; whether it still holds, the
        store tells: another gateway may have revoked it a moment ago."""
        call, tool = asked.call, asked.tool
        if call.made_by is not None:
            return False
        known = self._board.policy.consents.get(tool.id, ())
        candidate = find_consent(known, tool, call.principal, call.client, self._clock(), whose, asked.overrides)
        if candidate is None:
            return False
        try:
            with anyio.fail_after(STORE_TIMEOUT_S):
                stored = await self._consents.find(candidate.id)
        except (StoreUnavailable, TimeoutError) as error:
            log.warning("The standing permission %s does not count now, the store is away: %s", candidate.id, error)
            return False
        covered = (tool, call.principal, call.client, self._clock(), whose, asked.overrides)
        if stored is None or not stored.covers(*covered):
            return False
        self.consent_usage.record_use(stored.id)
        return True

    async def finish(self, asked: AdmittedCall, yes: CallConfirmation, ended: Outcome | Refusal) -> None:
        """What came of the call that the yes was for. Whoever called may have gone."""
        with anyio.CancelScope(shield=True):
            if isinstance(ended, NeedsInput):
                await self._allow_continuation(asked, ended)
            if yes.ticket is not None:
                await self.end_ticket(yes.ticket, asked.call.id, ended)

    async def end_ticket(self, ticket: str, call: CallId, ended: Outcome | Refusal) -> None:
        try:
            with anyio.fail_after(STORE_TIMEOUT_S, shield=True):
                await self.tickets.end(ticket, describe_end(ended), call)
        except (TicketsUnavailable, TimeoutError) as error:
            # The ticket stays used: that its end is not known is what it then says.
            log.warning("The end of the call of ticket %s could not be kept: %s", ticket, error)
        self.ticket_changes.notify()

    async def withdraw(self, tickets: Sequence[str]) -> None:
        """Whoever asked is gone before anybody decided."""
        try:
            with anyio.fail_after(STORE_TIMEOUT_S, shield=True):
                await self.tickets.withdraw(tickets, self._clock())
        except (TicketsUnavailable, TimeoutError) as error:
            # They lapse by themselves.
            log.warning("Tickets %s could not be withdrawn: %s", ", ".join(tickets), error)
        self.ticket_changes.notify()

    async def _confirm_by_ticket(
        self,
        asked: AdmittedCall,
        whose: CredentialIdentity | None,
        *,
        nowhere: str = _NO_WAY_TO_ASK,
        instead: ConfirmByTicket | None = None,
    ) -> CallConfirmation | ConfirmationRefusal:
        """`nowhere` is the answer where no ticket can be kept; `instead` is why the client was not asked, though it
        could."""
        answer = await self._claim(asked, whose, nowhere)
        if isinstance(answer, CallConfirmation) or instead is None or answer.reason is MissingConfirmation.DENIED:
            return answer
        return replace(answer, text=f"{answer.text}\n{explain_ticket(instead)}")

    async def _claim(
        self, asked: AdmittedCall, whose: CredentialIdentity | None, nowhere: str
    ) -> CallConfirmation | ConfirmationRefusal:
        call, tool, declared = asked.call, asked.tool, self._board.policy.declared
        # Arguments may be megabytes, and to digest them would hold up everybody else.
        want = await anyio.to_thread.run_sync(
            build_new_ticket,
            new_ticket_id(),
            call,
            tool,
            self.display,
            whose,
            arguments_filled_in(asked.overridden_tool, call.arguments),
        )
        now = self._clock()
        deadline = now + timedelta(seconds=declared.confirmation_seconds)
        try:
            with anyio.fail_after(STORE_TIMEOUT_S):
                found = await self.tickets.claim(want, now, deadline)
        except NoTicketsError:
            return ConfirmationRefusal(tool.id, MissingConfirmation.UNASKED, nowhere)
        except (TicketsUnavailable, TimeoutError) as error:
            log.warning("No ticket for call %s: %s", call.id, error)
            return ConfirmationRefusal(
                tool.id,
                MissingConfirmation.UNASKED,
                "A person must confirm this call first, and there is no way to ask one now: the store does not answer. "
                f"It has not run. {call.audience.request('run: pegboard doctor')}",
            )
        match found:
            case TicketUse(ticket):
                return ticket.confirmation
            case TooManyTickets():
                return ConfirmationRefusal(
                    tool.id, MissingConfirmation.UNASKED, too_many_text(tool, found, call.audience)
                )
            case ArgumentsTooLarge(most):
                return ConfirmationRefusal(tool.id, MissingConfirmation.UNASKED, too_large_text(tool, most))
            case _:
                if found.id == want.id:
                    self.ticket_changes.notify()
                    log.warning(
                        "A call of %s by %s waits for your decision: pegboard tickets show %s",
                        escape_name(str(tool.id)),
                        escape_name(call.principal),
                        found.id,
                    )
                return refuse_call(found, now, call.presentation, call.audience)

    async def _allow_continuation(self, asked: AdmittedCall, ended: NeedsInput) -> None:
        """The tool asks back. The call that brings the answers goes on with what was confirmed, once."""
        key = await anyio.to_thread.run_sync(
            _continuation_key, asked, _request_state(ended.body), self.credential_identity(asked.tool.id, asked.call)
        )
        self._continuations[key] = self._clock() + CONTINUATION_TTL
        while len(self._continuations) > MAX_CONTINUATIONS:
            self._continuations.popitem(last=False)

    async def _is_continuation(self, asked: AdmittedCall, whose: CredentialIdentity | None) -> bool:
        """A caller's word alone is none: it must bring back what a confirmed call was answered with."""
        beside = asked.call.beside
        if not self._continuations or not any(name in beside for name in CONTINUATION_FIELDS):
            return False
        key = await anyio.to_thread.run_sync(_continuation_key, asked, _json_text(beside.get("requestState")), whose)
        until = self._continuations.pop(key, None)
        return until is not None and self._clock() <= until


def _can_ask(peer: ClientPeer) -> bool:
    """What a client declares, which is no evidence that a person reads its questions."""
    return refuse_question(peer.capabilities, ELICITATION, {}) is None


class BoardConsents:
    """For a gateway whose board is the only place that knows standing permissions. Their uses end with it."""

    def __init__(self, board: BoardState) -> None:
        self._board = board
        self._uses: dict[str, datetime] = {}

    async def find(self, id: str) -> Consent | None:
        return self._board.policy.decisions.consents.get(id)

    async def save_uses(self, uses: Mapping[str, datetime]) -> None:
        self._uses.update(uses)

    async def last_uses(self) -> Mapping[str, datetime]:
        return self._uses


def _request_state(body: bytes) -> str:
    try:
        result = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    state = result.get("requestState") if isinstance(result, dict) else None
    return state if isinstance(state, str) else ""


def _json_text(said: bytes | None) -> str:
    try:
        text = "" if said is None else json.loads(said)
    except (ValueError, RecursionError):
        return ""
    return text if isinstance(text, str) else ""


def _continuation_key(asked: AdmittedCall, state: str, whose: CredentialIdentity | None) -> str:
    call = call_digest(asked.call, asked.tool, whose, asked.overrides)
    return f"{call} {hashlib.sha256(state.encode('utf-8', 'surrogatepass')).hexdigest()}"
