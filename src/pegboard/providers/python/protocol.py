"""What the gateway and a worker say to each other: frames over two pipes. Both sides import this and nothing else of
each other.
"""

import struct
from enum import IntEnum
from typing import Final


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


FRAME_HEADER: Final = struct.Struct("<IBI")
"""The length of the body, its kind, and the number of the call."""
TOOL_INDEX: Final = struct.Struct("<H")
MAX_BODY_BYTES: Final = 256 * 1024 * 1024
"""What is longer is no frame of ours, but a worker gone astray."""
MAX_RESULT_BYTES: Final = 64 * 1024 * 1024


def encode_frame(kind: WorkerFrameKind, number: int, body: bytes) -> bytes:
    return FRAME_HEADER.pack(len(body), kind, number) + body
