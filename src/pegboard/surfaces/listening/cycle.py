"""One answer of uvicorn's, written in one go where it is whole."""

from typing import TYPE_CHECKING

from uvicorn.protocols.http import httptools_impl as uvicorn

from .express import Pairs

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, ASGISendEvent, HTTPResponseStartEvent


class Cycle(uvicorn.RequestResponseCycle):
    """uvicorn writes head and body apart, and each write is a call into the kernel."""

    held: "HTTPResponseStartEvent | None" = None

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

    def answer(self, status: int, lines: bytes, body: bytes) -> bool:
        """A whole answer at once, whose headers are known to be sound. False when it must be sent bit by bit."""
        self._refuse_body()
        if self.response_started or not self.keep_alive or self.disconnected or self.flow.write_paused:
            return False
        self._end([uvicorn.STATUS_LINE[status], usual_lines(self.default_headers), lines, b"\r\n", body])
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


_usual: tuple[object, bytes] = (None, b"")


def usual_lines(headers: Pairs) -> bytes:
    """Those of every answer. uvicorn makes a new list of them once a second, for the date."""
    global _usual
    if _usual[0] is not headers:
        _usual = headers, b"".join(b"%b: %b\r\n" % header for header in headers)
    return _usual[1]


def _is_odd(name: bytes, value: bytes) -> bool:
    """What uvicorn looks at before it writes it, or acts upon."""
    return (
        name in (b"connection", b"transfer-encoding")
        or not name.islower()
        or uvicorn.HEADER_VALUE_RE.search(value) is not None
        or uvicorn.HEADER_RE.search(name) is not None
    )
