"""Server-sent events, cut out of a stream of bytes as they come and within bounds."""

from dataclasses import dataclass
from typing import Final

from pegboard.providers.mcp.messages import LONGEST

_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    kind: bytes
    text: bytes


class TooLarge(Exception):  # noqa: N818 - the fault is the stream's, and ends it
    """An event longer than any message we take."""


class Events:
    """Holds at most one unfinished event. `last` and `retry` are what the stream told so far for resuming it."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._unfinished: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._begun = False
        self._kind = b""
        self._lines: list[bytes] = []
        self.last: bytes | None = None
        self.retry: float | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that are whole now. Raises `TooLarge`."""
        chunk = self._in_one_way(chunk)
        found: list[Event] = []
        first, *rest = chunk.split(b"\n")
        self._keep(first)
        for part in rest:
            line = self._unfinished[0] if len(self._unfinished) == 1 else b"".join(self._unfinished)
            self._unfinished.clear()
            if line:
                self._field(line)
            elif (event := self._event()) is not None:
                found.append(event)
            self._keep(part)
        return found

    def _in_one_way(self, chunk: bytes) -> bytes:
        """A line may end in a return, a feed, or both; a chunk may end between the two."""
        if not self._begun and chunk:
            self._begun = True
            chunk = chunk.removeprefix(_MARK)
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _keep(self, part: bytes) -> None:
        if part:
            self._unfinished.append(part)
            self._size += len(part)
            if self._size > self._longest:
                raise TooLarge

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._lines.append(value)
                return
            case b"event":
                self._kind = value
            case b"id" if b"\0" not in value:
                self.last = value or None
            case b"retry" if value.isdigit() and len(value) < 9:
                self.retry = int(value) / 1000
        # Only what is held counts: comments keep a silent stream alive for days.
        self._size -= len(line)

    def _event(self) -> Event | None:
        text, kind = b"\n".join(self._lines), self._kind or b"message"
        self._lines, self._kind, self._size = [], b"", 0
        return Event(kind, text) if text else None
