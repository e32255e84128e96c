"""What a server says, fit for a terminal: its words on one line, and the last lines of its error stream."""

import re
import secrets
from collections import deque
from collections.abc import Callable
from typing import Final

from pegboard.core.characters import prose_pattern
from pegboard.ports.tail import LogLines

MAX_LINES: Final = 200
MAX_LINE_WIDTH: Final = 2_000
_MAX_LINE_BYTES: Final = 4 * MAX_LINE_WIDTH
"""The longest that `WIDTH` characters can be in UTF-8: more of an unfinished line is never needed."""

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS: Final = re.compile(rf"{prose_pattern()}|\n")


class LogTail:
    """A ring of lines. It is fed bytes as they come, and takes the same room whatever comes."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._partial_line = b""
        self._line_count = 0
        self._log_id = secrets.token_hex(4)

    @property
    def line_count(self) -> int:
        """How many lines came so far: a mark for `since`."""
        return self._line_count

    def feed(self, chunk: bytes, redact: Callable[[str], str]) -> None:
        first, *rest = chunk.split(b"\n")
        self._partial_line = (self._partial_line + first)[:_MAX_LINE_BYTES]
        if not rest:
            return
        *whole, last = (self._partial_line, *rest)
        self._line_count += len(whole)
        # Of a flood only the lines that stay are worth decoding.
        self._lines.extend(clean_line(line, redact) for line in whole[-MAX_LINES:])
        self._partial_line = last[:_MAX_LINE_BYTES]

    def finish(self, redact: Callable[[str], str]) -> None:
        """The stream is over, so what came last is a line, finished or not."""
        if self._partial_line:
            self.feed(b"\n", redact)

    def tail(self) -> LogLines:
        return LogLines(self._lines, self._line_count, self._log_id)

    def lines_since(self, mark: int, most: int) -> tuple[str, ...]:
        """The last lines written after the mark, at most so many."""
        fresh = min(self._line_count - mark, most, len(self._lines))
        return tuple(self.tail()[-fresh:]) if fresh else ()


def one_line(text: str, most: int) -> str:
    """A server's own words within a sentence of ours: nothing in them may look like a line of its own."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", " ".join(_ESCAPES.sub("", text).split()))[:most]


def clean_line(line: bytes, redact: Callable[[str], str]) -> str:
    """One line as a person would have seen it: what a carriage return overwrote is gone."""
    text = line[:_MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
    text = redact(_ESCAPES.sub("", text))
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)[:MAX_LINE_WIDTH]
