"""The standard output of a program: lines to the gateway, and nothing after the limit."""

import io
from collections.abc import Callable
from typing import Final

_UNBUFFERED_PIECES: Final = 1_000
"""Pieces that are told as they come, however short. Later ones are told together."""
_BUFFER_CHARS: Final = 1_024
"""Characters."""


def max_pieces(most: int) -> int:
    """In how many pieces so many bytes are told at most."""
    return _UNBUFFERED_PIECES + most // _BUFFER_CHARS + 2


class ProgramOutput(io.TextIOBase):
    def __init__(self, say: Callable[[str], None], most: int) -> None:
        self._send = say
        self._remaining = most
        self._buffer: list[str] = []
        self._buffered_chars = 0
        self._pieces = 0
        self.is_truncated = False

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read-only here, as nobody can change it
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._remaining > 0 and text:
            self._buffer.append(text)
            self._buffered_chars += len(text)
            if self._buffered_chars >= self._remaining or "\n" in text:
                self.flush()
        elif text:
            self.is_truncated = True
        return len(text)

    def flush(self) -> None:
        if self._pieces < _UNBUFFERED_PIECES or self._buffered_chars >= min(_BUFFER_CHARS, self._remaining):
            self.flush_all()

    def flush_all(self) -> None:
        """All that is left, be it ever so little."""
        if not self._buffer:
            return
        text = "".join(self._buffer)
        self._buffer.clear()
        self._buffered_chars = 0
        encoded = text[: self._remaining + 1].encode("utf-8", "replace")
        if len(encoded) > self._remaining:
            self.is_truncated = True
        if shown := encoded[: self._remaining].decode("utf-8", "ignore"):
            self._pieces += 1
            self._send(shown)
        self._remaining -= len(encoded)
