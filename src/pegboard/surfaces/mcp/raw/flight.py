"""Requests under way on the short road, and the one clock that looks after all of them.

A timer or a task for each call would cost more than the rest of the call does. So a tick comes by four times a second
while there is anything to look after, and only what has taken longer than that gets a task that waits for its client to
hang up.
"""

import asyncio
from enum import Enum, auto
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from .reply import Reply

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from starlette.types import Receive

TICK: Final = 0.25
QUIET: Final = 15.0
"""Seconds of silence after which a client is sent a sign of life."""


class Phase(Enum):
    READING = auto()
    CALLING = auto()
    WRITING = auto()


class Ticket:
    """One request: what it is doing since when, and the task that does it."""

    __slots__ = ("given_up", "hung_up", "key", "late", "phase", "receive", "reply", "since", "spoke", "task", "watcher")

    def __init__(self, receive: "Receive | None", reply: Reply) -> None:
        """Without `receive`, whoever serves it calls `leave` when the client hangs up."""
        self.receive = receive
        self.reply = reply
        self.task: asyncio.Task[Any] | None = None
        self.phase = Phase.CALLING if receive is None else Phase.READING
        self.since = self.spoke = perf_counter()
        self.watcher: asyncio.Task[None] | None = None
        self.key: tuple[bytes, bytes] | None = None
        """Session and request id, by which a client of the handshake era gives its request up."""
        self.given_up = False
        """By its client, which hung up or said so."""
        self.hung_up = False
        self.late = False
        """The client neither sent nor read for too long."""

    def enter(self, phase: Phase) -> None:
        self.phase = phase
        self.since = perf_counter()

    def give_up(self) -> None:
        if self.phase is Phase.CALLING and self.task is not None:
            self.given_up = True
            self.task.cancel()

    def cut(self) -> None:
        if not self.late and self.task is not None:
            self.late = True
            self.task.cancel()

    async def watch(self, receive: "Receive") -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.leave()

    def leave(self) -> None:
        """The client has hung up."""
        self.hung_up = True
        self.reply.drop()
        self.give_up()

    def caught(self) -> bool:
        """Whether the task was cancelled by its own ticket, and by nobody else; it goes on then."""
        if not (self.given_up or self.late) or self.task is None:
            return False
        return self.task.uncancel() == 0


class Flight:
    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._tickets: dict[Ticket, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        # Asking for the running loop is a call into the kernel, on every request.
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._tickets)

    def begin(self, ticket: Ticket, work: "Coroutine[Any, Any, None] | None" = None) -> None:
        """Its work is done in a task of its own; without any, the current one is at it."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        ticket.task = asyncio.current_task(loop) if work is None else loop.create_task(work)
        self._tickets[ticket] = None
        if self._timer is None:
            self._timer = loop.call_later(TICK, self._tick)

    def end(self, ticket: Ticket) -> None:
        self._tickets.pop(ticket, None)
        if ticket.watcher is not None:
            ticket.watcher.cancel()

    def give_up(self, key: tuple[bytes, bytes]) -> bool:
        """Rare, so no index is kept for it."""
        found = [ticket for ticket in self._tickets if ticket.key == key]
        for ticket in found:
            ticket.give_up()
        return bool(found)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for ticket in self._tickets:
            if ticket.receive is None and ticket.task is not None:
                ticket.task.cancel()

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(TICK, self._tick) if self._tickets else None
        now = perf_counter()
        for ticket in list(self._tickets):
            age = now - ticket.since
            if age < TICK:
                continue
            if ticket.phase is not Phase.CALLING:
                if age > self._patience:
                    ticket.cut()
                continue
            if ticket.reply.stuck is not None and now - ticket.reply.stuck > self._patience:
                ticket.cut()
                continue
            if ticket.watcher is None and ticket.receive is not None:
                ticket.watcher = loop.create_task(ticket.watch(ticket.receive), name="client")
            if now - max(ticket.spoke, ticket.since) > QUIET:
                ticket.spoke = now
                ticket.reply.ping()
