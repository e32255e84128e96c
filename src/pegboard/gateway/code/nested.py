"""The calls of one program: each an ordinary call of the caller's own, decided when it is made."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final
from uuid import uuid4

import anyio

from pegboard.core.call import (
    CallCancellation,
    CallConfirmation,
    ConfirmationRefusal,
    MissingConfirmation,
    NeedsInput,
    Outcome,
    Refusal,
    ToolCall,
)
from pegboard.core.code import PYTHON_ID
from pegboard.core.ids import BuiltinKey, CallId, ToolId, WireName
from pegboard.core.inside import PROGRAM_META
from pegboard.core.naming import long_names
from pegboard.core.resolve import OpenTool
from pegboard.core.ticket import TICKET_ID, Ticket, TicketState, ticket_tool_answer
from pegboard.core.tool import Json, JsonObject, ToolSpec
from pegboard.core.view import View
from pegboard.gateway.board import BoardState
from pegboard.gateway.confirmation import STORE_TIMEOUT_S, Confirmation
from pegboard.gateway.ticket_tool import ExecuteCall, new_call_id
from pegboard.ports import ClientPeer, Clock, Progress, TicketsUnavailable
from pegboard.ports.sandbox import CallFailure, HostReply, PendingDecision, SandboxFunction, SandboxLimits
from pegboard.prompts.stubs import to_tool_names
from pegboard.prompts.stubs.reading import SchemaTypeReader

from .asking_back import resolve_input_requests
from .crossing import to_plain_json, to_program_value
from .made import CallSummary, shorten
from .turns import Slot
from .wall import ClockPausingPeer, RunActivity, RunClock

FORBIDDEN_TOOLS: Final = frozenset({PYTHON_ID, TICKET_ID})
"""A program starts no other, and waits for nobody by a call of its own."""

ABANDONED: Final = "it was given up and has not run: the program ended before anybody decided about ticket {}"


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that a person must decide about first."""

    ordinal: int
    ticket: str
    name: str
    """Of the function, with its module."""
    tool: ToolId
    arguments: JsonObject


@dataclass(frozen=True)
class CallRoutes:
    """What a call of a program goes by."""

    execute_call: ExecuteCall
    board: BoardState
    confirmation: Confirmation
    clock: Clock
    off_loop_limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    """Of threads for what is large, over all programs: each of them takes its share of the event loop's time."""


@dataclass(frozen=True)
class CallOrigin:
    """Whoever runs a program now, and the call that started it."""

    run: CallId
    call: ToolCall
    view: View
    progress: Progress | None = None
    peer: ClientPeer | None = None


@dataclass
class NestedCalls:
    """The host of one program."""

    routes: CallRoutes
    origin: CallOrigin
    functions: Mapping[str, ToolId]
    """What it may call, by module and name. Whether a tool is open is asked at each call."""
    limits: SandboxLimits
    clock: RunClock
    can_wait: bool = True
    """Whether it can be kept until a person has decided."""
    call_summaries: dict[int, CallSummary] = field(default_factory=dict[int, CallSummary])
    """By the ordinals of the calls."""
    waiting_calls: dict[int, WaitingCall] = field(default_factory=dict[int, WaitingCall])
    stdout: str = ""
    digest: str = ""
    """Of the program's text."""
    slot: Slot | None = None
    _events: int = 0
    _running: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    def __post_init__(self) -> None:
        self._turns = anyio.Semaphore(self.limits.concurrency, fast_acquire=True)
        self._course = RunActivity(self.clock, self.slot)

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        name = f"{function.module}.{function.name}" if function.module else function.name
        tool = self.functions.get(name)
        if tool is None or tool in FORBIDDEN_TOOLS:
            return CallFailure("LookupError", f"There is no function {name} here.")
        if len(self.call_summaries) >= self.limits.calls:
            return CallFailure(
                "RuntimeError",
                f"This program has made {self.limits.calls} calls, and may make no more. Return what it has found.",
            )
        with self._time_call(ordinal, name):
            async with self._course.track_call(ordinal):
                given = await to_plain_json(self._with_tool_keys(tool, arguments), self.routes.off_loop_limiter)
                if isinstance(given, CallFailure):
                    self._record(ordinal, name, 0.0, given)
                    return given
                return await self._make_call(ordinal, name, tool, *given)

    def on_output(self, text: str) -> None:
        self.stdout += text[: max(0, self.limits.stdout - len(self.stdout))]

    def set_idle(self, is_so: bool) -> None:
        self._course.set_idle(is_so)

    def close(self) -> None:
        """The program is over. What still runs for it is cancelled, and so are the calls upstream."""
        for scope in tuple(self._running):
            scope.cancel()

    async def withdraw_waiting_calls(self) -> None:
        """The program is over though calls of it wait: nobody is asked about them any more."""
        if not self.waiting_calls:
            return
        for ordinal, wait in self.waiting_calls.items():
            self.call_summaries[ordinal] = replace(self.call_summaries[ordinal], error=ABANDONED.format(wait.ticket))
        tickets = [wait.ticket for wait in self.waiting_calls.values()]
        self.waiting_calls.clear()
        await self.routes.confirmation.withdraw(tickets)

    async def resume_call(self, wait: WaitingCall, ticket: Ticket | None) -> HostReply:
        """What comes of a call that waited, now that somebody may have decided about its ticket."""
        async with self._course.track_call(wait.ordinal, moves=False):
            return await self._resume_call(wait, ticket)

    async def _resume_call(self, wait: WaitingCall, ticket: Ticket | None) -> HostReply:
        now = self.routes.clock()
        state = None if ticket is None else ticket.state_at(now)
        if ticket is not None and state is TicketState.WAITING:
            return PendingDecision(ticket.id)
        if (
            ticket is not None
            and self.routes.confirmation.credential_identity(ticket.tool, self.origin.call) != ticket.identity
        ):
            return PendingDecision(ticket.id)
        if ticket is not None and state in (TicketState.DENIED, TicketState.EXPIRED):
            reply = CallFailure("PermissionError", ticket_tool_answer(ticket, now, self.origin.call.presentation))
            del self.waiting_calls[wait.ordinal]
            self._record(wait.ordinal, wait.name, 0.0, reply)
            return reply
        if ticket is not None and state is TicketState.ALLOWED:
            id = new_call_id()
            try:
                with anyio.fail_after(STORE_TIMEOUT_S):
                    begun = await self.routes.confirmation.tickets.begin(ticket, id, now)
            except (TicketsUnavailable, TimeoutError):
                return PendingDecision(ticket.id)
            if begun is not None:
                with self._time_call(wait.ordinal, wait.name):
                    return await self._run_confirmed(wait, ticket, id, begun.arguments)
        # Somebody else has used the yes, so there is none for this call: it is asked about anew.
        with self._time_call(wait.ordinal, wait.name):
            return await self._make_call(wait.ordinal, wait.name, wait.tool, wait.arguments, None)

    @contextmanager
    def _time_call(self, ordinal: int, name: str) -> Iterator[None]:
        """Unless something else becomes of the call it is one that was given up, after as long as it ran."""
        started = perf_counter()
        given_up = self.call_summaries[ordinal] = CallSummary(name, 0, "it was given up")
        try:
            yield
        finally:
            if self.call_summaries[ordinal] is given_up:
                self.call_summaries[ordinal] = replace(given_up, ms=int((perf_counter() - started) * 1000))

    async def _run_confirmed(
        self, wait: WaitingCall, ticket: Ticket, id: CallId, arguments: Mapping[str, Json]
    ) -> HostReply:
        ended: Outcome | Refusal = CallCancellation()
        started = perf_counter()
        try:
            ended = await self._execute(wait.ordinal, self._call(id, wait.tool, arguments, None), ticket.confirmation)
        finally:
            await self.routes.confirmation.end_ticket(ticket.id, id, ended)
        return await self._reply(wait.ordinal, wait.name, wait.tool, wait.arguments, ended, perf_counter() - started)

    async def _make_call(
        self, ordinal: int, name: str, tool: ToolId, arguments: JsonObject, text: bytes | None
    ) -> HostReply:
        started = perf_counter()
        ended = await self._execute(ordinal, self._call(CallId(uuid4().hex), tool, arguments, text), None)
        return await self._reply(ordinal, name, tool, arguments, ended, perf_counter() - started)

    async def _execute(self, ordinal: int, call: ToolCall, yes: CallConfirmation | None) -> Outcome | Refusal:
        roads, view, client = self.routes, self.origin.view, self.origin.peer
        peer = None if client is None else ClockPausingPeer(client, self._course, ordinal)
        ended: Outcome | Refusal = CallCancellation()

        async def carry(call: ToolCall) -> Outcome | Refusal:
            return await roads.execute_call(call, view, None, peer, yes)

        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                async with self._turns:
                    ended = await carry(call)
                    if isinstance(ended, NeedsInput):
                        ended = await resolve_input_requests(ended, call, carry, peer)
            finally:
                self._running.discard(scope)
        return ended

    async def _reply(
        self, ordinal: int, name: str, tool: ToolId, arguments: JsonObject, ended: Outcome | Refusal, took: float
    ) -> HostReply:
        reply: HostReply
        self.waiting_calls.pop(ordinal, None)
        if (
            isinstance(ended, ConfirmationRefusal)
            and ended.reason is MissingConfirmation.WAITING
            and ended.ticket
            and self.can_wait
        ):
            self.waiting_calls[ordinal] = WaitingCall(ordinal, ended.ticket, name, tool, arguments)
            reply = PendingDecision(ended.ticket)
        else:
            spec = self._spec(tool)
            described = spec is not None and spec.output_schema is not None
            reply = await to_program_value(ended, name, described, self.routes.off_loop_limiter)
        self._record(ordinal, name, took, reply)
        return reply

    def _spec(self, tool: ToolId) -> ToolSpec | None:
        """As its stub tells it, while it is open."""
        verdict = self.routes.board.resolution(self.origin.view).verdicts.get(tool)
        return verdict.visible_tool.spec if isinstance(verdict, OpenTool) else None

    def _with_tool_keys(self, tool: ToolId, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """A key that Python has no name for has another in programs."""
        spec = self._spec(tool)
        own = None if spec is None else spec.input_schema.get("properties")
        if spec is None or (isinstance(own, Mapping) and all(name in own for name in arguments)):
            return arguments
        members, _ = SchemaTypeReader(spec.input_schema).parameters()
        return to_tool_names(arguments, (member.key for member in members))

    def _call(self, id: CallId, tool: ToolId, arguments: Mapping[str, Json], text: bytes | None) -> ToolCall:
        call, view = self.origin.call, self.origin.view
        # Where this caller knows of it no more, by what means no other tool. The id of a built-in is a bare name.
        alone = long_names(tool)[0] if isinstance(tool.source, BuiltinKey) else str(tool)
        name = self.routes.board.resolution(view).names.get(tool) or WireName(alone)
        return ToolCall(
            id,
            name,
            arguments,
            call.principal,
            self.routes.clock(),
            raw=text,
            client=call.client,
            parent=self.origin.run,
            beside=PROGRAM_META,
            headers=call.headers,
            presentation=call.presentation,
            kept_as=self.origin.run if self.can_wait else None,
            made_by=call.made_by,
        )

    def _record(self, ordinal: int, name: str, took: float, reply: HostReply) -> None:
        match reply:
            case CallFailure(_, message):
                error, word = shorten(message) or "it failed", "failed"
            case PendingDecision(ticket):
                error, word = f"it waits for a person's decision as ticket {ticket}", "waits for a person"
            case _:
                error, word = "", "ok"
        self.call_summaries[ordinal] = CallSummary(name, int(took * 1000), error)
        self._events += 1
        if self.origin.progress is not None:
            self.origin.progress(float(self._events), None, f"{name}: {word}")
