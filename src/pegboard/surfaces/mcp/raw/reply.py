"""The answer to one request on its way out: plain JSON, or a stream of events once something must be said before it."""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from starlette.types import Send

JSON: Final = (b"content-type", b"application/json")
STREAM: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
EMPTY: Final = (b"content-length", b"0")
WAITING: Final = 256
"""What waits for a slow client at most; beyond it the oldest is dropped, because only the newest says how far it is.
More than a server may log at once: a burst that arrives in one piece is no sign of a slow client."""

HEAVY: Final = 1024 * 1024
"""Bytes that wait at most, of which one event may be more."""

PING: Final = b": ping\r\n\r\n"

Header: TypeAlias = tuple[bytes, bytes]
Whole: TypeAlias = Callable[[int, bytes, bytes], bool]
"""Status, lines of headers, and body."""
_NONE_WAIT: Final[deque[tuple[bytes, bool]]] = deque(maxlen=0)


class Lines:
    """Headers that answers have beside the usual ones, also as they are written."""

    __slots__ = ("headers", "text")

    def __init__(self, headers: tuple[Header, ...] = ()) -> None:
        self.headers = headers
        self.text = b"".join(b"%b: %b\r\n" % header for header in headers)


NO_LINES: Final = Lines()


class Reply:
    __slots__ = ("_lines", "_more", "_over", "_passing", "_pump", "_send", "_waiting", "_weight", "_whole", "stuck")

    def __init__(self, send: "Send", lines: Lines = NO_LINES, whole: Whole | None = None) -> None:
        """`whole` sends an answer in one go, where the server can."""
        self._send = send
        self._whole = whole
        self._lines = lines
        self._waiting = _NONE_WAIT
        self._passing = 0
        self._weight = 0
        """How many of them may be dropped, and their bytes."""
        self._more: asyncio.Event | None = None
        self._pump: asyncio.Task[None] | None = None
        self._over = False
        self.stuck: float | None = None
        """Since when an event waits for the client to read."""

    def tell(self, message: bytes, *, must: bool = False) -> None:
        """Say this before the answer, without waiting. What must not be lost is kept however slow the client is."""
        self._put(_event(message), must=must)

    def ping(self) -> None:
        """A sign of life, for whatever stands between us and the client and closes silent connections."""
        self._put(PING, must=False)

    def _put(self, event: bytes, *, must: bool) -> None:
        if self._over:
            return
        if self._waiting is _NONE_WAIT:
            self._waiting = deque()
        if not must:
            while self._passing >= WAITING or (self._passing and self._weight + len(event) > HEAVY):
                self._forget_oldest()
            self._passing += 1
            self._weight += len(event)
        self._waiting.append((event, must))
        if self._more is None:
            self._more = asyncio.Event()
            self._pump = asyncio.get_running_loop().create_task(self._deliver(self._more), name="events")
        self._more.set()

    def _forget_oldest(self) -> None:
        oldest = next(place for place, (_, kept) in enumerate(self._waiting) if not kept)
        self._weight -= len(self._waiting[oldest][0])
        self._passing -= 1
        del self._waiting[oldest]

    def at_once(self, message: bytes, status: int = 200) -> bool:
        """The answer itself, if nothing has gone before it and it can go as a whole."""
        if self._whole is None or self._pump is not None:
            return False
        self._over = True
        lines = b"content-type: application/json\r\ncontent-length: %d\r\n%b" % (len(message), self._lines.text)
        return self._whole(status, lines, message)

    async def finish(self, message: bytes, status: int = 200) -> None:
        """The answer itself. Everything told before is on its way when it goes."""
        self._over = True
        if self._pump is None or self._more is None:
            headers = (JSON, (b"content-length", b"%d" % len(message)), *self._lines.headers)
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": message})
            return
        self._more.set()
        try:
            await self._pump
        finally:
            self._pump.cancel()
        await self._send({"type": "http.response.body", "body": _event(message)})

    async def finish_in_parts(self, *parts: bytes) -> None:
        """A long answer that is not put together only to be sent."""
        headers = [JSON, (b"content-length", b"%d" % sum(map(len, parts))), *self._lines.headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        for part in parts[:-1]:
            await self._send({"type": "http.response.body", "body": part, "more_body": True})
        await self._send({"type": "http.response.body", "body": parts[-1]})

    async def acknowledge(self) -> None:
        """What needs no answer was heard."""
        await self._send({"type": "http.response.start", "status": 202, "headers": [EMPTY, *self._lines.headers]})
        await self._send({"type": "http.response.body", "body": b""})

    def drop(self) -> None:
        """Nobody reads the answer any more."""
        self._over = True
        self._waiting = _NONE_WAIT
        self._passing = self._weight = 0
        if self._pump is not None:
            self._pump.cancel()

    async def _deliver(self, more: asyncio.Event) -> None:
        headers = [*STREAM, *self._lines.headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        while True:
            while self._waiting:
                event, kept = self._waiting.popleft()
                if not kept:
                    self._passing -= 1
                    self._weight -= len(event)
                self.stuck = perf_counter()
                await self._send({"type": "http.response.body", "body": event, "more_body": True})
            self.stuck = None
            if self._over:
                return
            more.clear()
            await more.wait()


def _event(message: bytes) -> bytes:
    """A server may write its JSON over many lines, and a line ends what an event says."""
    if b"\n" in message or b"\r" in message:
        message = msgspec.json.format(message, indent=-1)
    return b"event: message\r\ndata: %b\r\n\r\n" % message
