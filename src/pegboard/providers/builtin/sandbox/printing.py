"""What a program prints: kept up to a bound, counted beyond it, and no longer than that."""

from collections.abc import Callable
from typing import Final

_FLOOD_FACTOR: Final = 64
"""A program that prints so many times as much as is kept does nothing else, and costs us as much as it does itself."""


class OutputCollector:
    def __init__(
        self,
        most: int,
        tell: Callable[[str], None],
        stop: Callable[[], object],
        kept: str = "",
        truncated: bool = False,
    ) -> None:
        """`stop` is called once, for a program that does nothing but print, in the thread that takes it in."""
        self._limit = most
        self._stop = stop
        self._remaining = 0 if truncated else most - len(kept.encode())
        self._dropped_bytes = 0
        self._on_output = tell
        self._pieces = [kept] if kept else []
        self._reported_pieces = len(self._pieces)
        self.truncated = truncated
        self.flood_message: str | None = None
        """Why the program is stopped."""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, text: str) -> None:
        """May be called from another thread."""
        encoded = text.encode(errors="replace")
        if len(encoded) <= self._remaining and not self.truncated:
            self._remaining -= len(encoded)
            self._pieces.append(text)
            return
        if not self.truncated:
            self.truncated = True
            # Not in the middle of a character.
            self._pieces.append(encoded[: max(self._remaining, 0)].decode(errors="ignore"))
        self._dropped_bytes += len(encoded)
        if self._dropped_bytes > _FLOOD_FACTOR * self._limit and self.flood_message is None:
            self.flood_message = (
                f"The program printed more than {_FLOOD_FACTOR} times the {self._limit:,} bytes that are kept."
            )
            self._stop()

    def flush(self) -> None:
        """Tells the host what has come since it was told last."""
        pieces = self._pieces[self._reported_pieces :]
        self._reported_pieces += len(pieces)
        if text := "".join(pieces):
            self._on_output(text)
