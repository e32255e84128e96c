"""What a connection takes for HTTP: no request that two readers could read differently, and half a farewell is none."""

import asyncio
import select
from typing import Any, Final

from uvicorn.protocols.http import httptools_impl as uvicorn

CODING: Final = b"transfer-encoding"
NO_CODING: Final = (
    501,
    "The body is in a transfer coding that is not known here. Send it with Content-Length, or chunked alone.",
)
INVALID: Final = (400, "This is no HTTP request that can be read in one way only.")
GO_ON: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
FIRST_LOOK: Final = 0.05
LONGEST_LOOK: Final = 5.0


class Strict(uvicorn.HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._refusal: tuple[int, str] | None = None
        self._look: asyncio.TimerHandle | None = None

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(name) == len(CODING) and name.lower() == CODING and value.strip().lower() != b"chunked":
            self._refusal = NO_CODING
            raise ValueError("an unknown transfer coding")  # the parser gives up on the request
        super().on_header(name, value)

    def send_400_response(self, msg: str) -> None:
        status, told = self._refusal or (INVALID if msg.startswith("Invalid") else (400, msg))
        body = told.encode()
        head = (
            *((name, value) for name, value in self.server_state.default_headers),
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        )
        lines = b"".join(b"%b: %b\r\n" % pair for pair in head)
        self.transport.write(b"%b%b\r\n%b" % (uvicorn.STATUS_LINE[status], lines, body))
        self.transport.close()

    def eof_received(self) -> bool | None:  # type: ignore[override]  # uvicorn always closes
        """The client sends no more. It may have closed its side alone, and wait; or it has gone.

        Nothing tells which, until something is sent: whoever waits takes word that we go on, and whoever has gone sends
        back a reset. So an answer comes to the one, and the call of the other is given up.
        """
        cycle = self.cycle
        if cycle is None or cycle.response_complete or self.pipeline or not self._waits():
            return None
        cycle.keep_alive = False
        self.transport.write(GO_ON)
        self._look_again(FIRST_LOOK)
        return True

    def _waits(self) -> bool:
        """Whether the request has come whole, and nothing of its answer has gone."""
        cycle = self.cycle
        return not cycle.more_body and not cycle.response_started and cycle.scope["http_version"] == "1.1"

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

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
