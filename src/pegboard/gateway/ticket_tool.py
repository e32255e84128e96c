"""The built-in `pegboard_ticket`: waits for the decision about a ticket, and runs its call after a yes."""

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeAlias

import anyio

from pegboard.core.calls.call import (
    BadArguments,
    CallCancellation,
    CallConfirmation,
    CallRecord,
    MissingConfirmation,
    NeedsInput,
    Outcome,
    Refusal,
    ToolCall,
    ToolFailure,
)
from pegboard.core.calls.programs import NO_WAIT_IN_PROGRAM_TEXT, is_program_call
from pegboard.core.calls.tickets import (
    DEFAULT_WAIT_S,
    MAX_WAIT_S,
    TICKET_ID,
    Ticket,
    TicketState,
    TicketUse,
    ticket_tool_answer,
    unknown_text,
)
from pegboard.core.model.ids import CallId, ToolId
from pegboard.core.model.selection import View
from pegboard.core.policy.policy import other_identity_text
from pegboard.gateway.board import BoardState
from pegboard.gateway.confirmation import CONTINUATION_FIELDS, STORE_TIMEOUT_S, Confirmation, new_ticket_id
from pegboard.ports.audit import Audit
from pegboard.ports.providers import ClientPeer, Clock, Progress
from pegboard.ports.stores import TicketsUnavailable

POLL_INTERVAL_S: Final = 1.0
"""Seconds after which the store is asked again: another process may have decided."""
MAX_WAITING: Final = 200
MAX_CONTINUATIONS: Final = 1_000
MAX_ID_CHARS: Final = 64

CallOutcome: TypeAlias = Outcome | Refusal
ExecuteCall: TypeAlias = Callable[
    [ToolCall, View, Progress | None, ClientPeer | None, CallConfirmation | None], Awaitable[CallOutcome]
]
ResumeProgram: TypeAlias = Callable[
    [Ticket, ToolCall, View, Progress | None, ClientPeer | None], Awaitable[CallOutcome | None]
]
"""What comes of the program that waits for a ticket; `None` where none does."""


@dataclass
class TicketTool:
    board: BoardState
    confirmation: Confirmation
    audit: Audit
    clock: Clock
    resume_program: ResumeProgram | None = None
    off_board_tools: Mapping[ToolId, ExecuteCall] = field(default_factory=dict[ToolId, ExecuteCall])
    """How tools are called that need not hang on the board."""
    waiting_count: int = 0
    _continuations: OrderedDict[str, TicketUse] = field(default_factory=OrderedDict[str, TicketUse])

    async def call(
        self,
        call: ToolCall,
        view: View,
        carry: ExecuteCall,
        progress: Progress | None = None,
        peer: ClientPeer | None = None,
    ) -> CallOutcome:
        ended: CallOutcome = CallCancellation()
        started = anyio.current_time()
        try:
            ended = await self._answer(call, view, carry, progress, peer)
        except (TicketsUnavailable, TimeoutError):
            ended = _failure(
                "confirmation_unavailable: Tickets cannot be read: the store does not answer. Try again in a moment."
            )
        finally:
            took = timedelta(seconds=anyio.current_time() - started)
            self.audit.record(CallRecord(call, TICKET_ID, ended, took, self.board.policy.version))
        return ended

    async def _answer(
        self, call: ToolCall, view: View, carry: ExecuteCall, progress: Progress | None, peer: ClientPeer | None
    ) -> CallOutcome:
        if isinstance(asked := _parse_arguments(call), tuple):
            return BadArguments(TICKET_ID, asked)
        if is_program_call(call):
            return _failure(NO_WAIT_IN_PROGRAM_TEXT)
        ticket = await self._wait_for_decision(asked, call)
        if ticket is None:
            return _failure(unknown_text(asked.ticket))
        if ticket.identity != self.confirmation.credential_identity(ticket.tool, call):
            return _failure(f"{MissingConfirmation.WAITING.value}: {other_identity_text(ticket.id)}")
        if (
            self.resume_program is not None
            and (ended := await self.resume_program(ticket, call, view, progress, peer)) is not None
        ):
            return ended
        now = self.clock()
        if (
            any(name in call.beside for name in CONTINUATION_FIELDS)
            and (begun := self._continuations.get(ticket.id)) is not None
        ):
            # Its tool asked back, and this brings the answers: the same call goes on.
            return await self._run(begun, new_call_id(), call, view, carry, progress, peer)
        if ticket.state_at(now) is not TicketState.ALLOWED:
            return _failure(ticket_tool_answer(ticket, now, call.presentation, call.audience))
        if self.board.resolution(view).names.get(ticket.tool) is None and ticket.tool not in self.off_board_tools:
            return _failure(f"Ticket {ticket.id} is for a tool that this request leaves out. Repeat its call instead.")
        # A call of its own, so that each has one record.
        id = new_call_id()
        with anyio.fail_after(STORE_TIMEOUT_S):
            begun = await self.confirmation.tickets.begin(ticket, id, now)
            if begun is None:
                found = await self.confirmation.tickets.find(ticket.id) or ticket
                return _failure(ticket_tool_answer(found, now, call.presentation, call.audience))
        return await self._run(begun, id, call, view, carry, progress, peer)

    async def _run(
        self,
        begun: TicketUse,
        id: CallId,
        call: ToolCall,
        view: View,
        carry: ExecuteCall,
        progress: Progress | None,
        peer: ClientPeer | None,
    ) -> CallOutcome:
        ticket = begun.ticket
        # Looked up now, because while the store was asked the name may have become another tool's.
        named = self.board.resolution(view).names.get(ticket.tool)
        name = named or ticket.name
        carry = carry if named is not None else self.off_board_tools.get(ticket.tool, carry)
        own = ToolCall(
            id,
            name,
            begun.arguments,
            call.principal,
            self.clock(),
            client=call.client,
            parent=call.id,
            beside={name: call.beside[name] for name in CONTINUATION_FIELDS if name in call.beside},
            headers=call.headers,
            presentation=call.presentation,
            made_by=call.made_by,
            audience=call.audience,
        )
        if begun.ticket.id in self._continuations:
            del self._continuations[begun.ticket.id]
        ended: CallOutcome = CallCancellation()
        try:
            ended = await carry(own, view, progress, peer, ticket.confirmation)
        finally:
            await self.confirmation.end_ticket(ticket.id, id, ended)
        if isinstance(ended, NeedsInput):
            self._continuations[ticket.id] = begun
            while len(self._continuations) > MAX_CONTINUATIONS:
                self._continuations.popitem(last=False)
        return ended

    async def _wait_for_decision(self, asked: "_TicketArguments", call: ToolCall) -> Ticket | None:
        """The caller's own ticket, once somebody decided about it or the time is over."""
        wait = asked.wait if self.waiting_count < MAX_WAITING else 0.0
        until = anyio.current_time() + wait
        self.waiting_count += 1
        try:
            with self.confirmation.ticket_changes.subscribe() as bell:
                while True:
                    with anyio.fail_after(STORE_TIMEOUT_S):
                        ticket = await self.confirmation.tickets.find(asked.ticket)
                    if ticket is None or not ticket.is_of(call.principal, call.client):
                        return None
                    left = until - anyio.current_time()
                    if ticket.state_at(self.clock()) not in (TicketState.WAITING, TicketState.RUNNING) or left <= 0:
                        return ticket
                    with anyio.move_on_after(min(POLL_INTERVAL_S, left)):
                        await bell.wait()
        finally:
            self.waiting_count -= 1


def new_call_id() -> CallId:
    return CallId(new_ticket_id() + new_ticket_id())


@dataclass(frozen=True)
class _TicketArguments:
    ticket: str
    wait: float


def _parse_arguments(call: ToolCall) -> _TicketArguments | tuple[str, ...]:
    given = call.arguments
    ticket, wait = given.get("ticket"), given.get("wait", DEFAULT_WAIT_S)
    problems = [f"{name!r} is not an argument of this tool" for name in sorted(given) if name not in ("ticket", "wait")]
    if not isinstance(ticket, str) or not 0 < len(ticket) <= MAX_ID_CHARS:
        problems.append("'ticket' must be the id of a ticket")
        ticket = ""
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= MAX_WAIT_S:
        problems.append(f"'wait' must be a number of seconds from 0 to {MAX_WAIT_S}")
        wait = 0
    return tuple(problems[:10]) if problems else _TicketArguments(ticket.strip(), float(wait))


def _failure(text: str) -> ToolFailure:
    return ToolFailure(json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode())
