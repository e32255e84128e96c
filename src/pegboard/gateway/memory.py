"""Memory that was only needed for a moment: given back to the system, because the C library keeps it otherwise."""

import ctypes
import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread

from .board import Board

SETTLE: Final = 2.0
"""Seconds from a change to when it is looked at: a list of tools is followed by its approvals."""

MANY: Final = 500
"""Tools more or less than before. Reading a list takes several times the memory that the list has."""


YOUNG: Final = 50_000
"""Objects after which those made last are looked through for rings. A call makes some dozens, and lets go of them."""


def settle_in() -> None:
    """For a process that now begins its long work: what is there stays, and is not looked through again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)


def trim() -> Callable[[], None] | None:
    """What makes the C library give back what it holds; only one of them has such a thing."""
    with suppress(OSError, AttributeError):
        give_back = ctypes.CDLL(None).malloc_trim
        return lambda: give_back(0)
    return None


async def keep_small(board: Board) -> None:
    """After each change of many tools. In a thread, because it takes some milliseconds."""
    give_back = trim()
    if give_back is None:
        return
    known = 0
    with board.changed.listen() as bell:
        while True:
            await bell.wait()
            await anyio.sleep(SETTLE)
            if abs((now := len(board.catalogue.tools)) - known) >= MANY:
                await anyio.to_thread.run_sync(give_back)
                known = now
