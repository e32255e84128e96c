"""The body of an answer, no longer than it may be, also once it is unpacked.

A caller may name the address that is asked, so whoever answers is not trusted: a packed body of a few kilobytes can
hold gigabytes.
"""

import zlib
from collections.abc import Callable
from typing import Final

import httpx2

ENCODINGS: Final = "gzip, deflate"
"""What we say that we can unpack."""
_EITHER: Final = 32 + zlib.MAX_WBITS
"""With the head of gzip or of zlib, whichever it has."""
_BARE: Final = -zlib.MAX_WBITS


class TooLong(Exception):  # noqa: N818 - it is told to whoever called
    """More than was to be read."""


class Unreadable(Exception):  # noqa: N818 - it is told to whoever called
    """Packed in a way that nobody asked for, or badly."""


async def read(response: httpx2.Response, most: int) -> bytes:
    """Raises `TooLong` and `Unreadable`, beside what the connection raises."""
    unpack = _unpacker(response.headers.get("content-encoding", ""))
    parts: list[bytes] = []
    left = most
    async for packed in response.aiter_raw():
        part = unpack(packed, left)
        left -= len(part)
        if left < 0:
            raise TooLong
        parts.append(part)
    return b"".join(parts)


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """Of each part of a body, what it holds, and at most one byte more than is left to be read."""
    match encoding.strip().lower():
        case "" | "identity":
            return lambda part, left: part
        case "gzip" | "x-gzip" | "deflate":
            return _Unpacker()
        case _:
            raise Unreadable(f"the answer is packed as {encoding[:40]!r}, which was not asked for")


class _Unpacker:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_EITHER)
        self._begun = False

    def __call__(self, part: bytes, left: int) -> bytes:
        try:
            return self._stream.decompress(part, left + 1)
        except zlib.error as problem:
            if self._begun:
                raise Unreadable(f"the answer cannot be unpacked: {problem}") from None
        finally:
            self._begun = True
        # Some servers send `deflate` without any head.
        self._stream = zlib.decompressobj(_BARE)
        try:
            return self._stream.decompress(part, left + 1)
        except zlib.error as problem:
            raise Unreadable(f"the answer cannot be unpacked: {problem}") from None
