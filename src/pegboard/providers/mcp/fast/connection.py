"""One HTTP connection to a server, with one request on it at a time.

Whatever looks like an answer to something else (bytes after the answer, two lengths, a coding nobody asked for) costs
the connection, so that no call ever gets another's answer.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, NamedTuple, Protocol, TypeAlias, cast

import httptools
from mcp.shared.exceptions import MCPError

from pegboard.providers.mcp.errors import CONNECTION_BROKEN, UNUSABLE_ANSWER
from pegboard.providers.mcp.fast.pending_requests import PendingRequest
from pegboard.providers.mcp.messages import MAX_MESSAGE_BYTES
from pegboard.providers.mcp.rate import SLICE_BYTES, TurnTimer

# Server-sent events, cut out of a stream of bytes as they come and within bounds.

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    kind: bytes
    text: bytes


class EventTooLargeError(Exception):
    """An event longer than any message we take."""


class EventStreamParser:
    """Holds at most one unfinished event. `last` and `retry` are what the stream told so far for resuming it."""

    def __init__(self, longest: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = longest
        self._unfinished: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._has_started = False
        self._kind = b""
        self._lines: list[bytes] = []
        self.last_event_id: bytes | None = None
        self.retry_s: float | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that are whole now. Raises `TooLarge`."""
        chunk = self._normalize_newlines(chunk)
        found: list[ServerSentEvent] = []
        first, *rest = chunk.split(b"\n")
        self._append(first)
        for part in rest:
            line = self._unfinished[0] if len(self._unfinished) == 1 else b"".join(self._unfinished)
            self._unfinished.clear()
            if line:
                self._parse_field(line)
            elif (event := self._finish_event()) is not None:
                found.append(event)
            self._append(part)
        return found

    def _normalize_newlines(self, chunk: bytes) -> bytes:
        """A line may end in a return, a feed, or both; a chunk may end between the two."""
        if not self._has_started and chunk:
            self._has_started = True
            chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _append(self, part: bytes) -> None:
        if part:
            self._unfinished.append(part)
            self._size += len(part)
            if self._size > self._max_bytes:
                raise EventTooLargeError

    def _parse_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._lines.append(value)
                return
            case b"event":
                self._kind = value
            case b"id" if b"\0" not in value:
                self.last_event_id = value or None
            case b"retry" if value.isdigit() and len(value) < 9:
                self.retry_s = int(value) / 1000
        # Only what is held counts: comments keep a silent stream alive for days.
        self._size -= len(line)

    def _finish_event(self) -> ServerSentEvent | None:
        text, kind = b"\n".join(self._lines), self._kind or b"message"
        self._lines, self._kind, self._size = [], b"", 0
        return ServerSentEvent(kind, text) if text else None


LINGER_TIMEOUT_S: Final = 2.0
"""Seconds that a server has to end a response after its answer, until the connection is dropped."""

EVENT_STREAM_TYPE: Final = b"text/event-stream"
_MAX_HEAD_BYTES: Final = 65_536
_MAX_ERROR_BYTES: Final = 65_536
_WRITELINES_BYTES: Final = 32_768
_MAX_KNOWN_HEAD_BYTES: Final = 1_024
_MAX_KNOWN_HEADS: Final = 256


class HttpReply(NamedTuple):
    """A response, whole. Of an event stream the event with the answer counts as the response."""

    status: int
    content_type: bytes
    body: bytes
    challenge: bytes = b""
    """What the server wants to see before it answers."""


class ResponseHeadCache:
    """Heads as they were written, of which the parser found that they announce JSON: but for the length and the date a
    server writes the same one again and again. Only of plain answers after which the connection is kept."""

    def __init__(self) -> None:
        self._heads: set[bytes] = set()

    def body_of(self, data: bytes) -> bytes | None:
        """The body of a response that is there as a whole, if its head came before."""
        parts = _split_head(data)
        return None if parts is None or parts[0] not in self._heads else data[parts[1] :]

    def remember(self, data: bytes) -> None:
        """One that the parser has read."""
        if (parts := _split_head(data)) is not None:
            if len(self._heads) >= _MAX_KNOWN_HEADS:
                self._heads.clear()
            self._heads.add(parts[0])


def _split_head(data: bytes) -> tuple[bytes, int] | None:
    """A head without its length, and where it ends. `None` for what must be parsed, or is not whole."""
    begins = data.find(b"\r\n\r\n", 0, _MAX_KNOWN_HEAD_BYTES) + 4
    if begins < 4:
        return None
    at = data.find(b"\r\ncontent-length: ", 0, begins)
    if at < 0 and (at := data.find(b"\r\nContent-Length: ", 0, begins)) < 0:
        return None
    at += 18
    end = data.find(b"\r\n", at)
    if data[at:end] != b"%d" % (len(data) - begins):
        return None
    return data[:at] + data[end:begins], begins


class EventStreamListener(Protocol):
    """Takes an event stream as it comes."""

    def feed(self, chunk: bytes) -> None:
        """Raises `TooLarge`."""
        ...

    def end(self) -> None:
        """The stream is over, in whichever way."""
        ...


OpenListener: TypeAlias = Callable[[PendingRequest], EventStreamListener]


class ConnectionOwner(Protocol):
    """Where a connection belongs."""

    @property
    def heads(self) -> ResponseHeadCache: ...

    @property
    def origin(self) -> str: ...

    def release(self, exchange: "HttpConnection") -> None: ...

    def on_hang_up(self, exchange: "HttpConnection") -> None: ...

    def forget(self, exchange: "HttpConnection") -> None: ...


class HttpConnection(asyncio.Protocol):
    def __init__(self, home: ConnectionOwner) -> None:
        self._owner = home
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
            self._owner.on_hang_up(self)
        self._owner.forget(self)
        if self._request is None or self._answered:
            return
        if not self._in_head and self._length < 0 and not self._chunked and exc is None:
            self._finish()  # a body that lasts until the connection closes
        elif self._listener is not None:
            self._listener.end()
        else:
            how = "it closed the connection before it had answered" if exc is None else str(exc)
            self._request.fail(MCPError(CONNECTION_BROKEN, f"broke the connection off at {self._owner.origin}: {how}"))

    def eof_received(self) -> bool:
        return False

    def data_received(self, data: bytes) -> None:
        if self._request is None:
            self.abort()  # bytes that nobody asked for
        elif self._is_new and (whole := self._heads.body_of(data)) is not None:
            ticket, self._request = self._request, None
            ticket.resolve(whole)
            self._owner.release(self)
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
                self._heads.remember(data)
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
            self._owner.release(self)
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
