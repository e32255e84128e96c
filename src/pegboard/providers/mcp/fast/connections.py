"""The HTTP connections to one server: one request on each at a time, kept from call to call, bounded in number.

Whatever looks like an answer to something else (bytes after the answer, two lengths, a coding nobody asked for) costs
the connection, so that no call ever gets another's answer.

Some servers hang up after each answer without announcing it. A call sent on such a connection may or may not have run,
and is never sent again, so a connection is used again only at a server that was seen to keep one.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final, NamedTuple, Protocol, TypeAlias, cast

import httptools
import httpx2
from mcp.shared.exceptions import MCPError

from pegboard.http_parsing import EventTooLargeError, HeadCache
from pegboard.providers.mcp.errors import CONNECTION_BROKEN, NOT_SENT, UNUSABLE_ANSWER
from pegboard.providers.mcp.http_client import tls_context
from pegboard.providers.mcp.in_flight import PendingRequest
from pegboard.providers.mcp.messages import MAX_MESSAGE_BYTES
from pegboard.providers.mcp.rate import SLICE_BYTES, TurnTimer

LINGER_TIMEOUT_S: Final = 2.0
"""Seconds that a server has to end a response after its answer, until the connection is dropped."""

EVENT_STREAM_TYPE: Final = b"text/event-stream"
_MAX_HEAD_BYTES: Final = 65_536
_MAX_ERROR_BYTES: Final = 65_536
_WRITELINES_BYTES: Final = 32_768
_MAX_CACHED_HEADS: Final = 256


class HttpReply(NamedTuple):
    """A response, whole. Of an event stream the event with the answer counts as the response."""

    status: int
    content_type: bytes
    body: bytes
    challenge: bytes = b""
    """What the server wants to see before it answers."""


class EventStreamListener(Protocol):
    """Takes an event stream as it comes."""

    def feed(self, chunk: bytes) -> None:
        """Raises `EventTooLargeError`."""
        ...

    def end(self) -> None:
        """The stream is over, in whichever way."""
        ...


OpenListener: TypeAlias = Callable[[PendingRequest], EventStreamListener]


class HttpConnection(asyncio.Protocol):
    def __init__(self, home: "HttpConnectionPool") -> None:
        self._pool = home
        self._heads = home.heads
        self._parser = httptools.HttpResponseParser(self)
        self._request: PendingRequest | None = None
        self._open_listener: OpenListener | None = None
        self._listener: EventStreamListener | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._unread_chunks: deque[memoryview] = deque()
        self._turn_timer = TurnTimer()
        self._rest_timer: asyncio.TimerHandle | None = None
        self.idle_since = 0.0
        """When it was last answered, or 0."""
        self._is_dropped = False
        """Whether it is us who ended it."""
        self._reset()

    def _reset(self) -> None:
        self._status = 0
        self._kind = b""
        self._challenge = b""
        self._length = -1
        self._coded = b""
        self._chunked = False
        self._in_head = True
        self._head_size = 0
        """Bytes since the last of a body: of a head, or of what stands around and behind chunks."""
        self._parts: list[bytes] = []
        self._size = 0
        self._answered = False
        self._complete = False
        self._keep = False
        self._spoiled = False
        self._is_new = True
        """Nothing has been read since."""

    @property
    def is_open(self) -> bool:
        return not self._transport.is_closing()

    def send(self, pieces: list[bytes], size: int, ticket: PendingRequest, listen: OpenListener | None = None) -> None:
        """From here on the request may have run: it is never sent twice. `listen` is asked for an event stream."""
        if not self._is_new:
            self._reset()
        self._request, self._open_listener = ticket, listen
        ticket.is_sent = True
        if size < _WRITELINES_BYTES:
            self._transport.write(b"".join(pieces))
        else:
            self._transport.writelines(pieces)

    def abort(self) -> None:
        """Drop the connection. In the era without sessions this is how a call is cancelled."""
        self._request = self._listener = None
        self._is_dropped = True
        self._clear_pending()
        self._transport.abort()

    def abandon(self, ticket: PendingRequest) -> None:
        """Drop the connection if it still serves this request, and not if it serves another by now."""
        if self._request is ticket:
            self.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports inherit from none of asyncio's

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_pending()
        if not self._is_dropped and (self._request is None or self._is_new):
            self._pool.on_hang_up(self)
        self._pool.forget(self)
        if self._request is None or self._answered:
            return
        if not self._in_head and self._length < 0 and not self._chunked and exc is None:
            self._finish()  # a body that lasts until the connection closes
        elif self._listener is not None:
            self._listener.end()
        else:
            how = "it closed the connection before it had answered" if exc is None else str(exc)
            self._request.fail(MCPError(CONNECTION_BROKEN, f"broke the connection off at {self._pool.origin}: {how}"))

    def eof_received(self) -> bool:
        return False

    def data_received(self, data: bytes) -> None:
        if self._request is None:
            self.abort()  # bytes that nobody asked for
        elif self._is_new and (known := self._heads.find(data)) is not None and known[1] + known[2] == len(data):
            ticket, self._request = self._request, None
            ticket.resolve(data[known[1] :])
            self._pool.release(self)
        elif len(data) > SLICE_BYTES or self._unread_chunks:
            self._unread_chunks.append(memoryview(data))
            if self._rest_timer is None:
                self._parse_turn()
        else:
            self._parse(data)

    def _parse_turn(self) -> None:
        """Some of what is there. The rest of a flood waits for later turns, and its server until then."""
        rested, self._rest_timer = self._rest_timer is not None, None
        while self._unread_chunks:
            began = perf_counter()
            data = self._unread_chunks.popleft()
            if len(data) > SLICE_BYTES:
                self._unread_chunks.appendleft(data[SLICE_BYTES:])
            self._parse(data[:SLICE_BYTES])
            if self._turn_timer.spend(perf_counter() - began) and self._unread_chunks:
                if not rested:
                    self._transport.pause_reading()
                self._rest_timer = asyncio.get_running_loop().call_later(
                    self._turn_timer.rest_seconds(), self._parse_turn
                )
                return
        if not rested:
            self._turn_timer.reset()
        elif not self._transport.is_closing():
            self._transport.resume_reading()

    def _parse(self, data: bytes | memoryview) -> None:
        self._head_size += len(data)
        is_first, self._is_new = self._is_new, False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"the answer is not HTTP as we know it ({error})")
            return
        if self._complete:
            self._spoiled |= bool(self._unread_chunks)
            if is_first and self._is_cacheable_head and isinstance(data, bytes):
                self._heads.add(data, True)
            self._finish_response()
        elif self._head_size > _MAX_HEAD_BYTES:
            self._fail(f"its headers are longer than {_MAX_HEAD_BYTES // 1024} KiB")
        elif self._answered and self._linger_timer is None and self._request is not None:
            self._linger_timer = asyncio.get_running_loop().call_later(LINGER_TIMEOUT_S, self.abort)

    # What the parser calls while it is fed.

    def on_message_begin(self) -> None:
        if self._complete:
            self._spoiled = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head or self._complete:
            return  # a trailer
        match name.lower():
            case b"content-type":
                self._kind = value.lower()
            case b"www-authenticate":
                self._challenge = value
            case b"content-length":
                self._length = int(value)
            case b"transfer-encoding":
                self._chunked = True
                if value.strip().lower() != b"chunked":
                    self._coded = value
            case b"content-encoding" if value.strip().lower() != b"identity":
                self._coded = value

    def on_headers_complete(self) -> None:
        if self._complete:
            return
        status = self._parser.get_status_code()
        if status < 200:
            return
        self._status, self._in_head, self._head_size = status, False, 0
        if self._coded:
            self._fail("the answer is compressed, although nobody asked for that")
        elif self._length > MAX_MESSAGE_BYTES:
            self._fail(_TOO_LONG_MESSAGE)
        elif status in (202, 204) or 300 <= status < 400:
            self._deliver(b"")
        elif status < 300 and self._kind.startswith(EVENT_STREAM_TYPE) and self._open_listener and self._request:
            self._listener = self._open_listener(self._request)

    def on_body(self, body: bytes) -> None:
        self._head_size = 0
        if self._answered or self._request is None:
            return
        if self._listener is not None:
            try:
                self._listener.feed(body)
            except EventTooLargeError:
                self._fail(_TOO_LONG_MESSAGE)
                return
            self._answered = self._request.is_settled
            return
        self._parts.append(body)
        self._size += len(body)
        if self._size > MAX_MESSAGE_BYTES:
            self._fail(_TOO_LONG_MESSAGE)
        elif self._status >= 400 and self._size > _MAX_ERROR_BYTES:
            self._finish()
            self.abort()

    def on_message_complete(self) -> None:
        if self._in_head or self._complete or self._request is None:
            return  # a message that only announces the answer
        self._complete, self._keep = True, self._parser.should_keep_alive()
        if self._listener is None:
            self._finish()
        elif not self._answered:
            self._listener.end()

    def _finish(self) -> None:
        if not self._answered:
            self._deliver(self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))

    def _deliver(self, body: bytes) -> None:
        self._answered = True
        if self._request is not None:
            self._request.resolve(HttpReply(self._status, self._kind, body, self._challenge))

    @property
    def _is_cacheable_head(self) -> bool:
        """Whether the next response with the same head needs no parser."""
        json = self._status == 200 and self._kind.startswith(b"application/json")
        return json and self._keep and not self._spoiled and not self._chunked and self._length >= 0

    def _finish_response(self) -> None:
        """The response is over: the connection is free for the next request, or of no more use."""
        self._request = self._listener = None
        self._parts = []
        if self._linger_timer is not None:
            self._linger_timer.cancel()
            self._linger_timer = None
        if self._keep and not self._spoiled and not self._transport.is_closing():
            self._pool.release(self)
        else:
            self.abort()

    def _clear_pending(self) -> None:
        """What is unread, and what was to be done later."""
        self._unread_chunks.clear()
        for timer in (self._linger_timer, self._rest_timer):
            if timer is not None:
                timer.cancel()

    def _fail(self, why: str) -> None:
        ticket, answered = self._request, self._answered
        self.abort()
        if ticket is not None and not answered:
            ticket.fail(MCPError(UNUSABLE_ANSWER, why))


_TOO_LONG_MESSAGE: Final = f"the answer is longer than {MAX_MESSAGE_BYTES // 1024 // 1024} MiB"


# The pool: the connection used last is used first.

MAX_CONNECTIONS: Final = 128
"""Connections to one server. A further call waits until one is free."""

MAX_QUEUED_CALLS: Final = 2_048
"""Calls that may wait for a connection."""

_CONNECT_TIMEOUT_S: Final = 15.0
_MIN_CONNECT_TIME_S: Final = 0.1
"""Seconds in which nobody can be expected to open a connection."""

_MAX_IDLE_S: Final = 4.0
"""Servers close idle connections after five seconds by widespread default: use none that old."""


_TRIAL_S: Final = 0.02
_LONG_TRIAL_S: Final = 1.0
_MAX_TRIAL_S: Final = _MAX_IDLE_S / 2
"""Seconds that a connection must stay open after an answer to show that the server keeps it: at first, when a server
was seen to hang up, and at most."""

_EARLY_HANG_UP_S: Final = 1.0
"""Who hangs up so soon after an answer does so because of it, and not because nothing came for long."""


class HttpConnectionPool:
    """`doubt` is called when the server cannot be reached."""

    def __init__(
        self, url: httpx2.URL, doubt: Callable[[], None], most: int = MAX_CONNECTIONS, queue: int = MAX_QUEUED_CALLS
    ) -> None:
        self._suspect_loss = doubt
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._tls: ssl.SSLContext | None = tls_context() if url.scheme == "https" else None
        # Names the machine but not the whole address, which may hold a key.
        self.origin = f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
        self.heads = HeadCache[bool](_MAX_CACHED_HEADS)
        """Of plain answers in JSON after which the connection is kept."""
        self._max_connections = most
        self._max_queued = queue
        self._open: set[HttpConnection] = set()
        self._opening_count = 0
        self._idle: list[HttpConnection] = []
        self.keeps_alive: bool | None = None
        """Whether the server keeps connections after an answer. `None` before it was seen."""
        self._trial_s = _TRIAL_S
        self._on_trial: dict[HttpConnection, asyncio.TimerHandle] = {}
        self._waiters: deque[asyncio.Future[HttpConnection | None]] = deque()
        self._is_closed = False
        self._loop = asyncio.get_running_loop()

    @property
    def size(self) -> int:
        return len(self._open) + self._opening_count

    @property
    def _none_free_message(self) -> str:
        return f"had no connection to {self.origin} free in time"

    def take_idle(self) -> HttpConnection | None:
        """A connection that is free now."""
        while self._idle:
            exchange = self._idle.pop()
            if exchange.is_open and self._loop.time() - exchange.idle_since < _MAX_IDLE_S:
                return exchange
            exchange.abort()
        return None

    async def acquire(self, ticket: PendingRequest) -> HttpConnection:
        """Wait for one, or open one. Raises `MCPError`: whatever fails here, nothing was sent."""
        while not self._is_closed:
            if (exchange := self.take_idle()) is not None:
                return exchange
            is_first_trial = self.keeps_alive is None and self._on_trial
            if self.size < self._max_connections and not is_first_trial:
                return await self._open_connection(ticket)
            if self._on_trial and not is_first_trial:
                next(iter(self._on_trial)).abort()
            if len(self._waiters) >= self._max_queued:
                raise MCPError(NOT_SENT, f"has {self._max_queued:,} calls waiting for a connection. Try again later")
            waiting = ticket.new_future(self._loop)
            self._waiters.append(waiting)
            try:
                handed: HttpConnection | None = await waiting
            except TimeoutError:
                raise MCPError(NOT_SENT, self._none_free_message) from None
            except asyncio.CancelledError:
                self._return_unused(waiting)
                raise
            if handed is not None and handed.is_open:
                return handed
        raise MCPError(NOT_SENT, "closed the connection before the call was sent")

    def release(self, exchange: HttpConnection) -> None:
        if self._is_closed:
            exchange.abort()
            return
        exchange.idle_since = self._loop.time()
        if not self.keeps_alive:
            self._on_trial[exchange] = self._loop.call_later(self._trial_s, self._end_trial, exchange)
            if self.keeps_alive is False:
                self._wake_waiter(None)
        elif not self._wake_waiter(exchange):
            self._idle.append(exchange)

    def on_hang_up(self, exchange: HttpConnection) -> None:
        """The server closed a connection on which nothing of an answer had come."""
        if exchange.idle_since and self._loop.time() - exchange.idle_since < _EARLY_HANG_UP_S:
            self.keeps_alive = False
            self._trial_s = min(max(2 * self._trial_s, _LONG_TRIAL_S), _MAX_TRIAL_S)
            self._wake_all()

    def forget(self, exchange: HttpConnection) -> None:
        self._open.discard(exchange)
        if (timer := self._on_trial.pop(exchange, None)) is not None:
            timer.cancel()
        if exchange in self._idle:
            self._idle.remove(exchange)
        self._wake_waiter(None)

    def close(self) -> None:
        self._is_closed = True
        for exchange in tuple(self._open):
            exchange.abort()
        self._wake_all()

    def _end_trial(self, exchange: HttpConnection) -> None:
        del self._on_trial[exchange]
        self.keeps_alive = True
        self._idle.append(exchange)
        self._wake_all()

    async def _open_connection(self, ticket: PendingRequest) -> HttpConnection:
        self._opening_count += 1
        try:
            exchange = await self._connect(ticket)
        except BaseException:
            self._opening_count -= 1
            self._wake_waiter(None)
            raise
        self._opening_count -= 1
        self._open.add(exchange)
        if self._is_closed:
            exchange.abort()
        return exchange

    async def _connect(self, ticket: PendingRequest) -> HttpConnection:
        left = ticket.deadline - self._loop.time()
        try:
            async with asyncio.timeout(min(_CONNECT_TIMEOUT_S, max(left, 0.0))):
                _, exchange = await self._loop.create_connection(
                    lambda: HttpConnection(self), self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            if left < _MIN_CONNECT_TIME_S:  # the wait for a connection took the time, and not the server
                raise MCPError(NOT_SENT, self._none_free_message) from None
            self._suspect_loss()
            raise MCPError(NOT_SENT, f"did not answer in time at {self.origin}") from None
        except OSError as error:
            self._suspect_loss()
            told = (error.strerror or str(error)).splitlines() or [""]
            raise MCPError(NOT_SENT, f"cannot be reached at {self.origin}: {told[0][:300]}") from None
        return exchange

    def _wake_waiter(self, exchange: HttpConnection | None) -> bool:
        """Hand a connection, or the room for a new one, to whoever waits longest."""
        while self._waiters:
            waiting = self._waiters.popleft()
            if not waiting.done():
                waiting.set_result(exchange)
                return True
        return False

    def _wake_all(self) -> None:
        """Let everybody look again."""
        while self._wake_waiter(None):
            pass

    def _return_unused(self, waiting: "asyncio.Future[HttpConnection | None]") -> None:
        """Whoever gave up waiting may have been handed a connection, or the room for one, in the same moment."""
        if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
            handed = waiting.result()
            if handed is None or not handed.is_open:
                self._wake_waiter(None)
            else:
                self.release(handed)
