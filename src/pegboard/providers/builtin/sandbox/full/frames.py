"""What a jailed process says, read without trust: it may say anything at all, at any length."""

import json
import struct
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from pegboard.core.tool import Json

from .inside.counting import holds_too_much

_HEAD: Final = struct.Struct("<I")


class _Frame(msgspec.Struct, tag_field="t", forbid_unknown_fields=True, frozen=True):
    pass


class Ready(_Frame, tag="ready", frozen=True):
    """All walls that stand before a program comes are up."""


class Broken(_Frame, tag="broken", frozen=True):
    why: str


class Printed(_Frame, tag="print", frozen=True):
    s: str


class Called(_Frame, tag="call", frozen=True):
    n: int
    f: int
    a: dict[str, Any]


class Fell(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    type: str
    message: str
    line: int | None = None


class Done(_Frame, tag="done", frozen=True):
    r: Any
    e: Fell | None
    x: bool
    u: tuple[tuple[int, int], ...] = ()
    """Calls that were not made: the number of each function, and a line."""


Frame: TypeAlias = Ready | Broken | Printed | Called | Done

_decoder: Final[msgspec.json.Decoder[Frame]] = msgspec.json.Decoder(Frame)


class AstrayError(Exception):
    """It said what no program of ours makes it say."""


class Frames:
    """Takes bytes as they come, and gives whole frames, unread. No frame may be longer than `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._unread = bytearray()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Raises `AstrayError`."""
        self._unread += piece
        while len(self._unread) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._unread)
            if length > self.most:
                raise AstrayError(f"a frame of {length} bytes")
            end = _HEAD.size + length
            if len(self._unread) < end:
                return
            body = bytes(memoryview(self._unread)[_HEAD.size : end])
            del self._unread[:end]
            yield body


def read(body: bytes) -> Frame:
    """In time that grows with its length. Raises `AstrayError`."""
    if holds_too_much(body):
        raise AstrayError("more values than may leave the sandbox at once")
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise AstrayError(f"what is no frame: {error}") from error


def framed(value: Json) -> bytes:
    """Raises `ValueError` or `RecursionError` for what is no JSON."""
    # Not by msgspec, which has no word for integers beyond 64 bits.
    body = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return _HEAD.pack(len(body)) + body
