"""Frames over a pipe: a head of fixed size, whose first field is the length of the body that follows.

Both ends read them by this, so it imports next to nothing.
"""

import os
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, TypeAlias

Frame: TypeAlias = tuple[tuple[int, ...], bytes]
"""What its head says beside the length, and its body."""


class FrameError(ValueError):
    """Bytes that are no frame of ours."""


class FrameReader:
    """Takes bytes as they come, and gives whole frames. Linear in what it is fed, however it is cut."""

    def __init__(self, head: struct.Struct, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        """Of a body. A longer one is refused before it is waited for."""
        self._head: Final = head
        self._buffer = bytearray()
        self._needed_bytes = head.size

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """To be taken to its end. Raises `FrameError` behind the frames that came before."""
        if self._buffer:
            self._buffer += chunk
            if len(self._buffer) < self._needed_bytes:
                return
            chunk = bytes(self._buffer)
            self._buffer.clear()
        place, end, size = 0, len(chunk), self._head.size
        self._needed_bytes = size
        while end - place >= size:
            length, *others = self._head.unpack_from(chunk, place)
            if length > self.max_bytes:
                raise FrameError(f"a frame of {length} bytes")
            after = place + size + length
            if after > end:
                self._needed_bytes = size + length
                break
            yield tuple(others), chunk[place + size : after]
            place = after
        self._buffer += chunk[place:]


# The worker's own side, before it runs anything that is not ours.


def take_pipes() -> tuple[int, int]:
    """Descriptors of input and output that are its frames' alone: whatever else reads finds nothing, and what is
    printed goes where errors go."""
    incoming, outgoing = os.dup(0), os.dup(1)
    if sys.platform != "win32":
        for pipe in (incoming, outgoing):
            os.set_blocking(pipe, True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]  # they are files
    return incoming, outgoing


def limit_resources(limits: Iterable[tuple[str, int]]) -> None:
    """By the kernel: names of `resource` such as `RLIMIT_DATA`, and how much there may be of each; and no core dumps.
    Not every system can set each of them."""
    with suppress(ImportError):
        import resource

        for name, most in (*limits, ("RLIMIT_CORE", 0)):
            with suppress(AttributeError, ValueError, OSError):
                number = getattr(resource, name)
                _, hard = resource.getrlimit(number)
                least = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(number, (least, least))
