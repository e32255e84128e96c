"""The standard output of a program: lines to the gateway, and nothing after the limit."""

import io
from collections.abc import Callable
from typing import Final

_LINES: Final = 1_000
"""Pieces that are told as they come, however short. Later ones are told together."""
_TOGETHER: Final = 1_024
"""Characters."""


def most_pieces(most: int) -> int:
    """In how many pieces so many bytes are told at most."""
    return _LINES + most // _TOGETHER + 2


class Output(io.TextIOBase):
    def __init__(self, say: Callable[[str], None], most: int) -> None:
        self._say = say
        self._left = most
        self._line: list[str] = []
        self._held = 0
        self._pieces = 0
        self.is_cut = False

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read-only here, as nobody can change it
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._left > 0 and text:
            self._line.append(text)
            self._held += len(text)
            if self._held >= self._left or "\n" in text:
                self.flush()
        elif text:
            self.is_cut = True
        return len(text)

    def flush(self) -> None:
        if self._pieces < _LINES or self._held >= min(_TOGETHER, self._left):
            self.pass_on()

    def pass_on(self) -> None:
        """All that is left, be it ever so little."""
        if not self._line:
            return
        text = "".join(self._line)
        self._line.clear()
        self._held = 0
        encoded = text[: self._left + 1].encode("utf-8", "replace")
        if len(encoded) > self._left:
            self.is_cut = True
        if shown := encoded[: self._left].decode("utf-8", "ignore"):
            self._pieces += 1
            self._say(shown)
        self._left -= len(encoded)
