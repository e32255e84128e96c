"""What the gateway and a worker say to each other: frames over two pipes. Both sides import this and nothing else of
each other.
"""

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, TypeAlias


class WorkerFrameKind(IntEnum):
    # To the worker.
    SETUP = 1
    """JSON: what it serves, with what. The first frame, once."""
    CALL = 2
    """Two bytes that say which tool, and the arguments as JSON."""
    CANCEL = 3
    # From the worker.
    READY = 4
    """JSON: its tools, in the order of the setup."""
    LOAD_FAILED = 5
    """JSON: why it cannot serve them. It ends then."""
    RESULT = 6
    """The protocol's result object of a call that went well, as JSON."""
    CALL_FAILED = 7
    """The same of one that did not; empty when it was given up and nobody wants to know."""
    PROGRESS = 8
    """JSON: done, of how much, in words."""
    LOG = 9
    """JSON: level and message."""
    OUT_OF_MEMORY = 10
    """The worker ran out of memory: it answers what it has, and takes no more."""


Frame: TypeAlias = tuple[int, int, bytes]
"""Kind, number of the call, body."""

FRAME_HEADER: Final = struct.Struct("<IBI")
TOOL_INDEX: Final = struct.Struct("<H")
MAX_BODY_BYTES: Final = 256 * 1024 * 1024
"""Bytes. What is longer is no frame of ours, but a worker gone astray."""
MAX_RESULT_BYTES: Final = 64 * 1024 * 1024


class WorkerFrameError(ValueError):
    """Bytes that are no frames."""


def encode_frame(kind: WorkerFrameKind, number: int, body: bytes) -> bytes:
    return FRAME_HEADER.pack(len(body), kind, number) + body


class WorkerFrameReader:
    """Takes bytes as they come, and gives whole frames. Linear in what it is fed, however it is cut."""

    def __init__(self) -> None:
        self._partial_chunks: list[bytes] = []
        self._received_bytes = 0
        self._needed_bytes = FRAME_HEADER.size

    def feed(self, chunk: bytes) -> Sequence[Frame]:
        """Raises `AstrayError`."""
        if self._partial_chunks:
            self._partial_chunks.append(chunk)
            self._received_bytes += len(chunk)
            if self._received_bytes < self._needed_bytes:
                return ()
            chunk = b"".join(self._partial_chunks)
            self._partial_chunks = []
        found: list[Frame] = []
        place, end, size = 0, len(chunk), FRAME_HEADER.size
        need = size
        while end - place >= size:
            length, kind, number = FRAME_HEADER.unpack_from(chunk, place)
            if length > MAX_BODY_BYTES or not 1 <= kind <= WorkerFrameKind.OUT_OF_MEMORY:
                raise WorkerFrameError
            after = place + size + length
            if after > end:
                need = size + length
                break
            found.append((kind, number, chunk[place + size : after]))
            place = after
        if place < end:
            rest = chunk[place:]
            self._partial_chunks, self._received_bytes, self._needed_bytes = [rest], len(rest), need
        return found
