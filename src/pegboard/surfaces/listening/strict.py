"""What a connection takes for HTTP: no request that two readers could read differently, and half a farewell is none."""

import asyncio
import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import httptools
from uvicorn.protocols.http import httptools_impl as uvicorn

from .begun import EarlyStatusTransport
from .cycle import SingleWriteCycle
from .target import RequestTarget, decode_path, parse_target

if TYPE_CHECKING:
    from starlette.types import Send
    from uvicorn._types import ASGI3Application, HTTPScope

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
        super().on_headers_complete()
        self._is_served = True
        if b"%" in self.url:
            self.scope["path"] = decode_path(self.scope["raw_path"])

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
        self.cycle = self._build_cycle("GET", keep_alive=False, on_response=self.on_response_complete)
        self.cycle.more_body = False
        self.pipeline.appendleft((self.cycle, _plain_text_app(status, told.encode())))

    def _final_response(self, status: int, body: bytes) -> bytes:
        head = (*self.server_state.default_headers, *_plain_text_headers(body), (b"connection", b"close"))
        lines = b"".join(b"%b: %b\r\n" % pair for pair in head)
        return b"%b%b\r\n%b" % (uvicorn.STATUS_LINE[status], lines, body)

    def _build_cycle(self, method: str, *, keep_alive: bool, on_response: Callable[[], None]) -> SingleWriteCycle:
        """An answer to what uvicorn has not begun with."""
        return SingleWriteCycle(
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


def _plain_text_headers(body: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return (b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))


def _plain_text_app(status: int, body: bytes) -> "ASGI3Application":
    async def say(scope: object, receive: object, send: "Send") -> None:
        await send({"type": "http.response.start", "status": status, "headers": _plain_text_headers(body)})
        await send({"type": "http.response.body", "body": body})

    return say  # type: ignore[return-value]  # it looks at nothing but where to send
