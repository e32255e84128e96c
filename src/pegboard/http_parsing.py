"""What both ends of HTTP read: heads that are known by their bytes, and streams of server-sent events.

Of plain bytes, within bounds, and without waiting for anything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")

_MAX_HEAD_BYTES: Final = 2_048
_MAX_LENGTH_DIGITS: Final = 8


class HeadCache(Generic[Value]):
    """Heads as they were written, with what the parser made of them: a peer writes the same one again and again, and
    only the length differs. Credentials may stand in them, so those that come no more can be forgotten."""

    def __init__(self, max_heads: int) -> None:
        self._max_heads = max_heads
        self._recent: dict[bytes, Value] = {}
        self._older: dict[bytes, Value] = {}
        """Those that nobody has written since the last turn."""

    def find(self, data: bytes) -> tuple[Value, int, int] | None:
        """What is known of the head at the beginning, where its body begins and how long that is."""
        parts = _split_head(data)
        if parts is None:
            return None
        key, begins, length = parts
        value = self._recent.get(key)
        if value is None:
            value = self._older.pop(key, None)
            if value is None:
                return None
            self._store(key, value)
        return value, begins, length

    def add(self, data: bytes, value: Value) -> None:
        """Of a message that the parser has read, if it is all there is of the data."""
        parts = _split_head(data)
        if parts is not None and parts[1] + parts[2] == len(data):
            self._store(parts[0], value)

    def drop_unused(self) -> None:
        """Forgets what was not used since the last time."""
        self._older, self._recent = self._recent, {}

    def clear(self) -> None:
        self._recent, self._older = {}, {}

    def _store(self, key: bytes, value: Value) -> None:
        if len(self._recent) >= self._max_heads:
            del self._recent[next(iter(self._recent))]
        self._recent[key] = value


def _split_head(data: bytes) -> tuple[bytes, int, int] | None:
    """A head without its length, where its body begins, and that length. `None` for what must be parsed."""
    begins = data.find(b"\r\n\r\n", 0, _MAX_HEAD_BYTES) + 4
    if begins < 4:
        return None
    at = data.find(b"\r\ncontent-length: ", 0, begins)
    if at < 0 and (at := data.find(b"\r\nContent-Length: ", 0, begins)) < 0:
        return None
    at += 18
    end = data.find(b"\r\n", at)
    digits = data[at:end]
    if not digits.isdigit() or len(digits) > _MAX_LENGTH_DIGITS:
        return None
    return data[:at] + data[end:begins], begins, int(digits)


_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    kind: bytes
    text: bytes


class EventTooLargeError(Exception):
    """An event longer than any message we take."""


class EventStreamParser:
    """Holds at most one unfinished event. `last` and `retry` are what the stream told so far for resuming it."""

    def __init__(self, max_bytes: int, ends_early: Callable[[bytes], bool] | None = None) -> None:
        """`ends_early` says of an event's only line of data so far that nothing can follow it."""
        self._max_bytes = max_bytes
        self._ends_early = ends_early
        self._unfinished: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._has_started = False
        self._kind = b""
        self._lines: list[bytes] = []
        self.last_event_id: bytes | None = None
        self.retry_s: float | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that are whole now. Raises `EventTooLargeError`."""
        chunk = self._normalize_newlines(chunk)
        found: list[ServerSentEvent] = []
        first, *rest = chunk.split(b"\n")
        self._append(first)
        for part in rest:
            line = self._unfinished[0] if len(self._unfinished) == 1 else b"".join(self._unfinished)
            self._unfinished.clear()
            if not self._has_started:
                self._has_started, line = True, line.removeprefix(_BYTE_ORDER_MARK)
            if (event := self._parse_field(line) if line else self._finish_event()) is not None:
                found.append(event)
            self._append(part)
        return found

    def _normalize_newlines(self, chunk: bytes) -> bytes:
        """A line may end in a return, a feed, or both; a chunk may end between the two."""
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

    def _parse_field(self, line: bytes) -> ServerSentEvent | None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._lines.append(value)
                # Only of the first line: to try all of them again with each would take ever longer.
                ends_now = self._ends_early is not None and len(self._lines) == 1 and self._ends_early(value)
                return self._finish_event() if ends_now else None
            case b"event":
                self._kind = value
            case b"id" if b"\0" not in value:
                self.last_event_id = value or None
            case b"retry" if value.isdigit() and len(value) < 9:
                self.retry_s = int(value) / 1000
        # Only what is held counts: comments keep a silent stream alive for days.
        self._size -= len(line)
        return None

    def _finish_event(self) -> ServerSentEvent | None:
        text, kind = b"\n".join(self._lines), self._kind or b"message"
        self._lines, self._kind, self._size = [], b"", 0
        return ServerSentEvent(kind, text) if text else None
