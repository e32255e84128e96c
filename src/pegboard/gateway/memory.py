"""Memory that was only needed for a moment: given back to the system, because the C library keeps it otherwise."""

import gc
from typing import Final

import anyio
import anyio.to_thread

from pegboard.memory import large_values, trim

from .board import Board

SETTLE: Final = 2.0
"""Seconds from a change to when it is looked at: a list of tools is followed by its approvals."""

MANY: Final = 500
"""Tools more or less than before. Reading a list takes several times the memory that the list has."""

AFTERWARDS: Final = 10.0
"""Seconds from one look to the next at whether a large message was read, which no board tells of."""


YOUNG: Final = 50_000
"""Objects after which those made last are looked through for rings. A call makes some dozens, and lets go of them."""


def settle_in() -> None:
    """For a process that now begins its long work: what is there stays, and is not looked through again and again.

    What the start alone needed goes back to the system.
    """
    gc.collect()
    if give_back := trim():
        give_back()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)


async def keep_small(board: Board) -> None:
    """After each change of many tools, and after large messages. In a thread, because it takes some milliseconds."""
    give_back = trim()
    if give_back is None:
        return
    known, read = 0, large_values()
    with board.changed.listen() as bell:
        while True:
            with anyio.move_on_after(AFTERWARDS):
                await bell.wait()
            await anyio.sleep(SETTLE)
            if abs((now := len(board.catalogue.tools)) - known) >= MANY or large_values() != read:
                read, known = large_values(), now
                await anyio.to_thread.run_sync(give_back)
