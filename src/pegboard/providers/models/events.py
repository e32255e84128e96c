"""Server-sent events, split out of bytes as they come. Only their data: a chat has nothing else to say."""

import json
import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 16_000_000
"""Bytes of one event: a whole message in one is read, an endless one is not."""
_MARK: Final = b"\xef\xbb\xbf"
"""Which may stand before the first event and means nothing."""
_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")
"""Of a line. A lone \\r at the end may be the first half of one."""


class TooLong(Exception):  # noqa: N818 - it is told as a sentence
    """An event that does not end."""


class Events:
    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self._lines: list[bytes] = []
        """Of an event whose data is not whole."""
        self._size = 0
        self._is_first = True

    def fed(self, chunk: bytes) -> Iterator[bytes]:
        """Each event's data, as soon as it is whole: servers write one line for each, and some leave out the blank line
        after it."""
        self._rest += chunk
        while (end := _END.search(self._rest, self._searched)) is not None:
            line = bytes(self._rest[: end.start()])
            del self._rest[: end.end()]
            self._searched = 0
            yield from self._read(line)
        # A half of a line's end is looked at again.
        self._searched = max(0, len(self._rest) - 1)
        if len(self._rest) + self._size > LONGEST:
            raise TooLong(f"with an event of more than {LONGEST // 1_000_000} MB")

    def _read(self, line: bytes) -> Iterator[bytes]:
        if self._is_first:
            line, self._is_first = line.removeprefix(_MARK), False
        if not line and self._lines:
            yield self._taken()
        elif line.startswith(b"data:") and (data := line[5:].strip()):
            self._lines.append(data)
            self._size += len(data)
            # Of one line by itself only: to try all of them again with each would take ever longer.
            if len(self._lines) == 1 and _is_whole(data):
                yield self._taken()

    def _taken(self) -> bytes:
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
        return not isinstance(error, json.JSONDecodeError) or not _is_cut(error)
    return True


def _is_cut(error: json.JSONDecodeError) -> bool:
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
