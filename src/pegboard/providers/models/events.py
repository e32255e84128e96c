"""Server-sent events, split out of bytes as they come. Only their data: a chat has nothing else to say."""

from collections.abc import Iterator
from typing import Final

LONGEST: Final = 16_000_000
"""Bytes of one line: a whole message in one event is read, an endless one is not."""


class TooLong(Exception):  # noqa: N818 - it is told as a sentence
    """A line that does not end."""


class Events:
    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self._lines: list[bytes] = []

    def fed(self, chunk: bytes) -> Iterator[bytes]:
        """Each event's data, as soon as a line of it is whole: servers write one line for each, and some leave out the
        blank line after it."""
        self._rest += chunk
        while (end := self._rest.find(b"\n", self._searched)) >= 0:
            line = bytes(self._rest[:end]).rstrip(b"\r")
            del self._rest[: end + 1]
            self._searched = 0
            if line.startswith(b"data:") and (data := line[5:].strip()):
                yield data
        self._searched = len(self._rest)
        if len(self._rest) > LONGEST:
            raise TooLong(f"with a line of more than {LONGEST // 1_000_000} MB")
