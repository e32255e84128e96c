"""Requests under way on the short road, and the one clock that looks after all of them.

A timer or a task for each call would cost more than the rest of the call does. So a tick comes by four times a second
while there is anything to look after, and only what has taken longer than that gets a task that waits for its client to
hang up.
"""

import asyncio
from enum import Enum, auto
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from .reply import ResponseWriter

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from starlette.types import Receive

TICK_S: Final = 0.25
PING_AFTER_S: Final = 15.0
"""Seconds of silence after which a client is sent a sign of life."""


class Phase(Enum):
    READING = auto()
    CALLING = auto()
    WRITING = auto()


class InboundRequest:
    """One request: what it is doing since when, and the task that does it."""

    __slots__ = (
        "client_gone",
        "key",
        "last_ping",
        "phase",
        "phase_since",
        "receive",
        "task",
        "timed_out",
        "was_cancelled",
        "watcher",
        "writer",
    )

    def __init__(self, receive: "Receive | None", writer: ResponseWriter) -> None:
        """Without `receive`, whoever serves it calls `leave` when the client hangs up."""
        self.receive = receive
        self.writer = writer
        self.task: asyncio.Task[Any] | None = None
        self.phase = Phase.CALLING if receive is None else Phase.READING
        self.phase_since = self.last_ping = perf_counter()
        self.watcher: asyncio.Task[None] | None = None
        self.key: tuple[bytes, bytes] | None = None
        """Session and request id, by which a client of the handshake era gives its request up."""
        self.was_cancelled = False
        """By its client, which hung up or said so."""
        self.client_gone = False
        self.timed_out = False
        """The client neither sent nor read for too long."""

    def enter(self, phase: Phase) -> None:
        self.phase = phase
        self.phase_since = perf_counter()

    def cancel(self) -> None:
        if self.phase is Phase.CALLING and self.task is not None:
            self.was_cancelled = True
            self.task.cancel()

    def time_out(self) -> None:
        if not self.timed_out and self.task is not None:
            self.timed_out = True
            self.task.cancel()

    async def watch_disconnect(self, receive: "Receive") -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.on_disconnect()

    def on_disconnect(self) -> None:
        """The client has hung up."""
        self.client_gone = True
        self.writer.abandon()
        self.cancel()

    def absorb_cancellation(self) -> bool:
        """Whether the task was cancelled by its own ticket, and by nobody else; it goes on then."""
        if not (self.was_cancelled or self.timed_out) or self.task is None:
            return False
        return self.task.uncancel() == 0


class RequestSupervisor:
    def __init__(self, patience: float) -> None:
        self._client_timeout_s = patience
        self._requests: dict[InboundRequest, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        # Asking for the running loop is a call into the kernel, on every request.
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._requests)

    def begin(self, ticket: InboundRequest, work: "Coroutine[Any, Any, None] | None" = None) -> None:
        """Its work is done in a task of its own; without any, the current one is at it."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        ticket.task = asyncio.current_task(loop) if work is None else loop.create_task(work)
        self._requests[ticket] = None
        if self._timer is None:
            self._timer = loop.call_later(TICK_S, self._tick)

    def end(self, ticket: InboundRequest) -> None:
        self._requests.pop(ticket, None)
        if ticket.watcher is not None:
            ticket.watcher.cancel()

    def cancel(self, key: tuple[bytes, bytes]) -> bool:
        """Rare, so no index is kept for it."""
        found = [ticket for ticket in self._requests if ticket.key == key]
        for ticket in found:
            ticket.cancel()
        return bool(found)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for ticket in self._requests:
            if ticket.receive is None and ticket.task is not None:
                ticket.task.cancel()

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(TICK_S, self._tick) if self._requests else None
        now = perf_counter()
        for ticket in list(self._requests):
            age = now - ticket.phase_since
            if age < TICK_S:
                continue
            if ticket.phase is not Phase.CALLING:
                if age > self._client_timeout_s:
                    ticket.time_out()
                continue
            if ticket.writer.stuck_since is not None and now - ticket.writer.stuck_since > self._client_timeout_s:
                ticket.time_out()
                continue
            if ticket.watcher is None and ticket.receive is not None:
                ticket.watcher = loop.create_task(ticket.watch_disconnect(ticket.receive), name="client")
            if now - max(ticket.last_ping, ticket.phase_since) > PING_AFTER_S:
                ticket.last_ping = now
                ticket.writer.ping()
