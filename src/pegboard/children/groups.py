"""A child with all that it started: what it gets of our descriptors, and its end."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final, Protocol

import anyio

from . import orphans

_POLL: Final = 0.02
_LAST_OF_ALL: Final = 2
"""Input, output and errors: the descriptors that every process has."""


class Child(Protocol):
    """A process of ours that leads a group of its own."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def terminate(self) -> None: ...


def keep_descriptors() -> None:
    """What this process was started with is not for its children: uvloop passes on all that may be inherited."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            for name in os.listdir(folder):
                if int(name) > _LAST_OF_ALL:
                    with suppress(OSError):  # the one that the folder was read by is gone already
                        os.set_inheritable(int(name), False)
            return


async def stop(process: Child, end_input: Callable[[], Awaitable[None]], within: float) -> None:
    """The end of its input first, then a request to end, then force; each for its share of the time.

    Whoever is left of its group goes too, even when the process itself left politely.
    """
    try:
        await _stop(process, end_input, within)
    finally:
        if process.returncode is not None and not _group_lives(process.pid):
            orphans.release(process.pid)


async def _stop(process: Child, end_input: Callable[[], Awaitable[None]], within: float) -> None:
    strays = set(_strays(process.pid))
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await end_input()
    share = within * 0.4
    if await _gone(process, strays, share):
        return
    strays |= set(_strays(process.pid))
    _signal(process, strays, signal.SIGTERM)
    if await _gone(process, strays, share):
        return
    strays |= set(_strays(process.pid))
    _signal(process, strays, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    await _gone(process, strays, within - 2 * share)


async def _gone(process: Child, strays: Iterable[tuple[int, str]], within: float) -> bool:
    """Whether all of it has ended in time: the process, its group, and those who left the group."""
    with anyio.move_on_after(within):
        # Asking is the only way: no event tells that a group or a process that is not our child has ended.
        while process.returncode is None or _group_lives(process.pid) or any(map(_lives, strays)):  # noqa: ASYNC110 - see above
            await anyio.sleep(_POLL)
        return True
    return False


def _signal(process: Child, strays: Iterable[tuple[int, str]], number: signal.Signals) -> None:
    if sys.platform == "win32":
        if process.returncode is None:
            process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
    for stray in strays:
        if _lives(stray):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(stray[0], number)


def _group_lives(group: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # The dead that nobody has reaped still answer: in a container without an init they do so for ever.
    running = _processes()
    return not running or any(read is not None and read[1] == group for read in map(_stat, running))


def _strays(ancestor: int) -> Iterator[tuple[int, str]]:
    """Descendants that left the group, as browsers do that a server starts: each with the moment it began.

    Only where `/proc` tells who descends from whom. The moment keeps us from ending a stranger that got the number.
    """
    parents: dict[int, list[tuple[int, int, str]]] = {}
    for entry in _processes():
        if (read := _stat(entry)) is not None:
            parent, group, began = read
            parents.setdefault(parent, []).append((entry, group, began))
    known = [ancestor]
    while known:
        for child, group, began in parents.get(known.pop(), ()):
            known.append(child)
            if group != ancestor:
                yield child, began


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _stat(process: int) -> tuple[int, int, str] | None:
    """Parent, group and start of a process that runs; None for one that has ended, reaped or not."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
            # The name in parentheses may itself hold parentheses and spaces.
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else (int(fields[1]), int(fields[2]), fields[19])


def _lives(stray: tuple[int, str]) -> bool:
    read = _stat(stray[0])
    return read is not None and read[2] == stray[1]
