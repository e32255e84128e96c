"""Asking a person about one call: by a standing permission, through the caller's own client, else by a ticket.

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

from pegboard.core.call import Admitted, Call, Confirmed, NeedsInput, NotConfirmed, Outcome, Refusal, Unconfirmed
from pegboard.core.characters import escape_name
from pegboard.core.code import PYTHON_ID
from pegboard.core.confirmation import ByTicket, ticket_sentence
from pegboard.core.consent import Consent, covering
from pegboard.core.ended import how_it_ended
from pegboard.core.ids import CallId, PrincipalId, Source, ToolId
from pegboard.core.inside import INSIDE, is_inside
from pegboard.core.question import ELICITATION, unaskable
from pegboard.core.rejected import Rejected
from pegboard.core.secret_marks import ArgumentDisplay
from pegboard.core.shaping import filled_in
from pegboard.core.ticket import (
    Begun,
    TooLarge,
    TooMany,
    digest,
    refused,
    too_large_text,
    too_many_text,
    wanted,
)
from pegboard.core.ticket_question import FORM, NOT_READABLE_IN_CLIENT, answered_no, is_yes, question
from pegboard.core.tool import Json
from pegboard.core.whose import Whose
from pegboard.ports import (
    CannotAsk,
    Clock,
    ConsentStore,
    NoTicketsError,
    Peer,
    StoreAway,
    TicketsAway,
    TicketStore,
)

from .access.uses import Uses
from .bell import Bell
from .board import Board

log = logging.getLogger(__name__)

STORE_SECONDS: Final = 15.0
CONTINUED_WITHIN: Final = timedelta(minutes=10)
_NOBODY: Final = (
    "A person must confirm this call first, and there is nobody to ask here: no client of the caller can confirm it, "
    "and this gateway keeps no tickets. It has not run. Tell the user."
)
_TOO_LONG: Final = (
    "A person must confirm this call first. Not all of its arguments can be read in a question of the caller's "
    "client, and there is no place here where the call could wait for a decision. It has not run. Send less at once."
)
_OTHERS_NOW: Final = (
    "While a person was asked, the credentials that this call would run with became others, so it did not run. "
    "Call it anew to ask again."
)
MOST_CONTINUING: Final = 10_000
_LETTERS: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""Without those that are mistaken for one another: people type a ticket's id."""
CONTINUING: Final = ("requestState", "inputResponses")


WhoseAt: TypeAlias = Callable[[Source, Mapping[bytes, bytes]], Whose | None]
"""In whose name a source runs what is called with these headers, where they may say so."""


CatchUp: TypeAlias = Callable[[], Awaitable[Rejected | None]]
"""Takes over what the store holds now; why not, where the store is away."""


def fresh_id() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(10))


class Confirmation:
    def __init__(
        self,
        board: Board,
        tickets: TicketStore,
        clock: Clock,
        whose: WhoseAt = lambda *_: None,
        consents: ConsentStore | None = None,
        catch_up: CatchUp | None = None,
    ) -> None:
        self.tickets: Final = tickets
        self._consents: ConsentStore = BoardConsents(board) if consents is None else consents
        self.consent_uses: Final = Uses(self._consents, clock, of="standing permissions")
        self.decided: Final = Bell()
        """Rings when a ticket was asked for, decided or used in this process. Of others the store knows."""
        self._board = board
        self._clock = clock
        self._whose = whose
        self._catch_up = catch_up
        self._digest_key = secrets.token_bytes(32)
        self._continuing: OrderedDict[str, datetime] = OrderedDict()

    async def answer(self, asked: Admitted, peer: Peer | None, *, each: bool = False) -> Confirmed | NotConfirmed:
        """Whether a person has said yes to this call. What was asked about is what the yes is for.

        `each`: whether a yes to all calls of the tool is none to this one.
        """
        if asked.tool.id == PYTHON_ID and is_inside(asked.call):
            # It cannot run, so nobody is asked.
            return NotConfirmed(asked.tool.id, Unconfirmed.UNASKED, INSIDE)
        whose = self.whose(asked.tool.id, asked.call)
        said = await self._answered(asked, peer, whose, each)
        if isinstance(said, Confirmed) and self.whose(asked.tool.id, asked.call) != whose:
            return NotConfirmed(asked.tool.id, Unconfirmed.UNANSWERED, _OTHERS_NOW)
        return said

    def whose(self, tool: ToolId, call: Call) -> Whose | None:
        """In whose name this call of it would run now."""
        return self._whose(tool.source, call.headers)

    @property
    def display(self) -> ArgumentDisplay:
        """How arguments are displayed to a person who decides. The key of its digests never leaves this process."""
        return ArgumentDisplay(self._board.policy.declared.redaction, self._digest_key)

    async def _answered(
        self, asked: Admitted, peer: Peer | None, whose: Whose | None, each: bool
    ) -> Confirmed | NotConfirmed:
        call, tool = asked.call, asked.tool
        yes = Confirmed(tool.id, tool.spec.fingerprint, overrides=asked.overrides)
        if not each and await self._is_permitted(asked, whose):
            return yes._replace(remembered=True)
        if await self._continues(asked, whose):
            return yes
        if peer is not None and _can_ask(peer) and call.made_by is None:
            if isinstance(route := self._board.policy.confirmation_route(call.principal, tool.id), ByTicket):
                return await self._by_ticket(asked, whose, instead=route)
            # Arguments may be megabytes, and to walk through them would hold up everybody else.
            message = await anyio.to_thread.run_sync(
                question, tool, call, self.display, whose, filled_in(asked.shape, call.arguments)
            )
            if message is None:
                answer = await self._by_ticket(asked, whose, nowhere=_TOO_LONG)
                if isinstance(answer, NotConfirmed) and answer.how is Unconfirmed.WAITING:
                    return replace(answer, text=f"{answer.text}\n{NOT_READABLE_IN_CLIENT}")
                return answer
            params: dict[str, Json] = {"message": message, "requestedSchema": FORM}
            reply: Mapping[str, Json] | None = None
            try:
                with anyio.move_on_after(self._board.policy.declared.confirmation_seconds):
                    reply = await peer.ask(ELICITATION, params)
            except CannotAsk as error:
                log.info("The client of call %s could not be asked: %s", call.id, error.message)
                return await self._by_ticket(asked, whose)
            if reply is None or not is_yes(reply):
                return answered_no(tool, reply)
            # Looked up again, in the store: while the user read the question, an operator may have decided that no
            # client counts, perhaps at another gateway.
            if self._catch_up is not None and (away := await self._catch_up()) is not None:
                log.warning("The answer to call %s does not count, the store is away: %s", call.id, away.why)
                return await self._by_ticket(asked, whose)
            route = self._board.policy.confirmation_route(call.principal, tool.id)
            return await self._by_ticket(asked, whose, instead=route) if isinstance(route, ByTicket) else yes
        return await self._by_ticket(asked, whose)

    def ticket_reason(self, principal: PrincipalId, tool: ToolId, peer: Peer | None) -> str:
        """Why a call became a ticket although its client could ask; empty where the client could not."""
        if peer is None or not _can_ask(peer):
            return ""
        route = self._board.policy.confirmation_route(principal, tool)
        return ticket_sentence(route) if isinstance(route, ByTicket) else ""

    async def _is_permitted(self, asked: Admitted, whose: Whose | None) -> bool:
        """Whether a standing permission covers this call. The board tells which one may; whether it still holds, the
        store tells: another gateway may have revoked it a moment ago."""
        call, tool = asked.call, asked.tool
        if call.made_by is not None:
            return False
        known = self._board.policy.consents.get(tool.id, ())
        candidate = covering(known, tool, call.principal, call.client, self._clock(), whose, asked.overrides)
        if candidate is None:
            return False
        try:
            with anyio.fail_after(STORE_SECONDS):
                stored = await self._consents.find(candidate.id)
        except (StoreAway, TimeoutError) as error:
            log.warning("The standing permission %s does not count now, the store is away: %s", candidate.id, error)
            return False
        covered = (tool, call.principal, call.client, self._clock(), whose, asked.overrides)
        if stored is None or not stored.covers(*covered):
            return False
        self.consent_uses.seen(stored.id)
        return True

    async def settle(self, asked: Admitted, yes: Confirmed, ended: Outcome | Refusal) -> None:
        """What came of the call that the yes was for. Whoever called may have gone."""
        with anyio.CancelScope(shield=True):
            if isinstance(ended, NeedsInput):
                await self._let_continue(asked, ended)
            if yes.ticket is not None:
                await self.end_ticket(yes.ticket, asked.call.id, ended)

    async def end_ticket(self, ticket: str, call: CallId, ended: Outcome | Refusal) -> None:
        try:
            with anyio.fail_after(STORE_SECONDS, shield=True):
                await self.tickets.end(ticket, how_it_ended(ended), call)
        except (TicketsAway, TimeoutError) as error:
            # The ticket stays used: that its end is not known is what it then says.
            log.warning("The end of the call of ticket %s could not be kept: %s", ticket, error)
        self.decided.ring()

    async def withdraw(self, tickets: Sequence[str]) -> None:
        """Whoever asked is gone before anybody decided."""
        try:
            with anyio.fail_after(STORE_SECONDS, shield=True):
                await self.tickets.withdraw(tickets, self._clock())
        except (TicketsAway, TimeoutError) as error:
            # They lapse by themselves.
            log.warning("Tickets %s could not be withdrawn: %s", ", ".join(tickets), error)
        self.decided.ring()

    async def _by_ticket(
        self, asked: Admitted, whose: Whose | None, *, nowhere: str = _NOBODY, instead: ByTicket | None = None
    ) -> Confirmed | NotConfirmed:
        """`nowhere` is the answer where no ticket can be kept; `instead` is why the client was not asked, though it
        could."""
        answer = await self._claim(asked, whose, nowhere)
        if isinstance(answer, Confirmed) or instead is None or answer.how is Unconfirmed.DENIED:
            return answer
        return replace(answer, text=f"{answer.text}\n{ticket_sentence(instead)}")

    async def _claim(self, asked: Admitted, whose: Whose | None, nowhere: str) -> Confirmed | NotConfirmed:
        call, tool, declared = asked.call, asked.tool, self._board.policy.declared
        # Arguments may be megabytes, and to digest them would hold up everybody else.
        want = await anyio.to_thread.run_sync(
            wanted, fresh_id(), call, tool, self.display, whose, filled_in(asked.shape, call.arguments)
        )
        now = self._clock()
        deadline = now + timedelta(seconds=declared.confirmation_seconds)
        try:
            with anyio.fail_after(STORE_SECONDS):
                found = await self.tickets.claim(want, now, deadline)
        except NoTicketsError:
            return NotConfirmed(tool.id, Unconfirmed.UNASKED, nowhere)
        except (TicketsAway, TimeoutError) as error:
            log.warning("No ticket for call %s: %s", call.id, error)
            return NotConfirmed(
                tool.id,
                Unconfirmed.UNASKED,
                "A person must confirm this call first, and there is no way to ask one now: the store does not answer. "
                "It has not run. Ask the user to run: pegboard doctor",
            )
        match found:
            case Begun(ticket):
                return ticket.yes
            case TooMany():
                return NotConfirmed(tool.id, Unconfirmed.UNASKED, too_many_text(tool, found))
            case TooLarge(most):
                return NotConfirmed(tool.id, Unconfirmed.UNASKED, too_large_text(tool, most))
            case _:
                if found.id == want.id:
                    self.decided.ring()
                    log.warning(
                        "A call of %s by %s waits for your decision: pegboard tickets show %s",
                        escape_name(str(tool.id)),
                        escape_name(call.principal),
                        found.id,
                    )
                return refused(found, now, call.presentation)

    async def _let_continue(self, asked: Admitted, ended: NeedsInput) -> None:
        """The tool asks back. The call that brings the answers goes on with what was confirmed, once."""
        key = await anyio.to_thread.run_sync(
            _continuation, asked, _state_of(ended.body), self.whose(asked.tool.id, asked.call)
        )
        self._continuing[key] = self._clock() + CONTINUED_WITHIN
        while len(self._continuing) > MOST_CONTINUING:
            self._continuing.popitem(last=False)

    async def _continues(self, asked: Admitted, whose: Whose | None) -> bool:
        """A caller's word alone is none: it must bring back what a confirmed call was answered with."""
        beside = asked.call.beside
        if not self._continuing or not any(name in beside for name in CONTINUING):
            return False
        key = await anyio.to_thread.run_sync(_continuation, asked, _text(beside.get("requestState")), whose)
        until = self._continuing.pop(key, None)
        return until is not None and self._clock() <= until


def _can_ask(peer: Peer) -> bool:
    """What a client declares, which is no evidence that a person reads its questions."""
    return unaskable(peer.can, ELICITATION, {}) is None


class BoardConsents:
    """For a gateway whose board is the only place that knows standing permissions. Their uses end with it."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._uses: dict[str, datetime] = {}

    async def find(self, id: str) -> Consent | None:
        return self._board.policy.decided.consents.get(id)

    async def keep(self, uses: Mapping[str, datetime]) -> None:
        self._uses.update(uses)

    async def latest(self) -> Mapping[str, datetime]:
        return self._uses


def _state_of(body: bytes) -> str:
    try:
        result = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    state = result.get("requestState") if isinstance(result, dict) else None
    return state if isinstance(state, str) else ""


def _text(said: bytes | None) -> str:
    try:
        text = "" if said is None else json.loads(said)
    except (ValueError, RecursionError):
        return ""
    return text if isinstance(text, str) else ""


def _continuation(asked: Admitted, state: str, whose: Whose | None) -> str:
    call = digest(asked.call, asked.tool, whose, asked.overrides)
    return f"{call} {hashlib.sha256(state.encode('utf-8', 'surrogatepass')).hexdigest()}"
