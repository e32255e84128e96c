"""The body of an answer, no longer than it may be, also once it is unpacked.

A caller may name the address that is asked, so whoever answers is not trusted: a packed body of a few kilobytes can
hold gigabytes.
"""

import zlib
from typing import Final

import httpx2

from .seat import LargeAnswerSlot
from .shares import LARGE_ANSWER_BYTES

ACCEPTED_ENCODINGS: Final = "gzip, deflate"
"""What we say that we can unpack."""
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
"""With the head of gzip or of zlib, whichever it has."""
_RAW_DEFLATE: Final = -zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
"""How a member of gzip begins. There may be several, one after the other."""


class ResponseTooLongError(Exception):
    """More than was to be read."""


class UndecodableBodyError(Exception):
    """Packed in a way that nobody asked for, or badly."""


async def read_body(response: httpx2.Response, most: int, seat: LargeAnswerSlot) -> bytes:
    """Raises `TooLong` and `Unreadable`, beside what the connection raises. What turns out large waits for a seat
    before any more of it is read."""
    packing = _decoder_for(response.headers.get("content-encoding", ""))
    parts: list[bytes] = []
    left = most
    async for part in response.aiter_raw():
        if packing is not None:
            part = packing.decode(part, left)
        left -= len(part)
        if left < 0:
            raise ResponseTooLongError
        parts.append(part)
        if most - left > LARGE_ANSWER_BYTES:
            await seat.acquire()
    if packing is not None and not packing.is_complete:
        raise UndecodableBodyError("the answer is cut off in the middle")
    return b"".join(parts)


def _decoder_for(encoding: str) -> "_BodyDecoder | None":
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _BodyDecoder()
        case _:
            raise UndecodableBodyError(f"the answer is packed as {encoding[:40]!r}, which was not asked for")


class _BodyDecoder:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._has_started = False
        self._trailing = b""
        """What follows the end of a member, until it is clear whether another one begins there."""

    @property
    def is_complete(self) -> bool:
        return self._stream.eof or not self._has_started

    def decode(self, part: bytes, left: int) -> bytes:
        """What it holds, and at most one byte more than is left to be read."""
        found = bytearray()
        while True:
            if self._stream.eof:
                part, self._trailing = self._trailing + part, b""
                if len(part) < len(_GZIP_MAGIC):
                    self._trailing = part
                    return bytes(found)
                if not part.startswith(_GZIP_MAGIC):
                    return bytes(found)  # what some servers fill up with is nobody's to read
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            found += self._decompress(part, left + 1 - len(found))
            part = self._stream.unused_data
            if not self._stream.eof or not part or len(found) > left:
                return bytes(found)

    def _decompress(self, part: bytes, most: int) -> bytes:
        try:
            return self._stream.decompress(part, most)
        except zlib.error as problem:
            if self._has_started:
                raise UndecodableBodyError(f"the answer cannot be unpacked: {problem}") from None
        finally:
            self._has_started = True
        # Some servers send `deflate` without any head.
        self._stream = zlib.decompressobj(_RAW_DEFLATE)
        try:
            return self._stream.decompress(part, most)
        except zlib.error as problem:
            raise UndecodableBodyError(f"the answer cannot be unpacked: {problem}") from None
