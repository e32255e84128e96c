"""The body of an answer, no longer than it may be, also once it is unpacked.

A caller may name the address that is asked, so whoever answers is not trusted: a packed body of a few kilobytes can
hold gigabytes.
"""

import zlib
from typing import Final

import httpx2

from .seat import Seat
from .shares import LARGE

ENCODINGS: Final = "gzip, deflate"
"""What we say that we can unpack."""
_EITHER: Final = 32 + zlib.MAX_WBITS
"""With the head of gzip or of zlib, whichever it has."""
_BARE: Final = -zlib.MAX_WBITS
_MEMBER: Final = b"\x1f\x8b"
"""How a member of gzip begins. There may be several, one after the other."""


class TooLong(Exception):  # noqa: N818 - it is told to whoever called
    """More than was to be read."""


class Unreadable(Exception):  # noqa: N818 - it is told to whoever called
    """Packed in a way that nobody asked for, or badly."""


async def read(response: httpx2.Response, most: int, seat: Seat) -> bytes:
    """Raises `TooLong` and `Unreadable`, beside what the connection raises. What turns out large waits for a seat
    before any more of it is read."""
    packing = _packing(response.headers.get("content-encoding", ""))
    parts: list[bytes] = []
    left = most
    async for part in response.aiter_raw():
        if packing is not None:
            part = packing.unpacked(part, left)
        left -= len(part)
        if left < 0:
            raise TooLong
        parts.append(part)
        if most - left > LARGE:
            await seat.take()
    if packing is not None and not packing.is_whole:
        raise Unreadable("the answer is cut off in the middle")
    return b"".join(parts)


def _packing(encoding: str) -> "_Packing | None":
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _Packing()
        case _:
            raise Unreadable(f"the answer is packed as {encoding[:40]!r}, which was not asked for")


class _Packing:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_EITHER)
        self._begun = False
        self._beyond = b""
        """What follows the end of a member, until it is clear whether another one begins there."""

    @property
    def is_whole(self) -> bool:
        return self._stream.eof or not self._begun

    def unpacked(self, part: bytes, left: int) -> bytes:
        """What it holds, and at most one byte more than is left to be read."""
        found = bytearray()
        while True:
            if self._stream.eof:
                part, self._beyond = self._beyond + part, b""
                if len(part) < len(_MEMBER):
                    self._beyond = part
                    return bytes(found)
                if not part.startswith(_MEMBER):
                    return bytes(found)  # what some servers fill up with is nobody's to read
                self._stream = zlib.decompressobj(_EITHER)
            found += self._decompressed(part, left + 1 - len(found))
            part = self._stream.unused_data
            if not self._stream.eof or not part or len(found) > left:
                return bytes(found)

    def _decompressed(self, part: bytes, most: int) -> bytes:
        try:
            return self._stream.decompress(part, most)
        except zlib.error as problem:
            if self._begun:
                raise Unreadable(f"the answer cannot be unpacked: {problem}") from None
        finally:
            self._begun = True
        # Some servers send `deflate` without any head.
        self._stream = zlib.decompressobj(_BARE)
        try:
            return self._stream.decompress(part, most)
        except zlib.error as problem:
            raise Unreadable(f"the answer cannot be unpacked: {problem}") from None
