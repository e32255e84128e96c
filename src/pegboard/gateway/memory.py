"""Memory that was only needed for a moment: given back to the system, because the C library keeps it otherwise."""

import gc
from typing import Final

import anyio
import anyio.to_thread

from pegboard.memory import large_value_count, memory_trimmer

from .board import BoardState

SETTLE_S: Final = 2.0
"""Seconds from a change to when it is looked at: a list of tools is followed by its approvals."""

MANY_TOOLS: Final = 500
"""Tools more or less than before. Reading a list takes several times the memory that the list has."""

LARGE_VALUE_POLL_S: Final = 10.0
"""Seconds from one look to the next at whether a large message was read, which no board tells of."""


YOUNG_OBJECTS: Final = 50_000
"""Objects after which those made last are looked through for rings. A call makes some dozens, and lets go of them."""


def freeze_startup_objects() -> None:
    """For a process that now begins its long work: what is there stays, and is not looked through again and again.

    What the start alone needed goes back to the system.
    """
    gc.collect()
    if give_back := memory_trimmer():
        give_back()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 10, 10)


async def trim_memory(board: BoardState) -> None:
    """After each change of many tools, and after large messages. In a thread, because it takes some milliseconds."""
    give_back = memory_trimmer()
    if give_back is None:
        return
    known, read = 0, large_value_count()
    with board.changes.subscribe() as bell:
        while True:
            with anyio.move_on_after(LARGE_VALUE_POLL_S):
                await bell.wait()
            await anyio.sleep(SETTLE_S)
            if abs((now := len(board.catalogue.tools)) - known) >= MANY_TOOLS or large_value_count() != read:
                read, known = large_value_count(), now
                await anyio.to_thread.run_sync(give_back)
