"""One HTTP connection: uvicorn's, with a bound on what comes before a body and a single write for a whole answer."""

import asyncio
from collections.abc import Iterable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from uvicorn.protocols.http import httptools_impl as uvicorn

from .cycle import SingleWriteCycle, default_header_lines
from .express import MAX_BODY_BYTES, FastPathHandler, InFlightRequest, RequestHead, RequestHeadCache
from .limits import ConnectionLimits
from .strict import StrictHttpProtocol

if TYPE_CHECKING:
    from starlette.types import Message
    from uvicorn._types import ASGI3Application, ASGISendEvent

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
        # uvicorn makes the cycle itself, and has no place to name another kind.
        cycle.__class__ = SingleWriteCycle
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
        return self._build_cycle("POST", keep_alive=self._fast_cycle.keep_alive, on_response=self._finish_answer)

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
