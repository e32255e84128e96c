"""Server-sent events, split out of bytes as they come. Only their data: a chat has nothing else to say."""

import json
import re
from collections.abc import Iterator
from typing import Final

MAX_EVENT_BYTES: Final = 16_000_000
"""Bytes of one event: a whole message in one is read, an endless one is not."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""Which may stand before the first event and means nothing."""
_LINE_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")
"""Of a line. A lone \\r at the end may be the first half of one."""


class EventTooLongError(Exception):
    """An event that does not end."""


class EventSplitter:
    def __init__(self) -> None:
        self._buffer = bytearray()
        self._search_start = 0
        self._lines: list[bytes] = []
        """Of an event whose data is not whole."""
        self._size = 0
        self._is_first = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Each event's data, as soon as it is whole: servers write one line for each, and some leave out the blank line
        after it."""
        self._buffer += chunk
        while (end := _LINE_END.search(self._buffer, self._search_start)) is not None:
            line = bytes(self._buffer[: end.start()])
            del self._buffer[: end.end()]
            self._search_start = 0
            yield from self._read_line(line)
        # A half of a line's end is looked at again.
        self._search_start = max(0, len(self._buffer) - 1)
        if len(self._buffer) + self._size > MAX_EVENT_BYTES:
            raise EventTooLongError(f"with an event of more than {MAX_EVENT_BYTES // 1_000_000} MB")

    def _read_line(self, line: bytes) -> Iterator[bytes]:
        if self._is_first:
            line, self._is_first = line.removeprefix(_BYTE_ORDER_MARK), False
        if not line and self._lines:
            yield self._take_event()
        elif line.startswith(b"data:") and (data := line[5:].strip()):
            self._lines.append(data)
            self._size += len(data)
            # Of one line by itself only: to try all of them again with each would take ever longer.
            if len(self._lines) == 1 and _is_whole(data):
                yield self._take_event()

    def _take_event(self) -> bytes:
        taken, self._lines, self._size = b"\n".join(self._lines), [], 0
        return taken


def _is_whole(data: bytes) -> bool:
    """Whether nothing can follow. What is no JSON and does not look like a part of any is told at once."""
    if not data.startswith((b"{", b"[")) or data == b"[DONE]":
        return True
    try:
        json.loads(data)
    except (RecursionError, ValueError) as error:
        # Cut in the middle, or in the middle of a text.
        return not isinstance(error, json.JSONDecodeError) or not _is_truncated(error)
    return True


def _is_truncated(error: json.JSONDecodeError) -> bool:
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
