"""The gateway's own tool `pegboard_ticket`: waits for the decision about a ticket, and runs its call after a yes."""

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeAlias

import anyio

from pegboard.core.call import (
    BadArguments,
    Call,
    CallRecord,
    Cancelled,
    Confirmed,
    NeedsInput,
    Outcome,
    Refusal,
    ToolFailed,
    Unconfirmed,
)
from pegboard.core.ids import CallId, ToolId
from pegboard.core.inside import NOBODY_WAITS, is_inside
from pegboard.core.ticket import (
    LONGEST_WAIT,
    TICKET_ID,
    USUAL_WAIT,
    Begun,
    State,
    Ticket,
    answer,
    unknown_text,
)
from pegboard.core.view import View
from pegboard.core.whose import anothers_text
from pegboard.ports import Audit, Clock, Peer, Progress, TicketsAway

from .board import Board
from .confirmation import CONTINUING, STORE_SECONDS, Confirmation, fresh_id

POLL: Final = 1.0
"""Seconds after which the store is asked again: another process may have decided."""
MOST_WAITING: Final = 200
MOST_CONTINUING: Final = 1_000
LONGEST_ID: Final = 64

Ended: TypeAlias = Outcome | Refusal
Carry: TypeAlias = Callable[[Call, View, Progress | None, Peer | None, Confirmed | None], Awaitable[Ended]]
GoOn: TypeAlias = Callable[[Ticket, Call, View, Progress | None, Peer | None], Awaitable[Ended | None]]
"""What comes of the program that waits for a ticket; `None` where none does."""


@dataclass
class TicketTool:
    board: Board
    confirmation: Confirmation
    audit: Audit
    clock: Clock
    go_on: GoOn | None = None
    off_board: Mapping[ToolId, Carry] = field(default_factory=dict[ToolId, Carry])
    """How tools are called that need not hang on the board."""
    waiting: int = 0
    _continuing: OrderedDict[str, Begun] = field(default_factory=OrderedDict[str, Begun])

    async def call(
        self, call: Call, view: View, carry: Carry, progress: Progress | None = None, peer: Peer | None = None
    ) -> Ended:
        ended: Ended = Cancelled()
        started = anyio.current_time()
        try:
            ended = await self._answer(call, view, carry, progress, peer)
        except (TicketsAway, TimeoutError):
            ended = _failed(
                "confirmation_unavailable: Tickets cannot be read: the store does not answer. Try again in a moment."
            )
        finally:
            took = timedelta(seconds=anyio.current_time() - started)
            self.audit.record(CallRecord(call, TICKET_ID, ended, took, self.board.policy.version))
        return ended

    async def _answer(
        self, call: Call, view: View, carry: Carry, progress: Progress | None, peer: Peer | None
    ) -> Ended:
        if isinstance(asked := _asked(call), tuple):
            return BadArguments(TICKET_ID, asked)
        if is_inside(call):
            return _failed(NOBODY_WAITS)
        ticket = await self._decided(asked, call)
        if ticket is None:
            return _failed(unknown_text(asked.ticket))
        if ticket.whose != self.confirmation.whose(ticket.tool, call):
            return _failed(f"{Unconfirmed.WAITING.value}: {anothers_text(ticket.id)}")
        if self.go_on is not None and (ended := await self.go_on(ticket, call, view, progress, peer)) is not None:
            return ended
        now = self.clock()
        if any(name in call.beside for name in CONTINUING) and (begun := self._continuing.get(ticket.id)) is not None:
            # Its tool asked back, and this brings the answers: the same call goes on.
            return await self._run(begun, fresh_call(), call, view, carry, progress, peer)
        if ticket.at(now) is not State.GRANTED:
            return _failed(answer(ticket, now, call.presentation))
        if self.board.resolution(view).names.get(ticket.tool) is None and ticket.tool not in self.off_board:
            return _failed(f"Ticket {ticket.id} is for a tool that this request leaves out. Repeat its call instead.")
        # A call of its own, so that each has one record.
        id = fresh_call()
        with anyio.fail_after(STORE_SECONDS):
            begun = await self.confirmation.tickets.begin(ticket, id, now)
            if begun is None:
                found = await self.confirmation.tickets.find(ticket.id) or ticket
                return _failed(answer(found, now, call.presentation))
        return await self._run(begun, id, call, view, carry, progress, peer)

    async def _run(
        self,
        begun: Begun,
        id: CallId,
        call: Call,
        view: View,
        carry: Carry,
        progress: Progress | None,
        peer: Peer | None,
    ) -> Ended:
        ticket = begun.ticket
        # Looked up now, because while the store was asked the name may have become another tool's.
        named = self.board.resolution(view).names.get(ticket.tool)
        name = named or ticket.name
        carry = carry if named is not None else self.off_board.get(ticket.tool, carry)
        own = Call(
            id,
            name,
            begun.arguments,
            call.principal,
            self.clock(),
            client=call.client,
            parent=call.id,
            beside={name: call.beside[name] for name in CONTINUING if name in call.beside},
            headers=call.headers,
            presentation=call.presentation,
            made_by=call.made_by,
        )
        if begun.ticket.id in self._continuing:
            del self._continuing[begun.ticket.id]
        ended: Ended = Cancelled()
        try:
            ended = await carry(own, view, progress, peer, ticket.yes)
        finally:
            await self.confirmation.end_ticket(ticket.id, id, ended)
        if isinstance(ended, NeedsInput):
            self._continuing[ticket.id] = begun
            while len(self._continuing) > MOST_CONTINUING:
                self._continuing.popitem(last=False)
        return ended

    async def _decided(self, asked: "_Asked", call: Call) -> Ticket | None:
        """The caller's own ticket, once somebody decided about it or the time is over."""
        wait = asked.wait if self.waiting < MOST_WAITING else 0.0
        until = anyio.current_time() + wait
        self.waiting += 1
        try:
            with self.confirmation.decided.listen() as bell:
                while True:
                    with anyio.fail_after(STORE_SECONDS):
                        ticket = await self.confirmation.tickets.find(asked.ticket)
                    if ticket is None or not ticket.is_of(call.principal, call.client):
                        return None
                    left = until - anyio.current_time()
                    if ticket.at(self.clock()) not in (State.WAITING, State.BEGUN) or left <= 0:
                        return ticket
                    with anyio.move_on_after(min(POLL, left)):
                        await bell.wait()
        finally:
            self.waiting -= 1


def fresh_call() -> CallId:
    return CallId(fresh_id() + fresh_id())


@dataclass(frozen=True)
class _Asked:
    ticket: str
    wait: float


def _asked(call: Call) -> _Asked | tuple[str, ...]:
    given = call.arguments
    ticket, wait = given.get("ticket"), given.get("wait", USUAL_WAIT)
    problems = [f"{name!r} is not an argument of this tool" for name in sorted(given) if name not in ("ticket", "wait")]
    if not isinstance(ticket, str) or not 0 < len(ticket) <= LONGEST_ID:
        problems.append("'ticket' must be the id of a ticket")
        ticket = ""
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
        problems.append(f"'wait' must be a number of seconds from 0 to {LONGEST_WAIT}")
        wait = 0
    return tuple(problems[:10]) if problems else _Asked(ticket.strip(), float(wait))


def _failed(text: str) -> ToolFailed:
    return ToolFailed(json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode())
