"""A suspended run as bytes: what the worker said of the program, and what we know of its calls.

The digest tells what was damaged. It says nothing about who wrote it: whoever keeps a state signs it.
"""

import hashlib
from typing import Any, Final

import msgspec

from pegboard.ports.sandbox import InvalidRunStateError

_MAGIC: Final = b"pegboard run 1\n"


class OpenCall(msgspec.Struct, frozen=True, array_like=True):
    """A call that the program has made and that waits for a person."""

    id: int
    """The worker's own number for it."""
    ordinal: int
    function: int
    """Which of the functions."""
    arguments: dict[str, Any]
    ticket: str


class MontyState(msgspec.Struct, frozen=True, array_like=True):
    sandbox: str
    """Its name and version. No other can read what follows."""
    dump: bytes
    functions: list[tuple[str, str, list[str]]]
    text: str
    """The program as the worker has it."""
    line_offset: int
    """Lines that stand before the program's own."""
    ordinal: int
    """Of the last call that was said."""
    open_calls: list[OpenCall]
    stdout: str
    truncated: bool
    elapsed_seconds: float
    """Seconds of the wall clock."""
    slept_seconds: float


def pack_state(state: MontyState) -> bytes:
    body = msgspec.msgpack.encode(state)
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack_state(state: bytes, sandbox: str) -> MontyState:
    digest, body = state[len(_MAGIC) : len(_MAGIC) + 32], state[len(_MAGIC) + 32 :]
    if not state.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        raise InvalidRunStateError(
            "This is not the state of a suspended run, or it was damaged. Run the program again."
        )
    try:
        read = msgspec.msgpack.decode(body, type=MontyState)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidRunStateError("The state of this suspended run cannot be read. Run the program again.") from None
    if read.sandbox != sandbox:
        raise InvalidRunStateError(
            f"The run was suspended by {read.sandbox!r}, and this is {sandbox!r}. Run the program again."
        )
    return read
