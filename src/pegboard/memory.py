"""Memory that is needed for a moment: no look for garbage while a large value grows, and what is free given back.

The C library keeps what is free otherwise, and a look for rings in what is there already, again and again while a value
grows, takes ten times as long as building it.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final


class _GarbagePauses:
    """How many want no look for rings just now, in whichever threads, and how many did so far."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._was_enabled = False
        self.ended_count = 0

    def begin(self) -> None:
        with self._lock:
            if not self._count:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            self.ended_count += 1
            if not self._count and self._was_enabled:
                gc.enable()


_PAUSES: Final = _GarbagePauses()


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """For building one large value that has no rings: nobody else gets on while they are looked for."""
    _PAUSES.begin()
    try:
        yield
    finally:
        _PAUSES.end()


def large_value_count() -> int:
    """How many were built so far: a mark to compare with a later one."""
    return _PAUSES.ended_count


_ARENA_MAX: Final = -8
_MMAP_THRESHOLD: Final = -3
_SETTINGS: Final = ((_ARENA_MAX, 2), (_MMAP_THRESHOLD, 1 << 20))
"""By the C library's own numbers. What is larger than a megabyte lies by itself, and goes when it is let go of."""
_ALLOCATOR_VARIABLES: Final = ("MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def share_arenas() -> bool:
    """For a process of ours, before it has threads: they take memory from the same few places.

    Otherwise the C library makes up to eight for each processor and keeps in each the most that it ever held, so that
    a process grows for hours by values that are long gone. Whoever runs the process may have chosen otherwise.
    """
    if sys.platform != "linux" or any(name in os.environ for name in _ALLOCATOR_VARIABLES):
        return False
    try:
        choose = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(choose(setting, value) for setting, value in _SETTINGS)


def memory_trimmer() -> Callable[[], None] | None:
    """What makes the C library give back what it holds; only one of them has such a thing."""
    with suppress(OSError, AttributeError):
        give_back = ctypes.CDLL(None).malloc_trim
        return lambda: give_back(0)
    return None
