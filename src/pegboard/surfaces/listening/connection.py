"""One HTTP connection: uvicorn's, with a bound on what comes before a body and a single write for a whole answer."""

import asyncio
from collections.abc import Iterable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from uvicorn.protocols.http import httptools_impl as uvicorn

from .cycle import Cycle, usual_lines
from .express import LARGEST_BODY, Express, Head, Heads, Taken
from .limits import ConnectionLimits
from .strict import Strict

if TYPE_CHECKING:
    from starlette.types import Message
    from uvicorn._types import ASGI3Application, ASGISendEvent

LARGEST_HEAD: Final = 65_536
HEAD_WITHIN: Final = 10.0
"""Seconds. A head fits into a packet or two: whoever takes longer only holds a connection open."""
WHOLE: Final = "pegboard.whole"
"""The extension of a request's scope by which an application that has its answer whole sends it in one go."""

FIRST_WITHIN: Final = 20.0
"""Seconds in which a client that has connected asks for something."""

READ_WITHIN: Final = 60.0
"""Seconds in which a client reads at least something of its answer, so that it does not hold memory for ever."""

WHOLE_WITHIN: Final = 0.5
"""Seconds in which such a body is there, whatever writes head and body apart."""
_DIGITS: Final = 8
HEAD_TOO_LARGE: Final = (431, f"The head of the request is larger than {LARGEST_HEAD} bytes. Send less in its headers.")

GIVES_WAY: Final = (
    408,
    "Too many connections of your address wait here, so this one is closed. Use fewer, and send requests whole.",
)
FULL: Final = (503, "The gateway answers as many connections as it can have open. Try again in a moment.")


class Connection(Strict):
    """`express` takes requests that came whole, at a fraction of what an ASGI application costs."""

    def __init__(
        self,
        *args: Any,
        express: Express | None = None,
        heads: Heads | None = None,
        limits: ConnectionLimits | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self.heard_at = monotonic()
        self._express = express
        self._heads = heads
        self._head: Head | None = None
        """Of a request for the express, while its body is coming."""
        self._parts: list[bytes] = []
        self._unread = b""
        """A head that came before, and what there is of its body: the parser has not seen them."""
        self._written = b""
        """The request that the parser is at, for the express, as it was written."""
        self._patience: asyncio.TimerHandle | None = None
        self._passing = _Passing()
        self._taken: Taken | None = None
        self._cycle: Cycle | None = None
        self._has_begun = False
        """Whether the parser is within a request."""
        self._in_head = True
        self._fed = 0
        """Bytes since the last of a body: of a head, or of what stands around and behind chunks."""
        self._since = self._moved = monotonic()
        self._left = 0
        """Bytes that waited for the client to read when they were last looked at."""

    # What the event loop calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if self._limits is not None and not self._limits.admit(self):
            self._refusal = FULL
            self.send_400_response("")

    def data_received(self, data: bytes) -> None:
        self.heard_at = monotonic()
        if self._in_head and self._fed == 0:
            self._since = self.heard_at
        # Only where the parser expects a request may one be taken past it: a head within a head is none.
        if not self._has_begun:
            if self._unread:
                data, self._unread = self._unread + data, b""
            if self._heads is not None and self._is_free() and self._knows(self._heads, data):
                return
            self._written = data
        elif self._head is not None:
            self._written += data
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        if self._is_over:
            return
        self._fed += len(data)
        super().data_received(data)
        if self._head is not None and self._patience is None:
            # Whoever is slow is served by who can wait, and tells it when it is too late.
            self._patience = self.loop.call_later(WHOLE_WITHIN, self._hand_over)
        # The parser keeps what it has of an unfinished header or trailer to itself, however much that is.
        if self._fed > LARGEST_HEAD and not self.transport.is_closing():
            self._refusal = HEAD_TOO_LARGE
            self.send_400_response("")

    def _knows(self, heads: Heads, data: bytes) -> bool:
        """Whether this begins with a head that came before, so that nobody need parse it again."""
        known = heads.of(data)
        if known is None:
            return False
        head, begins, length = known
        missing = begins + length - len(data)
        if missing == 0:
            self._stop_waiting()
            self._unset_keepalive_if_required()
            return self._passes(head, data[begins:])
        if missing > 0:
            self._unread = data
            if self._patience is None:
                self._patience = self.loop.call_later(WHOLE_WITHIN, self._feed_unread)
        return missing > 0

    def _feed_unread(self) -> None:
        self._patience, data, self._unread = None, self._unread, b""
        self._written = data
        self._feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._limits is not None:
            self._limits.leave(self)
        super().connection_lost(exc)
        taken, self._taken = self._taken, None
        self._stop_waiting()
        if self._cycle is not None:
            self._cycle.disconnected = True
        if taken is not None:
            taken.leave()

    @property
    def address(self) -> str:
        return "" if self.client is None else str(self.client[0])

    def is_waiting(self) -> bool:
        """Whether it only holds a descriptor: nothing was asked, a request is not whole, or everything is answered."""
        if self._has_begun or self._unread:
            return True
        return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

    def give_way(self) -> None:
        if self._fed or self._has_begun or self._unread:
            self._refusal = GIVES_WAY
            self.send_400_response("")
        if not self.transport.is_closing():
            self.transport.close()

    def is_stuck(self, now: float) -> bool:
        """Whether its client has read nothing for long of what waits for it here."""
        left = self.transport.get_write_buffer_size()
        if left == 0 or left != self._left:
            self._left, self._moved = left, now
        return now - self._moved > READ_WITHIN

    def overdue(self, now: float) -> bool:
        """Whether its client lets us wait for a request that it has begun, or never begins."""
        if self._is_over:
            return False  # it is closed with its last answer
        if not self._in_head:
            # Answered already, and the rest of the request does not come.
            return self.cycle is not None and self.cycle.response_complete and now - self._since > HEAD_WITHIN
        if self._fed == 0 and self.cycle is self._passing:
            return self._passing.response_complete and now - self._since > self.timeout_keep_alive
        if self._fed == 0 and self.cycle is not None:
            return False  # between two requests, uvicorn's own timer runs
        return now - self._since > (HEAD_WITHIN if self._fed else FIRST_WITHIN)

    def _waits(self) -> bool:
        if self._taken is None:
            return super()._waits()
        return self._cycle is None and (self.cycle is self._passing or not self.cycle.more_body)

    # What the parser calls while it is fed.

    def on_message_begin(self) -> None:
        # The rest of what uvicorn does here is only for whom it serves itself.
        self._has_begun = True
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_header(self, name: bytes, value: bytes) -> None:
        # What comes after a body is no header: whoever stands in between has not seen it.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._fed > LARGEST_HEAD and self._size() > LARGEST_HEAD:
            raise self._refused(HEAD_TOO_LARGE)
        if not self._is_plain():
            return
        self._in_head, self._fed = False, 0
        if self._express is None or not self._is_for(self._express):
            self._begin()

    def on_body(self, body: bytes) -> None:
        self._fed = 0
        if self._head is None:
            super().on_body(body)
        else:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._upgrades:
            self._upgrades = False
            return
        self._has_begun = False
        head = self._head
        if head is not None:
            self._stop_waiting()
            if self._passes(head, b"".join(self._parts)):
                self._head = None
                self._parts.clear()
                if self._heads is not None:
                    self._heads.keep(self._written, head)
                self._leave_request()
            else:
                self._hand_over()
                super().on_message_complete()
        else:
            super().on_message_complete()
        self._in_head, self._fed, self._written = True, 0, b""

    # The two ways of a request.

    def _is_free(self) -> bool:
        """Whether the express may begin another answer. It gives one at a time, in their order."""
        return (self.cycle is None or self.cycle.response_complete) and not self.flow.write_paused

    def _is_for(self, express: Express) -> bool:
        """Whether the express may have this request, which then waits for its body."""
        path, _, query = self.url.partition(b"?")
        if path != express.path or self.expect_100_continue or not self._is_free():
            return False
        parser = self.parser
        if parser.get_method() != b"POST" or not parser.should_keep_alive() or parser.should_upgrade():
            return False
        headers = dict(self.headers)
        length = headers.get(b"content-length", b"")
        if not length.isdigit() or len(length) > _DIGITS or int(length) > LARGEST_BODY:
            return False
        self._head = Head(query, self.headers, headers)
        return True

    def _passes(self, head: Head, body: bytes) -> bool:
        """Whether the express has taken it."""
        assert self._express is not None
        former, self.cycle = self.cycle, self._passing
        self._passing.response_complete = False
        taken = self._express.take(self, head, body)
        if taken is None:
            self._passing.response_complete = True
            self.cycle = former
        elif not self._passing.response_complete:
            self._taken = taken
        return taken is not None

    def _hand_over(self) -> None:
        """As far as it has come, to uvicorn and the application."""
        self._stop_waiting()
        parts, self._head, self._parts = self._parts, None, []
        self._begin()
        for part in parts:
            super().on_body(part)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _begin(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()

    def _size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _start_asgi_task(self, cycle: uvicorn.RequestResponseCycle, app: "ASGI3Application") -> None:
        # uvicorn makes the cycle itself, and has no place to name another kind.
        cycle.__class__ = Cycle
        assert isinstance(cycle, Cycle)
        self._answering = cycle
        cycle.scope["extensions"] = {WHOLE: cycle.answer}  # type: ignore[dict-item]  # an extension of our own
        super()._start_asgi_task(cycle, app)

    # What the express answers with.

    def answer(self, status: int, lines: bytes, body: bytes) -> bool:
        if self._cycle is not None or self.flow.write_paused or not self._passing.keep_alive:
            return False
        usual = usual_lines(self.server_state.default_headers)
        self.transport.write(b"%b%b%b\r\n%b" % (uvicorn.STATUS_LINE[status], usual, lines, body))
        self._answered()
        return True

    async def send(self, message: "Message") -> None:
        if self._cycle is None:
            self._cycle = self._made()
        await self._cycle.send(cast("ASGISendEvent", message))

    def _made(self) -> "Cycle":
        """An answer that takes time is uvicorn's to send."""
        return self._cycle_of("POST", keep_alive=self._passing.keep_alive, on_response=self._answered)

    def _answered(self) -> None:
        self._taken = self._cycle = None
        self._passing.response_complete = True
        self._since = monotonic()
        if self.pipeline or self.flow.read_paused:
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1


def protocol_for(
    express: Express | None, heads: Heads | None = None, limits: ConnectionLimits | None = None
) -> "type[Connection]":
    """What uvicorn makes for each that connects."""
    known = None if express is None else Heads() if heads is None else heads
    return cast("type[Connection]", partial(Connection, express=express, heads=known, limits=limits))


class _Passing(uvicorn.RequestResponseCycle):
    """Stands where uvicorn looks for the request that is being answered, while the express answers one."""

    def __init__(self) -> None:
        self.response_complete = True
        self.disconnected = False
        self.keep_alive = True
        self.message_event = asyncio.Event()


def close_overdue(connections: "Iterable[object]") -> None:
    now = monotonic()
    for connection in list(connections):
        if not isinstance(connection, Connection):
            continue
        if connection.is_stuck(now):
            # Closing would wait until it has read the rest.
            connection.transport.abort()
        elif connection.overdue(now) and not connection.transport.is_closing():
            connection.transport.close()
