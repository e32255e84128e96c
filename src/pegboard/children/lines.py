"""What a server says, fit for a terminal: its words on one line, and the last lines of its error stream."""

import re
import secrets
from collections import deque
from collections.abc import Callable
from typing import Final

from pegboard.core.characters import prose_pattern
from pegboard.ports.tail import Tail

KEPT: Final = 200
WIDTH: Final = 2_000
_MOST_BYTES: Final = 4 * WIDTH
"""The longest that `WIDTH` characters can be in UTF-8: more of an unfinished line is never needed."""

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS: Final = re.compile(rf"{prose_pattern()}|\n")


class LastLines:
    """A ring of lines. It is fed bytes as they come, and takes the same room whatever comes."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._unfinished = b""
        self._written = 0
        self._mark = secrets.token_hex(4)

    @property
    def written(self) -> int:
        """How many lines came so far: a mark for `since`."""
        return self._written

    def feed(self, chunk: bytes, redact: Callable[[str], str]) -> None:
        first, *rest = chunk.split(b"\n")
        self._unfinished = (self._unfinished + first)[:_MOST_BYTES]
        if not rest:
            return
        *whole, last = (self._unfinished, *rest)
        self._written += len(whole)
        # Of a flood only the lines that stay are worth decoding.
        self._lines.extend(cleaned(line, redact) for line in whole[-KEPT:])
        self._unfinished = last[:_MOST_BYTES]

    def end(self, redact: Callable[[str], str]) -> None:
        """The stream is over, so what came last is a line, finished or not."""
        if self._unfinished:
            self.feed(b"\n", redact)

    def all(self) -> Tail:
        return Tail(self._lines, self._written, self._mark)

    def since(self, mark: int, most: int) -> tuple[str, ...]:
        """The last lines written after the mark, at most so many."""
        fresh = min(self._written - mark, most, len(self._lines))
        return tuple(self.all()[-fresh:]) if fresh else ()


def one_line(text: str, most: int) -> str:
    """A server's own words within a sentence of ours: nothing in them may look like a line of its own."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", " ".join(_ESCAPES.sub("", text).split()))[:most]


def cleaned(line: bytes, redact: Callable[[str], str]) -> str:
    """One line as a person would have seen it: what a carriage return overwrote is gone."""
    text = line[:_MOST_BYTES].decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
    text = redact(_ESCAPES.sub("", text))
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)[:WIDTH]
