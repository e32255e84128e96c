"""One answer of uvicorn's, written in one go where it is whole."""

from typing import TYPE_CHECKING

from uvicorn.protocols.http import httptools_impl as uvicorn

from .express import HeaderPairs

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, ASGISendEvent, HTTPResponseStartEvent


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
