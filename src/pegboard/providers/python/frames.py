"""What the gateway and a worker say to each other: frames over two pipes. Both sides import this and nothing else of
each other."""

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, TypeAlias


class Kind(IntEnum):
    # To the worker.
    SETUP = 1
    """JSON: what it serves, with what. The first frame, once."""
    CALL = 2
    """Two bytes that say which tool, and the arguments as JSON."""
    CANCEL = 3
    # From the worker.
    READY = 4
    """JSON: its tools, in the order of the setup."""
    BROKEN = 5
    """JSON: why it cannot serve them. It ends then."""
    RESULT = 6
    """The protocol's result object of a call that went well, as JSON."""
    FAILED = 7
    """The same of one that did not; empty when it was given up and nobody wants to know."""
    PROGRESS = 8
    """JSON: done, of how much, in words."""
    LOG = 9
    """JSON: level and message."""
    WORN = 10
    """The worker ran out of memory: it answers what it has, and takes no more."""


Frame: TypeAlias = tuple[int, int, bytes]
"""Kind, number of the call, body."""

HEAD: Final = struct.Struct("<IBI")
TOOL: Final = struct.Struct("<H")
MOST_BODY: Final = 256 * 1024 * 1024
"""Bytes. What is longer is no frame of ours, but a worker gone astray."""
MOST_RESULT: Final = 64 * 1024 * 1024


class AstrayError(ValueError):
    """Bytes that are no frames."""


def frame(kind: Kind, number: int, body: bytes) -> bytes:
    return HEAD.pack(len(body), kind, number) + body


class Frames:
    """Takes bytes as they come, and gives whole frames. Linear in what it is fed, however it is cut."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []
        self._have = 0
        self._need = HEAD.size

    def feed(self, chunk: bytes) -> Sequence[Frame]:
        """Raises `AstrayError`."""
        if self._unfinished:
            self._unfinished.append(chunk)
            self._have += len(chunk)
            if self._have < self._need:
                return ()
            chunk = b"".join(self._unfinished)
            self._unfinished = []
        found: list[Frame] = []
        place, end, size = 0, len(chunk), HEAD.size
        need = size
        while end - place >= size:
            length, kind, number = HEAD.unpack_from(chunk, place)
            if length > MOST_BODY or not 1 <= kind <= Kind.WORN:
                raise AstrayError
            after = place + size + length
            if after > end:
                need = size + length
                break
            found.append((kind, number, chunk[place + size : after]))
            place = after
        if place < end:
            rest = chunk[place:]
            self._unfinished, self._have, self._need = [rest], len(rest), need
        return found
