"""Thinking that a model's prompt has opened: what it writes begins inside, and nothing says so before the end comes."""

from collections.abc import Sequence
from typing import Final

_QUOTES: Final = ("`", "'", '"')
"""Behind one of these an end is told of, and ends nothing."""


class ThinkingSplitter:
    """Watches a text for an end of thinking that nothing in it began."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._openers = tuple(start for start, _ in pairs)
        self._ends = tuple(end for _, end in pairs)
        self._buffer = ""
        self._before = ""
        """The character before what is held."""
        self.is_over = False
        """Whether it is known where thinking is."""

    def feed(self, text: str) -> tuple[str, str | None]:
        """What goes on as it did, and, where it was thinking all along, what stands behind its end."""
        if self.is_over:
            return self.flush() + text, None
        text = self.flush() + text
        found = min(((at, end) for end in self._ends if (at := self._end(text, end)) >= 0), default=None)
        limit = len(text) if found is None else found[0]
        if any(0 <= text.find(opener) < limit for opener in self._openers):
            self.is_over = True
            return text, None
        if found is not None:
            self.is_over = True
            at, end = found
            return text[:at], text[at + len(end) :]
        sure = next(
            at
            for at in range(max(0, len(text) - self._max_mark_length), len(text) + 1)
            if self._is_partial_mark(text[at:])
        )
        self._buffer = text[sure:]
        self._before = text[sure - 1 : sure] if sure else self._before
        return text[:sure], None

    def flush(self) -> str:
        held, self._buffer = self._buffer, ""
        return held

    def _end(self, text: str, end: str) -> int:
        at = text.find(end)
        while at >= 0 and (text[at - 1] if at else self._before) in _QUOTES:
            at = text.find(end, at + 1)
        return at

    @property
    def _max_mark_length(self) -> int:
        return max(map(len, (*self._ends, *self._openers)), default=1) - 1

    def _is_partial_mark(self, text: str) -> bool:
        """Whether more may make a mark of it; nothing always does."""
        return any(mark.startswith(text) for mark in (*self._ends, *self._openers, ""))
