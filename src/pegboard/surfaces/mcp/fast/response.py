"""Writes the answer to one request: JSON, or an event stream if something must be sent before it."""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from starlette.types import Receive, Send


JSON_HEADER: Final = (b"content-type", b"application/json")
STREAM_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
EMPTY_BODY_HEADER: Final = (b"content-length", b"0")
MAX_QUEUED_EVENTS: Final = 256
"""What waits for a slow client at most; beyond it the oldest is dropped, because only the newest says how far it is.
More than a server may log at once: a burst that arrives in one piece is no sign of a slow client."""

MAX_QUEUED_BYTES: Final = 1024 * 1024
"""Bytes that wait at most, of which one event may be more."""

PING_EVENT: Final = b": ping\r\n\r\n"

HeaderPair: TypeAlias = tuple[bytes, bytes]
SendWhole: TypeAlias = Callable[[int, bytes, bytes], bool]
"""Status, lines of headers, and body."""
_NO_EVENTS: Final[deque[tuple[bytes, bool]]] = deque(maxlen=0)


class ExtraHeaders:
    """Headers that answers have beside the usual ones, also as they are written."""

    __slots__ = ("header_lines", "headers")

    def __init__(self, headers: tuple[HeaderPair, ...] = ()) -> None:
        self.headers = headers
        self.header_lines = b"".join(b"%b: %b\r\n" % header for header in headers)


NO_EXTRA_HEADERS: Final = ExtraHeaders()


class ResponseWriter:
    __slots__ = (
        "_delivery",
        "_droppable_bytes",
        "_droppable_count",
        "_extra_headers",
        "_is_finished",
        "_queue",
        "_send",
        "_send_whole",
        "_wake",
        "stuck_since",
    )

    def __init__(self, send: "Send", lines: ExtraHeaders = NO_EXTRA_HEADERS, whole: SendWhole | None = None) -> None:
        """`whole` sends an answer in one go, where the server can."""
        self._send = send
        self._send_whole = whole
        self._extra_headers = lines
        self._queue = _NO_EVENTS
        self._droppable_count = 0
        self._droppable_bytes = 0
        """How many of them may be dropped, and their bytes."""
        self._wake: asyncio.Event | None = None
        self._delivery: asyncio.Task[None] | None = None
        self._is_finished = False
        self.stuck_since: float | None = None
        """Since when an event waits for the client to read."""

    def send_event(self, message: bytes, *, must: bool = False) -> None:
        """Say this before the answer, without waiting. What must not be lost is kept however slow the client is."""
        self._enqueue(_encode_event(message), must=must)

    def ping(self) -> None:
        """A sign of life, for whatever stands between us and the client and closes silent connections."""
        self._enqueue(PING_EVENT, must=False)

    def _enqueue(self, event: bytes, *, must: bool) -> None:
        if self._is_finished:
            return
        if self._queue is _NO_EVENTS:
            self._queue = deque()
        if not must:
            while self._droppable_count >= MAX_QUEUED_EVENTS or (
                self._droppable_count and self._droppable_bytes + len(event) > MAX_QUEUED_BYTES
            ):
                self._drop_oldest()
            self._droppable_count += 1
            self._droppable_bytes += len(event)
        self._queue.append((event, must))
        if self._wake is None:
            self._wake = asyncio.Event()
            self._delivery = asyncio.get_running_loop().create_task(self._deliver(self._wake), name="events")
        self._wake.set()

    def _drop_oldest(self) -> None:
        oldest = next(place for place, (_, kept) in enumerate(self._queue) if not kept)
        self._droppable_bytes -= len(self._queue[oldest][0])
        self._droppable_count -= 1
        del self._queue[oldest]

    def try_send_whole(self, message: bytes, status: int = 200) -> bool:
        """The answer itself, if nothing has gone before it and it can go as a whole."""
        if self._send_whole is None or self._delivery is not None:
            return False
        self._is_finished = True
        lines = b"content-type: application/json\r\ncontent-length: %d\r\n%b" % (
            len(message),
            self._extra_headers.header_lines,
        )
        return self._send_whole(status, lines, message)

    async def finish(self, message: bytes, status: int = 200) -> None:
        """The answer itself. Everything told before is on its way when it goes."""
        self._is_finished = True
        if self._delivery is None or self._wake is None:
            headers = (JSON_HEADER, (b"content-length", b"%d" % len(message)), *self._extra_headers.headers)
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": message})
            return
        self._wake.set()
        try:
            await self._delivery
        finally:
            self._delivery.cancel()
        await self._send({"type": "http.response.body", "body": _encode_event(message)})

    async def finish_in_parts(self, *parts: bytes) -> None:
        """A long answer that is not put together only to be sent."""
        headers = [JSON_HEADER, (b"content-length", b"%d" % sum(map(len, parts))), *self._extra_headers.headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        for part in parts[:-1]:
            await self._send({"type": "http.response.body", "body": part, "more_body": True})
        await self._send({"type": "http.response.body", "body": parts[-1]})

    async def acknowledge(self) -> None:
        """What needs no answer was heard."""
        await self._send(
            {"type": "http.response.start", "status": 202, "headers": [EMPTY_BODY_HEADER, *self._extra_headers.headers]}
        )
        await self._send({"type": "http.response.body", "body": b""})

    def abandon(self) -> None:
        """Nobody reads the answer any more."""
        self._is_finished = True
        self._queue = _NO_EVENTS
        self._droppable_count = self._droppable_bytes = 0
        if self._delivery is not None:
            self._delivery.cancel()

    async def _deliver(self, more: asyncio.Event) -> None:
        headers = [*STREAM_HEADERS, *self._extra_headers.headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        while True:
            while self._queue:
                event, kept = self._queue.popleft()
                if not kept:
                    self._droppable_count -= 1
                    self._droppable_bytes -= len(event)
                self.stuck_since = perf_counter()
                await self._send({"type": "http.response.body", "body": event, "more_body": True})
            self.stuck_since = None
            if self._is_finished:
                return
            more.clear()
            await more.wait()


def _encode_event(message: bytes) -> bytes:
    """A server may write its JSON over many lines, and a line ends what an event says."""
    if b"\n" in message or b"\r" in message:
        message = msgspec.json.format(message, indent=-1)
    return b"event: message\r\ndata: %b\r\n\r\n" % message


# Requests under way on the short road, and the one clock that looks after all of them.
#
# A timer or a task for each call would cost more than the rest of the call does. So a tick comes by four times a
# second
# while there is anything to look after, and only what has taken longer than that gets a task that waits for its
# client to
# hang up.

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
