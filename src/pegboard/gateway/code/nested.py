"""The calls of one program: each an ordinary call of the caller's own, decided when it is made."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final
from uuid import uuid4

import anyio

from pegboard.core.call import Call, Cancelled, Confirmed, NeedsInput, NotConfirmed, Outcome, Refusal, Unconfirmed
from pegboard.core.code import PYTHON_ID
from pegboard.core.ids import BuiltinKey, CallId, ToolId, WireName
from pegboard.core.inside import MARKED
from pegboard.core.naming import long_names
from pegboard.core.resolve import Open
from pegboard.core.ticket import TICKET_ID, State, Ticket, answer
from pegboard.core.tool import Json, JsonObject, ToolSpec
from pegboard.core.view import View
from pegboard.gateway.board import Board
from pegboard.gateway.confirmation import STORE_SECONDS, Confirmation
from pegboard.gateway.ticket_tool import Carry, fresh_call
from pegboard.ports import Clock, Peer, Progress, TicketsAway
from pegboard.ports.sandbox import Function, Limits, Raised, Reply, Waits
from pegboard.prompts.stubs import as_the_tool_names_them
from pegboard.prompts.stubs.reading import Reader

from .asking_back import answered
from .crossing import crossed, plain
from .made import Made, shortened
from .turns import Turn
from .wall import Course, Patient, Wall

NEVER: Final = frozenset({PYTHON_ID, TICKET_ID})
"""A program starts no other, and waits for nobody by a call of its own."""

GIVEN_UP: Final = "it was given up and has not run: the program ended before anybody decided about ticket {}"


@dataclass(frozen=True, slots=True)
class Wait:
    """A call that a person must decide about first."""

    ordinal: int
    ticket: str
    name: str
    """Of the function, with its module."""
    tool: ToolId
    arguments: JsonObject


@dataclass(frozen=True)
class Roads:
    """What a call of a program goes by."""

    carry: Carry
    board: Board
    confirmation: Confirmation
    clock: Clock
    beside: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    """Of threads for what is large, over all programs: each of them takes its share of the event loop's time."""


@dataclass(frozen=True)
class Origin:
    """Whoever runs a program now, and the call that started it."""

    run: CallId
    call: Call
    view: View
    progress: Progress | None = None
    peer: Peer | None = None


@dataclass
class Nested:
    """The host of one program."""

    roads: Roads
    origin: Origin
    functions: Mapping[str, ToolId]
    """What it may call, by module and name. Whether a tool is open is asked at each call."""
    limits: Limits
    wall: Wall
    can_wait: bool = True
    """Whether it can be kept until a person has decided."""
    made: dict[int, Made] = field(default_factory=dict[int, Made])
    """By the ordinals of the calls."""
    waiting: dict[int, Wait] = field(default_factory=dict[int, Wait])
    stdout: str = ""
    digest: str = ""
    """Of the program's text."""
    turn: Turn | None = None
    _events: int = 0
    _under_way: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    def __post_init__(self) -> None:
        self._turns = anyio.Semaphore(self.limits.concurrency, fast_acquire=True)
        self._course = Course(self.wall, self.turn)

    async def call(self, ordinal: int, function: Function, arguments: Mapping[str, Json]) -> Reply:
        name = f"{function.module}.{function.name}" if function.module else function.name
        tool = self.functions.get(name)
        if tool is None or tool in NEVER:
            return Raised("LookupError", f"There is no function {name} here.")
        if len(self.made) >= self.limits.calls:
            return Raised(
                "RuntimeError",
                f"This program has made {self.limits.calls} calls, and may make no more. Return what it has found.",
            )
        with self._timed(ordinal, name):
            async with self._course.call(ordinal):
                given = await plain(self._by_their_keys(tool, arguments), self.roads.beside)
                if isinstance(given, Raised):
                    self._note(ordinal, name, 0.0, given)
                    return given
                return await self._made(ordinal, name, tool, *given)

    def printed(self, text: str) -> None:
        self.stdout += text[: max(0, self.limits.stdout - len(self.stdout))]

    def rests(self, is_so: bool) -> None:
        self._course.rests(is_so)

    def close(self) -> None:
        """The program is over. What still runs for it is cancelled, and so are the calls upstream."""
        for scope in tuple(self._under_way):
            scope.cancel()

    async def give_up_waiting(self) -> None:
        """The program is over though calls of it wait: nobody is asked about them any more."""
        if not self.waiting:
            return
        for ordinal, wait in self.waiting.items():
            self.made[ordinal] = replace(self.made[ordinal], error=GIVEN_UP.format(wait.ticket))
        tickets = [wait.ticket for wait in self.waiting.values()]
        self.waiting.clear()
        await self.roads.confirmation.withdraw(tickets)

    async def decided(self, wait: Wait, ticket: Ticket | None) -> Reply:
        """What comes of a call that waited, now that somebody may have decided about its ticket."""
        async with self._course.call(wait.ordinal, moves=False):
            return await self._decided(wait, ticket)

    async def _decided(self, wait: Wait, ticket: Ticket | None) -> Reply:
        now = self.roads.clock()
        state = None if ticket is None else ticket.at(now)
        if ticket is not None and state is State.WAITING:
            return Waits(ticket.id)
        if ticket is not None and self.roads.confirmation.whose(ticket.tool, self.origin.call) != ticket.whose:
            return Waits(ticket.id)
        if ticket is not None and state in (State.DENIED, State.LAPSED):
            reply = Raised("PermissionError", answer(ticket, now, self.origin.call.presentation))
            del self.waiting[wait.ordinal]
            self._note(wait.ordinal, wait.name, 0.0, reply)
            return reply
        if ticket is not None and state is State.GRANTED:
            id = fresh_call()
            try:
                with anyio.fail_after(STORE_SECONDS):
                    begun = await self.roads.confirmation.tickets.begin(ticket, id, now)
            except (TicketsAway, TimeoutError):
                return Waits(ticket.id)
            if begun is not None:
                with self._timed(wait.ordinal, wait.name):
                    return await self._confirmed(wait, ticket, id, begun.arguments)
        # Somebody else has used the yes, so there is none for this call: it is asked about anew.
        with self._timed(wait.ordinal, wait.name):
            return await self._made(wait.ordinal, wait.name, wait.tool, wait.arguments, None)

    @contextmanager
    def _timed(self, ordinal: int, name: str) -> Iterator[None]:
        """Unless something else becomes of the call it is one that was given up, after as long as it ran."""
        started = perf_counter()
        given_up = self.made[ordinal] = Made(name, 0, "it was given up")
        try:
            yield
        finally:
            if self.made[ordinal] is given_up:
                self.made[ordinal] = replace(given_up, ms=int((perf_counter() - started) * 1000))

    async def _confirmed(self, wait: Wait, ticket: Ticket, id: CallId, arguments: Mapping[str, Json]) -> Reply:
        ended: Outcome | Refusal = Cancelled()
        started = perf_counter()
        try:
            ended = await self._carried(wait.ordinal, self._call(id, wait.tool, arguments, None), ticket.yes)
        finally:
            await self.roads.confirmation.end_ticket(ticket.id, id, ended)
        return await self._reply(wait.ordinal, wait.name, wait.tool, wait.arguments, ended, perf_counter() - started)

    async def _made(self, ordinal: int, name: str, tool: ToolId, arguments: JsonObject, text: bytes | None) -> Reply:
        started = perf_counter()
        ended = await self._carried(ordinal, self._call(CallId(uuid4().hex), tool, arguments, text), None)
        return await self._reply(ordinal, name, tool, arguments, ended, perf_counter() - started)

    async def _carried(self, ordinal: int, call: Call, yes: Confirmed | None) -> Outcome | Refusal:
        roads, view, client = self.roads, self.origin.view, self.origin.peer
        peer = None if client is None else Patient(client, self._course, ordinal)
        ended: Outcome | Refusal = Cancelled()

        async def carry(call: Call) -> Outcome | Refusal:
            return await roads.carry(call, view, None, peer, yes)

        with anyio.CancelScope() as scope:
            self._under_way.add(scope)
            try:
                async with self._turns:
                    ended = await carry(call)
                    if isinstance(ended, NeedsInput):
                        ended = await answered(ended, call, carry, peer)
            finally:
                self._under_way.discard(scope)
        return ended

    async def _reply(
        self, ordinal: int, name: str, tool: ToolId, arguments: JsonObject, ended: Outcome | Refusal, took: float
    ) -> Reply:
        reply: Reply
        self.waiting.pop(ordinal, None)
        if isinstance(ended, NotConfirmed) and ended.how is Unconfirmed.WAITING and ended.ticket and self.can_wait:
            self.waiting[ordinal] = Wait(ordinal, ended.ticket, name, tool, arguments)
            reply = Waits(ended.ticket)
        else:
            spec = self._spec(tool)
            described = spec is not None and spec.output_schema is not None
            reply = await crossed(ended, name, described, self.roads.beside)
        self._note(ordinal, name, took, reply)
        return reply

    def _spec(self, tool: ToolId) -> ToolSpec | None:
        """As its stub tells it, while it is open."""
        verdict = self.roads.board.resolution(self.origin.view).verdicts.get(tool)
        return verdict.shown.spec if isinstance(verdict, Open) else None

    def _by_their_keys(self, tool: ToolId, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """A key that Python has no name for has another in programs."""
        spec = self._spec(tool)
        own = None if spec is None else spec.input_schema.get("properties")
        if spec is None or (isinstance(own, Mapping) and all(name in own for name in arguments)):
            return arguments
        members, _ = Reader(spec.input_schema).parameters()
        return as_the_tool_names_them(arguments, (member.key for member in members))

    def _call(self, id: CallId, tool: ToolId, arguments: Mapping[str, Json], text: bytes | None) -> Call:
        call, view = self.origin.call, self.origin.view
        # Where this caller knows of it no more, by what means no other tool. The id of a built-in is a bare name.
        alone = long_names(tool)[0] if isinstance(tool.source, BuiltinKey) else str(tool)
        name = self.roads.board.resolution(view).names.get(tool) or WireName(alone)
        return Call(
            id,
            name,
            arguments,
            call.principal,
            self.roads.clock(),
            raw=text,
            client=call.client,
            parent=self.origin.run,
            beside=MARKED,
            headers=call.headers,
            presentation=call.presentation,
            kept_as=self.origin.run if self.can_wait else None,
            made_by=call.made_by,
        )

    def _note(self, ordinal: int, name: str, took: float, reply: Reply) -> None:
        match reply:
            case Raised(_, message):
                error, word = shortened(message) or "it failed", "failed"
            case Waits(ticket):
                error, word = f"it waits for a person's decision as ticket {ticket}", "waits for a person"
            case _:
                error, word = "", "ok"
        self.made[ordinal] = Made(name, int(took * 1000), error)
        self._events += 1
        if self.origin.progress is not None:
            self.origin.progress(float(self._events), None, f"{name}: {word}")
