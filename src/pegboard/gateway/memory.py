"""Memory that was only needed for a moment: given back to the system, because the C library keeps it otherwise."""

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
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


class _Pauses:
    """How many want no look for rings just now."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._looks = False

    def begin(self) -> None:
        with self._lock:
            if not self._count:
                self._looks = gc.isenabled()
                gc.disable()
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count and self._looks:
                gc.enable()


_PAUSES: Final = _Pauses()


@contextmanager
def undisturbed() -> Iterator[None]:
    """For building one large value that has no rings: to look for some in what is there already, again and again while
    it grows, takes ten times as long as building it, and nobody else gets on meanwhile."""
    _PAUSES.begin()
    try:
        yield
    finally:
        _PAUSES.end()


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
