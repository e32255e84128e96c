"""What is said to the gateway and heard from it: frames over two pipes, each with its length before it."""

import json
import os
import select
import struct
from typing import Any, Final

# How many values a JSON text holds, told without making a single one of them.
#
# A few bytes of text can become many of memory: two brackets are an object of sixty. Whoever reads a text of a
# stranger
# counts first.

MAX_VALUES: Final = 200_000
UNCOUNTED_BYTES: Final = 65_536
"""Bytes of text that need no counting."""


def has_too_many_values(text: bytes) -> bool:
    """In pieces, so that whoever counts in a thread keeps nobody else waiting."""
    if len(text) <= UNCOUNTED_BYTES:
        return False
    values = start = 0
    is_text = False
    while start < len(text):
        piece = text[start : start + UNCOUNTED_BYTES]
        if start + UNCOUNTED_BYTES < len(text) and (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = piece[:-1]  # what is escaped comes with the next piece, and so does what escapes it
        start += len(piece)
        parts = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        bare = b"".join(parts[is_text::2])
        is_text ^= len(parts) % 2 == 0
        values += bare.count(b",") + bare.count(b"[") + bare.count(b"{")
        if values > MAX_VALUES:
            return True
    return False


_HEADER: Final = struct.Struct("<I")
_READ_BYTES: Final = 65_536
_encode: Final = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
_decode: Final = json.JSONDecoder().decode
"""Held here, so that a program which changes the module `json` still ends with an answer."""


class JailChannel:
    def __init__(self, hears: int, says: int) -> None:
        self._input_fd = hears
        self._output_fd = says
        self._poll = select.poll()
        self._poll.register(hears, select.POLLIN)
        self._buffer = bytearray()
        self.max_frame_bytes = _READ_BYTES
        """Bytes of a frame that the gateway takes."""

    def send(self, **frame: object) -> None:
        """Raises `TypeError` for what holds too much to be taken."""
        body = _encode(frame).encode()
        if len(body) > self.max_frame_bytes:
            raise TypeError(
                f"More than {self.max_frame_bytes:,} bytes of JSON would leave the sandbox together: send less at a "
                "time."
            )
        if has_too_many_values(body):
            raise TypeError(f"More than {MAX_VALUES:,} values would leave the sandbox together: send less at a time.")
        left = memoryview(_HEADER.pack(len(body)) + body)
        while left:
            left = left[os.write(self._output_fd, left) :]

    def receive(self, seconds: float | None) -> list[dict[str, Any]]:
        """The frames that have come, waiting so long for the first; `EOFError` when nobody is there any more."""
        if not self._poll.poll(None if seconds is None else max(0, seconds * 1_000)):
            return []
        if not (piece := os.read(self._input_fd, _READ_BYTES)):
            raise EOFError
        self._buffer += piece
        frames = []
        while len(self._buffer) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._buffer)
            if len(self._buffer) < _HEADER.size + length:
                break
            frames.append(_decode(self._buffer[_HEADER.size : _HEADER.size + length].decode()))
            del self._buffer[: _HEADER.size + length]
        return frames

    def receive_first(self) -> dict[str, Any]:
        while not (frames := self.receive(None)):
            pass
        return frames[0]
