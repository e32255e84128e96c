"""The last lines of a log that goes on: which of them are new is known by their number."""

from collections.abc import Iterable
from typing import Self


class LogLines(tuple[str, ...]):
    """The lines that are kept, of all that were `written`. `mark` tells one log from the next of the same source."""

    total_lines: int
    log_id: str

    def __new__(cls, lines: Iterable[str] = (), written: int = 0, mark: str = "") -> Self:
        made = super().__new__(cls, lines)
        made.total_lines, made.log_id = written, mark
        return made

    def lines_after(self, cursor: str | None) -> tuple[tuple[str, ...], bool]:
        """What was written since, and whether that goes on where the cursor was: if not, it is all there is."""
        mark, _, count = (cursor or "").rpartition("-")
        seen = int(count) if count.isascii() and count.isdecimal() and len(count) < 19 else -1
        fresh = self.total_lines - seen
        if mark != self.log_id or not mark or seen < 0 or not 0 <= fresh <= len(self):
            return tuple(self), False
        return (tuple(self[-fresh:]) if fresh else ()), True

    @property
    def cursor(self) -> str:
        return f"{self.log_id}-{self.total_lines}"
