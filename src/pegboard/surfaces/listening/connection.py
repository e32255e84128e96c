"""One HTTP connection: uvicorn's, with a bound on what comes before a body and a single write for a whole answer."""

from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http import httptools_impl as uvicorn

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, ASGISendEvent, HTTPResponseStartEvent

LARGEST_HEAD: Final = 65_536
HEAD_WITHIN: Final = 20.0
"""Seconds. A head fits into a packet or two: whoever takes longer only holds a connection open."""
WHOLE: Final = "pegboard.whole"
"""The extension of a request's scope by which an application that has its answer whole sends it in one go."""

FIRST_WITHIN: Final = 75.0
"""Seconds in which a client that has connected asks for something."""


class Connection(uvicorn.HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._fed = 0
        """Bytes since the last of a body: of a head, or of what stands around and behind chunks."""
        self._since = monotonic()

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._fed == 0:
            self._since = monotonic()
        self._fed += len(data)
        super().data_received(data)
        # The parser keeps what it has of an unfinished header or trailer to itself, however much that is.
        if self._fed > LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def overdue(self, now: float) -> bool:
        """Whether its client lets us wait for a request that it has begun, or never begins."""
        if not self._in_head:
            # Answered already, and the rest of the request does not come.
            return self.cycle is not None and self.cycle.response_complete and now - self._since > HEAD_WITHIN
        if self._fed == 0 and self.cycle is not None:
            return False  # between two requests, uvicorn's own timer runs
        return now - self._since > (HEAD_WITHIN if self._fed else FIRST_WITHIN)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:
            super().on_header(name, value)
        # What comes after a body is no header: whoever stands in between has not seen it.

    def on_body(self, body: bytes) -> None:
        self._fed = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        if self._fed > LARGEST_HEAD and self._size() > LARGEST_HEAD:
            raise ValueError("the head is too large")  # the parser gives up on the request, which is answered with 400
        self._in_head, self._fed = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head, self._fed = True, 0

    def _size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _start_asgi_task(self, cycle: uvicorn.RequestResponseCycle, app: "ASGI3Application") -> None:
        # uvicorn makes the cycle itself, and has no place to name another kind.
        cycle.__class__ = Cycle
        assert isinstance(cycle, Cycle)
        cycle.scope["extensions"] = {WHOLE: cycle.answer}  # type: ignore[dict-item]  # an extension of our own
        super()._start_asgi_task(cycle, app)


class Cycle(uvicorn.RequestResponseCycle):
    """uvicorn writes head and body apart, and each write is a call into the kernel."""

    held: "HTTPResponseStartEvent | None" = None

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
                self.held = message
                return
            await super().send(message)
            return
        start, self.held = self.held, None
        if start is None:
            await super().send(message)
            return
        if message["type"] != "http.response.body" or not self._fits(start, message.get("more_body", False)):
            await super().send(start)
            await super().send(message)
            return
        self._write(start, message.get("body", b""))

    def answer(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bool:
        """A whole answer at once, whose headers are known to be sound. False when it must be sent bit by bit."""
        self._refuse_body()
        if self.response_started or not self.keep_alive or self.disconnected or self.flow.write_paused:
            return False
        parts = [uvicorn.STATUS_LINE[status]]
        for name, value in self.default_headers:
            parts += (name, b": ", value, b"\r\n")
        for name, value in headers:
            parts += (name, b": ", value, b"\r\n")
        parts += (b"\r\n", body)
        self._end(parts)
        return True

    def _fits(self, start: "HTTPResponseStartEvent", more: bool) -> bool:
        return not (
            more
            or self.response_started
            or not self.keep_alive
            or self.disconnected
            or self.flow.write_paused
            or self.access_log
            or self.scope["method"] == "HEAD"
            or any(_is_odd(name, value) for name, value in start.get("headers", ()))
        )

    def _write(self, start: "HTTPResponseStartEvent", body: bytes) -> None:
        parts = [uvicorn.STATUS_LINE[start["status"]]]
        for name, value in (*self.default_headers, *start.get("headers", ())):
            if name == b"content-length" and int(value) != len(body):
                raise RuntimeError(f"The answer has {len(body)} bytes, and its Content-Length says {value!r}.")
            parts += (name, b": ", value, b"\r\n")
        parts += (b"\r\n", body)
        self._end(parts)

    def _end(self, parts: list[bytes]) -> None:
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(b"".join(parts))
        self.message_event.set()
        self.on_response()


def _is_odd(name: bytes, value: bytes) -> bool:
    """What uvicorn looks at before it writes it, or acts upon."""
    return (
        name in (b"connection", b"transfer-encoding")
        or not name.islower()
        or uvicorn.HEADER_VALUE_RE.search(value) is not None
        or uvicorn.HEADER_RE.search(name) is not None
    )


def close_overdue(connections: "Iterable[object]") -> None:
    now = monotonic()
    for connection in list(connections):
        if isinstance(connection, Connection) and connection.overdue(now) and not connection.transport.is_closing():
            connection.transport.close()
