"""The standard output of a program: lines to the gateway, and nothing after the limit."""

import io
from collections.abc import Callable


class Output(io.TextIOBase):
    def __init__(self, say: Callable[[str], None], most: int) -> None:
        self._say = say
        self._left = most
        self._line: list[str] = []
        self._held = 0
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
        if not self._line:
            return
        text = "".join(self._line)
        self._line.clear()
        self._held = 0
        encoded = text[: self._left + 1].encode("utf-8", "replace")
        if len(encoded) > self._left:
            self.is_cut = True
        if shown := encoded[: self._left].decode("utf-8", "ignore"):
            self._say(shown)
        self._left -= len(encoded)
