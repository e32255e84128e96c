"""One HTTP connection to a server, with one request on it at a time.

Whatever looks like an answer to something else (bytes after the answer, two lengths, a coding nobody asked for) costs
the connection, so that no call ever gets another's answer.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final, NamedTuple, Protocol, TypeAlias, cast

import httptools
from mcp.shared.exceptions import MCPError

from pegboard.providers.mcp.messages import LONGEST
from pegboard.providers.mcp.pace import SLICE, Turns
from pegboard.providers.mcp.trouble import BROKEN_OFF, NONSENSE

from .events import TooLarge
from .tickets import Ticket

LINGER: Final = 2.0
"""Seconds that a server has to end a response after its answer, until the connection is dropped."""

EVENTS: Final = b"text/event-stream"
_LONGEST_HEAD: Final = 65_536
_MOST_ERROR_TEXT: Final = 65_536
_LARGE: Final = 32_768
_LONGEST_KNOWN: Final = 1_024
_MOST_KNOWN: Final = 256


class Reply(NamedTuple):
    """A response, whole. Of an event stream the event with the answer counts as the response."""

    status: int
    kind: bytes
    body: bytes
    challenge: bytes = b""
    """What the server wants to see before it answers."""


class KnownHeads:
    """Heads as they were written, of which the parser found that they announce JSON: but for the length and the date a
    server writes the same one again and again. Only of plain answers after which the connection is kept."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def body(self, data: bytes) -> bytes | None:
        """The body of a response that is there as a whole, if its head came before."""
        parts = _parts(data)
        return None if parts is None or parts[0] not in self._known else data[parts[1] :]

    def keep(self, data: bytes) -> None:
        """One that the parser has read."""
        if (parts := _parts(data)) is not None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add(parts[0])


def _parts(data: bytes) -> tuple[bytes, int] | None:
    """A head without its length, and where it ends. `None` for what must be parsed, or is not whole."""
    begins = data.find(b"\r\n\r\n", 0, _LONGEST_KNOWN) + 4
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


class Listener(Protocol):
    """Takes an event stream as it comes."""

    def feed(self, chunk: bytes) -> None:
        """Raises `TooLarge`."""
        ...

    def end(self) -> None:
        """The stream is over, in whichever way."""
        ...


Listen: TypeAlias = Callable[[Ticket], Listener]


class Home(Protocol):
    """Where a connection belongs."""

    @property
    def heads(self) -> KnownHeads: ...

    @property
    def where(self) -> str: ...

    def release(self, exchange: "Exchange") -> None: ...

    def hung_up(self, exchange: "Exchange") -> None: ...

    def forget(self, exchange: "Exchange") -> None: ...


class Exchange(asyncio.Protocol):
    def __init__(self, home: Home) -> None:
        self._home = home
        self._heads = home.heads
        self._parser = httptools.HttpResponseParser(self)
        self._ticket: Ticket | None = None
        self._listen: Listen | None = None
        self._listener: Listener | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._unread: deque[memoryview] = deque()
        self._turns = Turns()
        self._resting: asyncio.TimerHandle | None = None
        self.idle_since = 0.0
        """When it was last answered, or 0."""
        self._is_dropped = False
        """Whether it is us who ended it."""
        self._begin()

    def _begin(self) -> None:
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

    def send(self, pieces: list[bytes], size: int, ticket: Ticket, listen: Listen | None = None) -> None:
        """From here on the request may have run: it is never sent twice. `listen` is asked for an event stream."""
        if not self._is_new:
            self._begin()
        self._ticket, self._listen = ticket, listen
        ticket.sent = True
        if size < _LARGE:
            self._transport.write(b"".join(pieces))
        else:
            self._transport.writelines(pieces)

    def abort(self) -> None:
        """Drop the connection. In the era without sessions this is how a call is cancelled."""
        self._ticket = self._listener = None
        self._is_dropped = True
        self._let_go()
        self._transport.abort()

    def abandon(self, ticket: Ticket) -> None:
        """Drop the connection if it still serves this request, and not if it serves another by now."""
        if self._ticket is ticket:
            self.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports inherit from none of asyncio's

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()
        if not self._is_dropped and (self._ticket is None or self._is_new):
            self._home.hung_up(self)
        self._home.forget(self)
        if self._ticket is None or self._answered:
            return
        if not self._in_head and self._length < 0 and not self._chunked and exc is None:
            self._finish()  # a body that lasts until the connection closes
        elif self._listener is not None:
            self._listener.end()
        else:
            how = "it closed the connection before it had answered" if exc is None else str(exc)
            self._ticket.fail(MCPError(BROKEN_OFF, f"broke the connection off at {self._home.where}: {how}"))

    def eof_received(self) -> bool:
        return False

    def data_received(self, data: bytes) -> None:
        if self._ticket is None:
            self.abort()  # bytes that nobody asked for
        elif self._is_new and (whole := self._heads.body(data)) is not None:
            ticket, self._ticket = self._ticket, None
            ticket.settle(whole)
            self._home.release(self)
        elif len(data) > SLICE or self._unread:
            self._unread.append(memoryview(data))
            if self._resting is None:
                self._take_turn()
        else:
            self._take(data)

    def _take_turn(self) -> None:
        """Some of what is there. The rest of a flood waits for later turns, and its server until then."""
        rested, self._resting = self._resting is not None, None
        while self._unread:
            began = perf_counter()
            data = self._unread.popleft()
            if len(data) > SLICE:
                self._unread.appendleft(data[SLICE:])
            self._take(data[:SLICE])
            if self._turns.spend(perf_counter() - began) and self._unread:
                if not rested:
                    self._transport.pause_reading()
                self._resting = asyncio.get_running_loop().call_later(self._turns.rest(), self._take_turn)
                return
        if not rested:
            self._turns.catch_up()
        elif not self._transport.is_closing():
            self._transport.resume_reading()

    def _take(self, data: bytes | memoryview) -> None:
        self._head_size += len(data)
        is_first, self._is_new = self._is_new, False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._refuse(f"the answer is not HTTP as we know it ({error})")
            return
        if self._complete:
            self._spoiled |= bool(self._unread)
            if is_first and self._is_plain and isinstance(data, bytes):
                self._heads.keep(data)
            self._rest()
        elif self._head_size > _LONGEST_HEAD:
            self._refuse(f"its headers are longer than {_LONGEST_HEAD // 1024} KiB")
        elif self._answered and self._linger is None and self._ticket is not None:
            self._linger = asyncio.get_running_loop().call_later(LINGER, self.abort)

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
            self._refuse("the answer is compressed, although nobody asked for that")
        elif self._length > LONGEST:
            self._refuse(_TOO_LONG)
        elif status in (202, 204) or 300 <= status < 400:
            self._answer(b"")
        elif status < 300 and self._kind.startswith(EVENTS) and self._listen and self._ticket:
            self._listener = self._listen(self._ticket)

    def on_body(self, body: bytes) -> None:
        self._head_size = 0
        if self._answered or self._ticket is None:
            return
        if self._listener is not None:
            try:
                self._listener.feed(body)
            except TooLarge:
                self._refuse(_TOO_LONG)
                return
            self._answered = self._ticket.settled
            return
        self._parts.append(body)
        self._size += len(body)
        if self._size > LONGEST:
            self._refuse(_TOO_LONG)
        elif self._status >= 400 and self._size > _MOST_ERROR_TEXT:
            self._finish()
            self.abort()

    def on_message_complete(self) -> None:
        if self._in_head or self._complete or self._ticket is None:
            return  # a message that only announces the answer
        self._complete, self._keep = True, self._parser.should_keep_alive()
        if self._listener is None:
            self._finish()
        elif not self._answered:
            self._listener.end()

    def _finish(self) -> None:
        if not self._answered:
            self._answer(self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))

    def _answer(self, body: bytes) -> None:
        self._answered = True
        if self._ticket is not None:
            self._ticket.settle(Reply(self._status, self._kind, body, self._challenge))

    @property
    def _is_plain(self) -> bool:
        """Whether the next response with the same head needs no parser."""
        json = self._status == 200 and self._kind.startswith(b"application/json")
        return json and self._keep and not self._spoiled and not self._chunked and self._length >= 0

    def _rest(self) -> None:
        """The response is over: the connection is free for the next request, or of no more use."""
        self._ticket = self._listener = None
        self._parts = []
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        if self._keep and not self._spoiled and not self._transport.is_closing():
            self._home.release(self)
        else:
            self.abort()

    def _let_go(self) -> None:
        """What is unread, and what was to be done later."""
        self._unread.clear()
        for timer in (self._linger, self._resting):
            if timer is not None:
                timer.cancel()

    def _refuse(self, why: str) -> None:
        ticket, answered = self._ticket, self._answered
        self.abort()
        if ticket is not None and not answered:
            ticket.fail(MCPError(NONSENSE, why))


_TOO_LONG: Final = f"the answer is longer than {LONGEST // 1024 // 1024} MiB"
