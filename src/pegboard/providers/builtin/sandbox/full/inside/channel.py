"""What is said to the gateway and heard from it: frames over two pipes, each with its length before it."""

import json
import os
import select
import struct
from typing import Any, Final

from .counting import MOST_VALUES, holds_too_much

_HEAD: Final = struct.Struct("<I")
_PIECE: Final = 65_536
_encode: Final = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
_decode: Final = json.JSONDecoder().decode
"""Held here, so that a program which changes the module `json` still ends with an answer."""


class Channel:
    def __init__(self, hears: int, says: int) -> None:
        self._hears = hears
        self._says = says
        self._poll = select.poll()
        self._poll.register(hears, select.POLLIN)
        self._unread = bytearray()
        self.most = _PIECE
        """Bytes of a frame that the gateway takes."""

    def say(self, **frame: object) -> None:
        """Raises `TypeError` for what holds too much to be taken."""
        body = _encode(frame).encode()
        if len(body) > self.most:
            raise TypeError(
                f"More than {self.most:,} bytes of JSON would leave the sandbox together: send less at a time."
            )
        if holds_too_much(body):
            raise TypeError(f"More than {MOST_VALUES:,} values would leave the sandbox together: send less at a time.")
        left = memoryview(_HEAD.pack(len(body)) + body)
        while left:
            left = left[os.write(self._says, left) :]

    def hear(self, seconds: float | None) -> list[dict[str, Any]]:
        """The frames that have come, waiting so long for the first; `EOFError` when nobody is there any more."""
        if not self._poll.poll(None if seconds is None else max(0, seconds * 1_000)):
            return []
        if not (piece := os.read(self._hears, _PIECE)):
            raise EOFError
        self._unread += piece
        frames = []
        while len(self._unread) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._unread)
            if len(self._unread) < _HEAD.size + length:
                break
            frames.append(_decode(self._unread[_HEAD.size : _HEAD.size + length].decode()))
            del self._unread[: _HEAD.size + length]
        return frames

    def first(self) -> dict[str, Any]:
        while not (frames := self.hear(None)):
            pass
        return frames[0]
