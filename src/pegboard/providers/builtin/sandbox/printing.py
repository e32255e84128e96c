"""What a program prints: kept up to a bound, counted beyond it, and no longer than that."""

from collections.abc import Callable
from typing import Final

_PATIENCE: Final = 64
"""A program that prints so many times as much as is kept does nothing else, and costs us as much as it does itself."""


class Printing:
    def __init__(
        self,
        most: int,
        tell: Callable[[str], None],
        stop: Callable[[], object],
        kept: str = "",
        truncated: bool = False,
    ) -> None:
        """`stop` is called once, for a program that does nothing but print, in the thread that takes it in."""
        self._most = most
        self._stop = stop
        self._left = 0 if truncated else most - len(kept.encode())
        self._dropped = 0
        self._tell = tell
        self._pieces = [kept] if kept else []
        self._told = len(self._pieces)
        self.truncated = truncated
        self.flood: str | None = None
        """Why the program is stopped."""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def take(self, text: str) -> None:
        """May be called from another thread."""
        encoded = text.encode(errors="replace")
        if len(encoded) <= self._left and not self.truncated:
            self._left -= len(encoded)
            self._pieces.append(text)
            return
        if not self.truncated:
            self.truncated = True
            # Not in the middle of a character.
            self._pieces.append(encoded[: max(self._left, 0)].decode(errors="ignore"))
        self._dropped += len(encoded)
        if self._dropped > _PATIENCE * self._most and self.flood is None:
            self.flood = f"The program printed more than {_PATIENCE} times the {self._most:,} bytes that are kept."
            self._stop()

    def flush(self) -> None:
        """Tells the host what has come since it was told last."""
        pieces = self._pieces[self._told :]
        self._told += len(pieces)
        if text := "".join(pieces):
            self._tell(text)
