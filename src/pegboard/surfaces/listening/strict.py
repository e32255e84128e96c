"""What a connection takes for HTTP: no request that two readers could read differently, and half a farewell is none."""

import asyncio
import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import httptools
from uvicorn.protocols.http import httptools_impl as uvicorn

from .begun import Begun
from .cycle import Cycle
from .target import Target, path_of, target_of

if TYPE_CHECKING:
    from starlette.types import Send
    from uvicorn._types import ASGI3Application, HTTPScope

CODING: Final = b"transfer-encoding"
EXPECT: Final = b"expect"
NO_CODING: Final = (
    501,
    "The body is in a transfer coding that is not known here. Send it with Content-Length, or chunked alone.",
)
NO_EXPECTATION: Final = (
    417,
    "Expect asks for something that is not known here. Send it with 100-continue, or not at all.",
)
NO_VERSION: Final = (505, "This version of HTTP is not spoken here. Send the request as HTTP/1.1.")
NO_PROXY: Final = (501, "CONNECT is not known here: this is no proxy. Send the request to the gateway itself.")
INVALID: Final = (400, "This is no HTTP request that can be read in one way only.")
VERSIONS: Final = ("1.1", "1.0")
FIRST_LOOK: Final = 0.05
LONGEST_LOOK: Final = 5.0


class Strict(uvicorn.HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._refusal: tuple[int, str] | None = None
        self._look: asyncio.TimerHandle | None = None
        self._answering: uvicorn.RequestResponseCycle | None = None
        """The latest that the application was given. Others may have come meanwhile, and wait for it."""
        self._upgrades = False
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
                    self._pass_over_upgrade()
                else:
                    return
        except httptools.HttpParserError:
            self.logger.warning("A request cannot be read as HTTP/1.1; its connection is closed")
            self.send_400_response("Invalid")

    def _pass_over_upgrade(self) -> None:
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
        if len(name) == len(CODING) and name.lower() == CODING and value.strip().lower() != b"chunked":
            raise self._refused(NO_CODING)
        if len(name) == len(EXPECT) and name.lower() == EXPECT and value.strip().lower() != b"100-continue":
            raise self._refused(NO_EXPECTATION)
        super().on_header(name, value)

    def _is_plain(self) -> bool:
        """Whether a head that has come is a request's, and no mere offer to go on in another protocol. Raises for one
        that is not served; from here on its target is a path, and Host is whom it is for."""
        parser = self.parser
        version = parser.get_http_version()
        if version not in VERSIONS:
            raise self._refused(NO_VERSION)
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise self._refused(NO_PROXY)
            self._upgrades = True
            return False
        if version == "1.0":
            self.expect_100_continue = False
        if self.url[:1] != b"/" or b"#" in self.url:
            target = target_of(self.url)
            if not isinstance(target, Target):
                raise self._refused((400, target))
            self.url = target.path
            if target.host is not None:
                self.headers = [(name, target.host if name == b"host" else value) for name, value in self.headers]
        return True

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._is_served = True
        if b"%" in self.url:
            self.scope["path"] = path_of(self.scope["raw_path"])

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_served = False
        self._leave_request()

    def _leave_request(self) -> None:
        """It has come whole, and the connection may serve others than its caller next: their credentials are not its
        to keep."""
        self.headers, self.scope = [], None  # type: ignore[assignment]  # as it is before the first

    # What cannot be read.

    def _refused(self, refusal: tuple[int, str]) -> ValueError:
        """To raise in what the parser calls: it gives up on the request, which is answered so."""
        self._refusal = refusal
        return ValueError(refusal[1])

    def send_400_response(self, msg: str) -> None:
        """Requests before it are answered first, in their order."""
        if self._is_over:
            return
        self._is_over = True
        status, told = self._refusal or (INVALID if msg.startswith("Invalid") else (400, msg))
        own, self._is_served = self._is_served, False
        if own and self.pipeline and self.pipeline[0][0] is self.cycle:
            self.pipeline.popleft()
        elif own and self.cycle.response_started:
            self.transport.close()
            return
        elif own or self.cycle is None or self.cycle.response_complete:
            self.transport.write(self._last_word(status, told.encode()))
            self.transport.close()
            return
        self.cycle = self._cycle_of("GET", keep_alive=False, on_response=self.on_response_complete)
        self.cycle.more_body = False
        self.pipeline.appendleft((self.cycle, _saying(status, told.encode())))

    def _last_word(self, status: int, body: bytes) -> bytes:
        head = (*self.server_state.default_headers, *_plain(body), (b"connection", b"close"))
        lines = b"".join(b"%b: %b\r\n" % pair for pair in head)
        return b"%b%b\r\n%b" % (uvicorn.STATUS_LINE[status], lines, body)

    def _cycle_of(self, method: str, *, keep_alive: bool, on_response: Callable[[], None]) -> Cycle:
        """An answer to what uvicorn has not begun with."""
        return Cycle(
            scope=cast("HTTPScope", {"method": method, "http_version": "1.1"}),
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
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
        if last is None or last.response_complete or not self._waits():
            return None
        last.keep_alive = False
        self._begin_answer()
        self._look_again(FIRST_LOOK)
        return True

    def _waits(self) -> bool:
        """Whether the last request has come whole, and nothing has gone of the answer that is next."""
        following = self._answering
        return following is not None and not self.cycle.more_body and not following.response_started

    def _begin_answer(self) -> None:
        begun = cast("asyncio.Transport", Begun(self.transport))
        for cycle in (self.cycle, self._answering, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None:
                cycle.transport = begun
        self.transport = begun

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)
        # uvicorn tells the last one that came, which may only wait for its turn.
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _look_again(self, after: float) -> None:
        self._look = self.loop.call_later(after, self._look_for_reset, after)

    def _look_for_reset(self, after: float) -> None:
        if self.transport.is_closing():
            return
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), 0)
        if poll.poll(0):
            self.transport.abort()
        else:
            self._look_again(min(2 * after, LONGEST_LOOK))


def _plain(body: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return (b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))


def _saying(status: int, body: bytes) -> "ASGI3Application":
    async def say(scope: object, receive: object, send: "Send") -> None:
        await send({"type": "http.response.start", "status": status, "headers": _plain(body)})
        await send({"type": "http.response.body", "body": body})

    return say  # type: ignore[return-value]  # it looks at nothing but where to send
