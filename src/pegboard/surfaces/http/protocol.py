"""One HTTP connection: uvicorn's protocol with size limits before the body and one write for a whole answer."""

import asyncio
import re
import select
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http import httptools_impl as uvicorn

from pegboard.http_parsing import HeadCache
from pegboard.ports.fast_path import FastPathHandler, HeaderPairs, InFlightRequest, RequestHead
from pegboard.surfaces.http.limits import ConnectionLimits

if TYPE_CHECKING:
    from starlette.types import Message, Send
    from uvicorn._types import ASGI3Application, ASGISendEvent, HTTPResponseStartEvent, HTTPScope


MAX_BODY_BYTES: Final = 65_536
"""Bytes of a body that the fast path waits for. A larger one is worth the longer way."""
MAX_CACHED_HEADS: Final = 512


class RequestHeadCache(HeadCache[RequestHead]):
    """Of requests that the fast path took."""

    def __init__(self) -> None:
        super().__init__(MAX_CACHED_HEADS)


# One answer of uvicorn's, written in one go where it is whole.


class SingleWriteCycle(uvicorn.RequestResponseCycle):
    """uvicorn writes head and body apart, and each write is a call into the kernel."""

    held_start: "HTTPResponseStartEvent | None" = None

    async def run_asgi(self, app: "ASGI3Application") -> None:
        try:
            await super().run_asgi(app)
        finally:
            # Whoever still has a hold on this request, as sessions have on their last one, has no credentials by it.
            self.scope["headers"] = []
            # By it the request would hold itself, and stay until somebody looks for rings: by then there are thousands.
            self.scope.pop("extensions", None)

    def _refuse_body(self) -> None:
        """An answer to whoever asked first and was not told to go on: what comes next may be the body all the same, or
        another request, and nothing tells which."""
        if self.waiting_for_100_continue:
            self.keep_alive = False

    async def send(self, message: "ASGISendEvent") -> None:
        if message["type"] == "http.response.start":
            self._refuse_body()
            # An answer of unknown length may begin long before it goes on.
            if any(name == b"content-length" for name, _ in message.get("headers", ())):
                self.held_start = message
                return
            await super().send(message)
            return
        start, self.held_start = self.held_start, None
        if start is None:
            await super().send(message)
            return
        if message["type"] != "http.response.body" or not self._can_write_whole(start, message.get("more_body", False)):
            await super().send(start)
            await super().send(message)
            return
        self._write_whole(start, message.get("body", b""))

    def send_whole(self, status: int, lines: bytes, body: bytes) -> bool:
        """A whole answer at once, whose headers are known to be sound. False when it must be sent bit by bit."""
        self._refuse_body()
        if self.response_started or not self.keep_alive or self.disconnected or self.flow.write_paused:
            return False
        self._finish_whole(
            [uvicorn.STATUS_LINE[status], default_header_lines(self.default_headers), lines, b"\r\n", body]
        )
        return True

    def _can_write_whole(self, start: "HTTPResponseStartEvent", more: bool) -> bool:
        return not (
            more
            or self.response_started
            or not self.keep_alive
            or self.disconnected
            or self.flow.write_paused
            or self.access_log
            or self.scope["method"] == "HEAD"
            or any(_needs_uvicorn(name, value) for name, value in start.get("headers", ()))
        )

    def _write_whole(self, start: "HTTPResponseStartEvent", body: bytes) -> None:
        parts = [uvicorn.STATUS_LINE[start["status"]]]
        for name, value in (*self.default_headers, *start.get("headers", ())):
            if name == b"content-length" and int(value) != len(body):
                raise RuntimeError(f"The answer has {len(body)} bytes, and its Content-Length says {value!r}.")
            parts += (name, b": ", value, b"\r\n")
        parts += (b"\r\n", body)
        self._finish_whole(parts)

    def _finish_whole(self, parts: list[bytes]) -> None:
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(b"".join(parts))
        self.message_event.set()
        self.on_response()


_default_lines_cache: tuple[object, bytes] = (None, b"")


def default_header_lines(headers: HeaderPairs) -> bytes:
    """Those of every answer. uvicorn makes a new list of them once a second, for the date."""
    global _default_lines_cache
    if _default_lines_cache[0] is not headers:
        _default_lines_cache = headers, b"".join(b"%b: %b\r\n" % header for header in headers)
    return _default_lines_cache[1]


def _needs_uvicorn(name: bytes, value: bytes) -> bool:
    """What uvicorn looks at before it writes it, or acts upon."""
    return (
        name in (b"connection", b"transfer-encoding")
        or not name.islower()
        or uvicorn.HEADER_VALUE_RE.search(value) is not None
        or uvicorn.HEADER_RE.search(name) is not None
    )


# A connection on which an answer has been begun before it is known: what is written next goes on from there.

STATUS_LINE_START: Final = b"HTTP/1.1 "
"""How every answer begins, to a client of HTTP/1.0 as well."""


class EarlyStatusTransport:
    """Begins an answer, and leaves its beginning out of the first thing that is written."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._is_due = True
        transport.write(STATUS_LINE_START)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, text: bytes) -> None:
        if self._is_due and text:
            self._is_due = False
            text = text.removeprefix(STATUS_LINE_START)
        self._transport.write(text)


# What a request is for: the forms that the target in its first line may have, and the path that it names.

HAS_FRAGMENT: Final = "The address in the request has a fragment. Send it without what stands behind '#'."
FOREIGN_TARGET: Final = "The address in the request is none of this gateway. Send a path, or a whole http:// address."
_ABSOLUTE_FORM: Final = re.compile(rb"https?://(?P<host>[^/?@]+)(?P<path>/[^?]*)?(?P<query>\?.*)?", re.IGNORECASE)
_ENCODED_SLASH: Final = re.compile(rb"%(2[fF])")


@dataclass(frozen=True, slots=True)
class RequestTarget:
    path: bytes
    """And query."""
    host: bytes | None = None
    """Where it is named here, Host says nothing (RFC 9112, 3.2.2)."""


def parse_target(text: bytes) -> RequestTarget | str:
    """Or why it is none, and what to do."""
    if b"#" in text:
        return HAS_FRAGMENT
    if text[:1] == b"/" or text == b"*":
        return RequestTarget(text)
    found = _ABSOLUTE_FORM.fullmatch(text)
    if found is None:
        return FOREIGN_TARGET
    return RequestTarget((found["path"] or b"/") + (found["query"] or b""), found["host"])


def decode_path(raw: bytes) -> str:
    """A slash that is written as %2F is part of a name and parts none."""
    return unquote(_ENCODED_SLASH.sub(rb"%25\1", raw).decode("ascii")) if b"%" in raw else raw.decode("ascii")


# What a connection takes for HTTP: no request that two readers could read differently, and half a farewell is none.

TRANSFER_ENCODING: Final = b"transfer-encoding"
EXPECT_HEADER: Final = b"expect"
UNKNOWN_CODING: Final = (
    501,
    "The body is in a transfer coding that is not known here. Send it with Content-Length, or chunked alone.",
)
UNKNOWN_EXPECTATION: Final = (
    417,
    "Expect asks for something that is not known here. Send it with 100-continue, or not at all.",
)
UNSUPPORTED_VERSION: Final = (505, "This version of HTTP is not spoken here. Send the request as HTTP/1.1.")
CONNECT_UNSUPPORTED: Final = (
    501,
    "CONNECT is not known here: this is no proxy. Send the request to the gateway itself.",
)
INVALID_REQUEST: Final = (400, "This is no HTTP request that can be read in one way only.")
HTTP_VERSIONS: Final = ("1.1", "1.0")
FIRST_RESET_CHECK_S: Final = 0.05
MAX_RESET_CHECK_S: Final = 5.0


class StrictHttpProtocol(uvicorn.HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rejection: tuple[int, str] | None = None
        self._reset_check: asyncio.TimerHandle | None = None
        self._current_cycle: uvicorn.RequestResponseCycle | None = None
        """The latest that the application was given. Others may have come meanwhile, and wait for it."""
        self._is_upgrade = False
        """Whether the request that the parser is at wants to go on in another protocol."""
        self._is_served = False
        """Whether the request that the parser is at has been begun with, though it may wait for its turn."""
        self._is_over = False
        """Whether something came that cannot be read: nothing behind it can be, either."""

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        try:
            while True:
                try:
                    self.parser.feed_data(rest)
                except httptools.HttpParserUpgrade as upgrade:
                    rest = rest[upgrade.args[0] :]
                    self._ignore_upgrade()
                else:
                    return
        except httptools.HttpParserError:
            self.logger.warning("A request cannot be read as HTTP/1.1; its connection is closed")
            self.send_400_response("Invalid")

    def _ignore_upgrade(self) -> None:
        """Nothing but HTTP/1.1 is spoken here, and whoever offers more is served in it (RFC 9110, 7.8).

        The parser takes all that follows for the other protocol's, so another one goes on, without the offer.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        lines = b"".join(b"%b: %b\r\n" % pair for pair in self.headers if pair[0] != b"upgrade")
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, lines))

    # What the parser calls while it is fed.

    def on_header(self, name: bytes, value: bytes) -> None:
        if (
            len(name) == len(TRANSFER_ENCODING)
            and name.lower() == TRANSFER_ENCODING
            and value.strip().lower() != b"chunked"
        ):
            raise self._reject(UNKNOWN_CODING)
        if (
            len(name) == len(EXPECT_HEADER)
            and name.lower() == EXPECT_HEADER
            and value.strip().lower() != b"100-continue"
        ):
            raise self._reject(UNKNOWN_EXPECTATION)
        super().on_header(name, value)

    def _is_plain_request(self) -> bool:
        """Whether a head that has come is a request's, and no mere offer to go on in another protocol. Raises for one
        that is not served; from here on its target is a path, and Host is whom it is for."""
        parser = self.parser
        version = parser.get_http_version()
        if version not in HTTP_VERSIONS:
            raise self._reject(UNSUPPORTED_VERSION)
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise self._reject(CONNECT_UNSUPPORTED)
            self._is_upgrade = True
            return False
        if version == "1.0":
            self.expect_100_continue = False
        if self.url[:1] != b"/" or b"#" in self.url:
            target = parse_target(self.url)
            if not isinstance(target, RequestTarget):
                raise self._reject((400, target))
            self.url = target.path
            if target.host is not None:
                self.headers = [(name, target.host if name == b"host" else value) for name, value in self.headers]
        return True

    def on_headers_complete(self) -> None:
        """What uvicorn does here, but for the kind of the answer: it has no place to name another."""
        parser, scope = self.parser, self.scope
        version, target = parser.get_http_version(), httptools.parse_url(self.url)
        scope["method"], scope["raw_path"] = parser.get_method().decode("ascii"), target.path
        scope["path"], scope["query_string"] = decode_path(target.path), target.query or b""
        if version != "1.1":
            scope["http_version"] = version
        former, keep_alive = self.cycle, version != "1.0" and parser.should_keep_alive()
        self.cycle = self._build_cycle(
            scope, keep_alive=keep_alive, on_response=self.on_response_complete, expects=self.expect_100_continue
        )
        if former is None or former.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))
        self._is_served = True

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_served = False
        self._forget_request()

    def _forget_request(self) -> None:
        """It has come whole, and the connection may serve others than its caller next: their credentials are not its
        to keep."""
        self.headers, self.scope = [], None  # type: ignore[assignment]  # as it is before the first

    # What cannot be read.

    def _reject(self, refusal: tuple[int, str]) -> ValueError:
        """To raise in what the parser calls: it gives up on the request, which is answered so."""
        self._rejection = refusal
        return ValueError(refusal[1])

    def send_400_response(self, msg: str) -> None:
        """Requests before it are answered first, in their order."""
        if self._is_over:
            return
        self._is_over = True
        status, told = self._rejection or (INVALID_REQUEST if msg.startswith("Invalid") else (400, msg))
        own, self._is_served = self._is_served, False
        if own and self.pipeline and self.pipeline[0][0] is self.cycle:
            self.pipeline.popleft()
        elif own and self.cycle.response_started:
            self.transport.close()
            return
        elif own or self.cycle is None or self.cycle.response_complete:
            self.transport.write(self._final_response(status, told.encode()))
            self.transport.close()
            return
        self.cycle = self._build_cycle(_plain_scope("GET"), keep_alive=False, on_response=self.on_response_complete)
        self.cycle.more_body = False
        self.pipeline.appendleft((self.cycle, _plain_text_app(status, told.encode())))

    def _final_response(self, status: int, body: bytes) -> bytes:
        head = (*self.server_state.default_headers, *_plain_text_headers(body), (b"connection", b"close"))
        lines = b"".join(b"%b: %b\r\n" % pair for pair in head)
        return b"%b%b\r\n%b" % (uvicorn.STATUS_LINE[status], lines, body)

    def _build_cycle(
        self, scope: "HTTPScope", *, keep_alive: bool, on_response: Callable[[], None], expects: bool = False
    ) -> SingleWriteCycle:
        return SingleWriteCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=expects,
            keep_alive=keep_alive,
            on_response=on_response,
        )

    # A client that has sent all it will.

    def eof_received(self) -> bool | None:  # type: ignore[override]  # uvicorn always closes
        """The client sends no more. It may have closed its side alone, and wait; or it has gone.

        Nothing tells which, until something is sent: whoever waits takes it, and whoever has gone sends back a reset.
        So an answer comes to the one, and the call of the other is given up. What is sent is how every answer begins.
        """
        last = self.cycle
        if last is None or last.response_complete or not self._awaits_response():
            return None
        last.keep_alive = False
        self._begin_answer()
        self._schedule_reset_check(FIRST_RESET_CHECK_S)
        return True

    def _awaits_response(self) -> bool:
        """Whether the last request has come whole, and nothing has gone of the answer that is next."""
        following = self._current_cycle
        return following is not None and not self.cycle.more_body and not following.response_started

    def _begin_answer(self) -> None:
        begun = cast("asyncio.Transport", EarlyStatusTransport(self.transport))
        for cycle in (self.cycle, self._current_cycle, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None:
                cycle.transport = begun
        self.transport = begun

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reset_check is not None:
            self._reset_check.cancel()
        super().connection_lost(exc)
        # uvicorn tells the last one that came, which may only wait for its turn.
        if self._current_cycle is not None and not self._current_cycle.response_complete:
            self._current_cycle.disconnected = True
            self._current_cycle.message_event.set()

    def _schedule_reset_check(self, after: float) -> None:
        self._reset_check = self.loop.call_later(after, self._check_for_reset, after)

    def _check_for_reset(self, after: float) -> None:
        if self.transport.is_closing():
            return
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), 0)
        if poll.poll(0):
            self.transport.abort()
        else:
            self._schedule_reset_check(min(2 * after, MAX_RESET_CHECK_S))


def _plain_scope(method: str) -> "HTTPScope":
    return cast("HTTPScope", {"method": method, "http_version": "1.1"})


def _plain_text_headers(body: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return (b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))


def _plain_text_app(status: int, body: bytes) -> "ASGI3Application":
    async def say(scope: object, receive: object, send: "Send") -> None:
        await send({"type": "http.response.start", "status": status, "headers": _plain_text_headers(body)})
        await send({"type": "http.response.body", "body": body})

    return say  # type: ignore[return-value]  # it looks at nothing but where to send


MAX_HEAD_BYTES: Final = 65_536
HEAD_TIMEOUT_S: Final = 10.0
"""Seconds. A head fits into a packet or two: whoever takes longer only holds a connection open."""
WHOLE_EXTENSION: Final = "pegboard.whole"
"""The extension of a request's scope by which an application that has its answer whole sends it in one go."""

FIRST_REQUEST_TIMEOUT_S: Final = 20.0
"""Seconds in which a client that has connected asks for something."""

READ_TIMEOUT_S: Final = 60.0
"""Seconds in which a client reads at least something of its answer, so that it does not hold memory for ever."""

WHOLE_REQUEST_WAIT_S: Final = 0.5
"""Seconds in which such a body is there, whatever writes head and body apart."""
_MAX_LENGTH_DIGITS: Final = 8
HEAD_TOO_LARGE_RESPONSE: Final = (
    431,
    f"The head of the request is larger than {MAX_HEAD_BYTES} bytes. Send less in its headers.",
)

EVICTED_RESPONSE: Final = (
    408,
    "Too many connections of your address wait here, so this one is closed. Use fewer, and send requests whole.",
)
SERVER_FULL_RESPONSE: Final = (
    503,
    "The gateway answers as many connections as it can have open. Try again in a moment.",
)


class HttpProtocol(StrictHttpProtocol):
    """`express` takes requests that came whole, at a fraction of what an ASGI application costs."""

    def __init__(
        self,
        *args: Any,
        express: FastPathHandler | None = None,
        heads: RequestHeadCache | None = None,
        limits: ConnectionLimits | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self.last_received_at = monotonic()
        self._fast_path = express
        self._head_cache = heads
        self._head: RequestHead | None = None
        """Of a request for the express, while its body is coming."""
        self._body_parts: list[bytes] = []
        self._unparsed_data = b""
        """A head that came before, and what there is of its body: the parser has not seen them."""
        self._raw_request = b""
        """The request that the parser is at, for the express, as it was written."""
        self._wait_timer: asyncio.TimerHandle | None = None
        self._fast_cycle = _FastPathCycle()
        self._in_flight: InFlightRequest | None = None
        self._stream_cycle: SingleWriteCycle | None = None
        self._in_request = False
        """Whether the parser is within a request."""
        self._in_head = True
        self._fed_bytes = 0
        """Bytes since the last of a body: of a head, or of what stands around and behind chunks."""
        self._waiting_since = self._last_progress = monotonic()
        self._pending_bytes = 0
        """Bytes that waited for the client to read when they were last looked at."""

    # What the event loop calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if self._limits is not None and not self._limits.admit(self):
            self._rejection = SERVER_FULL_RESPONSE
            self.send_400_response("")

    def data_received(self, data: bytes) -> None:
        self.last_received_at = monotonic()
        if self._in_head and self._fed_bytes == 0:
            self._waiting_since = self.last_received_at
        # Only where the parser expects a request may one be taken past it: a head within a head is none.
        if not self._in_request:
            if self._unparsed_data:
                data, self._unparsed_data = self._unparsed_data + data, b""
            if self._head_cache is not None and self._can_answer() and self._handle_cached_head(self._head_cache, data):
                return
            self._raw_request = data
        elif self._head is not None:
            self._raw_request += data
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        if self._is_over:
            return
        self._fed_bytes += len(data)
        super().data_received(data)
        if self._head is not None and self._wait_timer is None:
            # Whoever is slow is served by who can wait, and tells it when it is too late.
            self._wait_timer = self.loop.call_later(WHOLE_REQUEST_WAIT_S, self._hand_to_asgi)
        # The parser keeps what it has of an unfinished header or trailer to itself, however much that is.
        if self._fed_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._rejection = HEAD_TOO_LARGE_RESPONSE
            self.send_400_response("")

    def _handle_cached_head(self, heads: RequestHeadCache, data: bytes) -> bool:
        """Whether this begins with a head that came before, so that nobody need parse it again."""
        known = heads.find(data)
        if known is None:
            return False
        head, begins, length = known
        if length > MAX_BODY_BYTES:
            return False
        missing = begins + length - len(data)
        if missing == 0:
            self._cancel_wait()
            self._unset_keepalive_if_required()
            return self._try_fast_path(head, data[begins:])
        if missing > 0:
            self._unparsed_data = data
            if self._wait_timer is None:
                self._wait_timer = self.loop.call_later(WHOLE_REQUEST_WAIT_S, self._feed_unparsed)
        return missing > 0

    def _feed_unparsed(self) -> None:
        self._wait_timer, data, self._unparsed_data = None, self._unparsed_data, b""
        self._raw_request = data
        self._feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._limits is not None:
            self._limits.remove(self)
        super().connection_lost(exc)
        taken, self._in_flight = self._in_flight, None
        self._cancel_wait()
        if self._stream_cycle is not None:
            self._stream_cycle.disconnected = True
        if taken is not None:
            taken.on_disconnect()

    @property
    def address(self) -> str:
        return "" if self.client is None else str(self.client[0])

    def is_waiting(self) -> bool:
        """Whether it only holds a descriptor: nothing was asked, a request is not whole, or everything is answered."""
        if self._in_request or self._unparsed_data:
            return True
        return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

    def evict(self) -> None:
        if self._fed_bytes or self._in_request or self._unparsed_data:
            self._rejection = EVICTED_RESPONSE
            self.send_400_response("")
        if not self.transport.is_closing():
            self.transport.close()

    def is_stuck(self, now: float) -> bool:
        """Whether its client has read nothing for long of what waits for it here."""
        left = self.transport.get_write_buffer_size()
        if left == 0 or left != self._pending_bytes:
            self._pending_bytes, self._last_progress = left, now
        return now - self._last_progress > READ_TIMEOUT_S

    def is_overdue(self, now: float) -> bool:
        """Whether its client lets us wait for a request that it has begun, or never begins."""
        if self._is_over:
            return False  # it is closed with its last answer
        if not self._in_head:
            # Answered already, and the rest of the request does not come.
            return (
                self.cycle is not None and self.cycle.response_complete and now - self._waiting_since > HEAD_TIMEOUT_S
            )
        if self._fed_bytes == 0 and self.cycle is self._fast_cycle:
            return self._fast_cycle.response_complete and now - self._waiting_since > self.timeout_keep_alive
        if self._fed_bytes == 0 and self.cycle is not None:
            return False  # between two requests, uvicorn's own timer runs
        return now - self._waiting_since > (HEAD_TIMEOUT_S if self._fed_bytes else FIRST_REQUEST_TIMEOUT_S)

    def _awaits_response(self) -> bool:
        if self._in_flight is None:
            return super()._awaits_response()
        return self._stream_cycle is None and (self.cycle is self._fast_cycle or not self.cycle.more_body)

    # What the parser calls while it is fed.

    def on_message_begin(self) -> None:
        # The rest of what uvicorn does here is only for whom it serves itself.
        self._in_request = True
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_header(self, name: bytes, value: bytes) -> None:
        # What comes after a body is no header: whoever stands in between has not seen it.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._fed_bytes > MAX_HEAD_BYTES and self._head_size() > MAX_HEAD_BYTES:
            raise self._reject(HEAD_TOO_LARGE_RESPONSE)
        if not self._is_plain_request():
            return
        self._in_head, self._fed_bytes = False, 0
        if self._fast_path is None or not self._hold_for_fast_path(self._fast_path):
            self._begin_asgi_request()

    def on_body(self, body: bytes) -> None:
        self._fed_bytes = 0
        if self._head is None:
            super().on_body(body)
        else:
            self._body_parts.append(body)

    def on_message_complete(self) -> None:
        if self._is_upgrade:
            self._is_upgrade = False
            return
        self._in_request = False
        head = self._head
        if head is not None:
            self._cancel_wait()
            if self._try_fast_path(head, b"".join(self._body_parts)):
                self._head = None
                self._body_parts.clear()
                if self._head_cache is not None:
                    self._head_cache.add(self._raw_request, head)
                self._forget_request()
            else:
                self._hand_to_asgi()
                super().on_message_complete()
        else:
            super().on_message_complete()
        self._in_head, self._fed_bytes, self._raw_request = True, 0, b""

    # The two ways of a request.

    def _can_answer(self) -> bool:
        """Whether the express may begin another answer. It gives one at a time, in their order."""
        return (self.cycle is None or self.cycle.response_complete) and not self.flow.write_paused

    def _hold_for_fast_path(self, express: FastPathHandler) -> bool:
        """Whether the express may have this request, which then waits for its body."""
        path, _, query = self.url.partition(b"?")
        if path != express.path or self.expect_100_continue or not self._can_answer():
            return False
        parser = self.parser
        if parser.get_method() != b"POST" or not parser.should_keep_alive() or parser.should_upgrade():
            return False
        headers = dict(self.headers)
        length = headers.get(b"content-length", b"")
        if not length.isdigit() or len(length) > _MAX_LENGTH_DIGITS or int(length) > MAX_BODY_BYTES:
            return False
        self._head = RequestHead(query, self.headers, headers)
        return True

    def _try_fast_path(self, head: RequestHead, body: bytes) -> bool:
        """Whether the express has taken it."""
        assert self._fast_path is not None
        former, self.cycle = self.cycle, self._fast_cycle
        self._fast_cycle.response_complete = False
        taken = self._fast_path.try_handle(self, head, body)
        if taken is None:
            self._fast_cycle.response_complete = True
            self.cycle = former
        elif not self._fast_cycle.response_complete:
            self._in_flight = taken
        return taken is not None

    def _hand_to_asgi(self) -> None:
        """As far as it has come, to uvicorn and the application."""
        self._cancel_wait()
        parts, self._head, self._body_parts = self._body_parts, None, []
        self._begin_asgi_request()
        for part in parts:
            super().on_body(part)

    def _cancel_wait(self) -> None:
        if self._wait_timer is not None:
            self._wait_timer.cancel()
            self._wait_timer = None

    def _begin_asgi_request(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _start_asgi_task(self, cycle: uvicorn.RequestResponseCycle, app: "ASGI3Application") -> None:
        assert isinstance(cycle, SingleWriteCycle)
        self._current_cycle = cycle
        cycle.scope["extensions"] = {WHOLE_EXTENSION: cycle.send_whole}  # type: ignore[dict-item]  # an extension of our own
        super()._start_asgi_task(cycle, app)

    # What the express answers with.

    def send_whole(self, status: int, lines: bytes, body: bytes) -> bool:
        if self._stream_cycle is not None or self.flow.write_paused or not self._fast_cycle.keep_alive:
            return False
        usual = default_header_lines(self.server_state.default_headers)
        self.transport.write(b"%b%b%b\r\n%b" % (uvicorn.STATUS_LINE[status], usual, lines, body))
        self._finish_answer()
        return True

    async def send(self, message: "Message") -> None:
        if self._stream_cycle is None:
            self._stream_cycle = self._new_stream_cycle()
        await self._stream_cycle.send(cast("ASGISendEvent", message))

    def _new_stream_cycle(self) -> "SingleWriteCycle":
        """An answer that takes time is uvicorn's to send."""
        return self._build_cycle(
            _plain_scope("POST"), keep_alive=self._fast_cycle.keep_alive, on_response=self._finish_answer
        )

    def _finish_answer(self) -> None:
        self._in_flight = self._stream_cycle = None
        self._fast_cycle.response_complete = True
        self._waiting_since = monotonic()
        if self.pipeline or self.flow.read_paused:
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1


def protocol_factory(
    express: FastPathHandler | None, heads: RequestHeadCache | None = None, limits: ConnectionLimits | None = None
) -> "type[HttpProtocol]":
    """What uvicorn makes for each that connects."""
    known = None if express is None else RequestHeadCache() if heads is None else heads
    return cast("type[HttpProtocol]", partial(HttpProtocol, express=express, heads=known, limits=limits))


class _FastPathCycle(uvicorn.RequestResponseCycle):
    """Stands where uvicorn looks for the request that is being answered, while the express answers one."""

    def __init__(self) -> None:
        self.response_complete = True
        self.disconnected = False
        self.keep_alive = True
        self.message_event = asyncio.Event()


def close_overdue(connections: "Iterable[object]") -> None:
    now = monotonic()
    for connection in list(connections):
        if not isinstance(connection, HttpProtocol):
            continue
        if connection.is_stuck(now):
            # Closing would wait until it has read the rest.
            connection.transport.abort()
        elif connection.is_overdue(now) and not connection.transport.is_closing():
            connection.transport.close()
