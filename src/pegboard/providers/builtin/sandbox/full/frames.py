"""What a jailed process says, read without trust: it may say anything at all, at any length."""

import json
import struct
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from pegboard.core.tool import Json

from .inside.counting import has_too_many_values

_HEADER: Final = struct.Struct("<I")


class _JailFrameBase(msgspec.Struct, tag_field="t", forbid_unknown_fields=True, frozen=True):
    pass


class JailReady(_JailFrameBase, tag="ready", frozen=True):
    """All walls that stand before a program comes are up."""


class JailFailure(_JailFrameBase, tag="broken", frozen=True):
    why: str


class JailOutput(_JailFrameBase, tag="print", frozen=True):
    s: str


class JailCall(_JailFrameBase, tag="call", frozen=True):
    n: int
    f: int
    a: dict[str, Any]


class JailErrorDetails(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    type: str
    message: str
    line: int | None = None


class JailResult(_JailFrameBase, tag="done", frozen=True):
    r: Any
    e: JailErrorDetails | None
    x: bool
    u: tuple[tuple[int, int], ...] = ()
    """Calls that were not made: the number of each function, and a line."""


JailFrame: TypeAlias = JailReady | JailFailure | JailOutput | JailCall | JailResult

_decoder: Final[msgspec.json.Decoder[JailFrame]] = msgspec.json.Decoder(JailFrame)


class JailProtocolError(Exception):
    """It said what no program of ours makes it say."""


class JailFrameReader:
    """Takes bytes as they come, and gives whole frames, unread. No frame may be longer than `most`."""

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length
        self._buffer = bytearray()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Raises `AstrayError`."""
        self._buffer += piece
        while len(self._buffer) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._buffer)
            if length > self.max_length:
                raise JailProtocolError(f"a frame of {length} bytes")
            end = _HEADER.size + length
            if len(self._buffer) < end:
                return
            body = bytes(memoryview(self._buffer)[_HEADER.size : end])
            del self._buffer[:end]
            yield body


def decode_frame(body: bytes) -> JailFrame:
    """In time that grows with its length. Raises `AstrayError`."""
    if has_too_many_values(body):
        raise JailProtocolError("more values than may leave the sandbox at once")
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise JailProtocolError(f"what is no frame: {error}") from error


def encode_frame(value: Json) -> bytes:
    """Raises `ValueError` or `RecursionError` for what is no JSON."""
    # Not by msgspec, which has no word for integers beyond 64 bits.
    body = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return _HEADER.pack(len(body)) + body
