"""Server-sent events, cut out of a stream of bytes as they come and within bounds."""

from dataclasses import dataclass
from typing import Final

from pegboard.providers.mcp.messages import MAX_MESSAGE_BYTES

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    kind: bytes
    text: bytes


class EventTooLargeError(Exception):
    """An event longer than any message we take."""


class EventStreamParser:
    """Holds at most one unfinished event. `last` and `retry` are what the stream told so far for resuming it."""

    def __init__(self, longest: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = longest
        self._unfinished: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._has_started = False
        self._kind = b""
        self._lines: list[bytes] = []
        self.last_event_id: bytes | None = None
        self.retry_s: float | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that are whole now. Raises `TooLarge`."""
        chunk = self._normalize_newlines(chunk)
        found: list[ServerSentEvent] = []
        first, *rest = chunk.split(b"\n")
        self._append(first)
        for part in rest:
            line = self._unfinished[0] if len(self._unfinished) == 1 else b"".join(self._unfinished)
            self._unfinished.clear()
            if line:
                self._parse_field(line)
            elif (event := self._finish_event()) is not None:
                found.append(event)
            self._append(part)
        return found

    def _normalize_newlines(self, chunk: bytes) -> bytes:
        """A line may end in a return, a feed, or both; a chunk may end between the two."""
        if not self._has_started and chunk:
            self._has_started = True
            chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _append(self, part: bytes) -> None:
        if part:
            self._unfinished.append(part)
            self._size += len(part)
            if self._size > self._max_bytes:
                raise EventTooLargeError

    def _parse_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._lines.append(value)
                return
            case b"event":
                self._kind = value
            case b"id" if b"\0" not in value:
                self.last_event_id = value or None
            case b"retry" if value.isdigit() and len(value) < 9:
                self.retry_s = int(value) / 1000
        # Only what is held counts: comments keep a silent stream alive for days.
        self._size -= len(line)

    def _finish_event(self) -> ServerSentEvent | None:
        text, kind = b"\n".join(self._lines), self._kind or b"message"
        self._lines, self._kind, self._size = [], b"", 0
        return ServerSentEvent(kind, text) if text else None
