"""A child with all that it started: what it gets of our descriptors, and its end."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final, Protocol

import anyio

from . import orphans

_POLL_INTERVAL_S: Final = 0.02
_LAST_STANDARD_DESCRIPTOR: Final = 2
"""Input, output and errors: the descriptors that every process has."""


class GroupLeader(Protocol):
    """A process of ours that leads a group of its own."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def terminate(self) -> None: ...


def prevent_descriptor_inheritance() -> None:
    """What this process was started with is not for its children: uvloop passes on all that may be inherited."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            for name in os.listdir(folder):
                if int(name) > _LAST_STANDARD_DESCRIPTOR:
                    with suppress(OSError):  # the one that the folder was read by is gone already
                        os.set_inheritable(int(name), False)
            return


async def stop_process_group(process: GroupLeader, end_input: Callable[[], Awaitable[None]], within: float) -> None:
    """The end of its input first, then a request to end, then force; each for its share of the time.

    Whoever is left of its group goes too, even when the process itself left politely.
    """
    try:
        await _stop_in_steps(process, end_input, within)
    finally:
        if process.returncode is not None and not _is_group_alive(process.pid):
            orphans.release_group(process.pid)


async def _stop_in_steps(process: GroupLeader, end_input: Callable[[], Awaitable[None]], within: float) -> None:
    strays = set(_escaped_descendants(process.pid))
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await end_input()
    share = within * 0.4
    if await _wait_until_gone(process, strays, share):
        return
    strays |= set(_escaped_descendants(process.pid))
    _send_signal(process, strays, signal.SIGTERM)
    if await _wait_until_gone(process, strays, share):
        return
    strays |= set(_escaped_descendants(process.pid))
    _send_signal(process, strays, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    await _wait_until_gone(process, strays, within - 2 * share)


async def _wait_until_gone(process: GroupLeader, strays: Iterable[tuple[int, str]], within: float) -> bool:
    """Whether all of it has ended in time: the process, its group, and those who left the group."""
    with anyio.move_on_after(within):
        # Asking is the only way: no event tells that a group or a process that is not our child has ended.
        while process.returncode is None or _is_group_alive(process.pid) or any(map(_is_alive, strays)):  # noqa: ASYNC110 - see above
            await anyio.sleep(_POLL_INTERVAL_S)
        return True
    return False


def _send_signal(process: GroupLeader, strays: Iterable[tuple[int, str]], number: signal.Signals) -> None:
    if sys.platform == "win32":
        if process.returncode is None:
            process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
    for stray in strays:
        if _is_alive(stray):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(stray[0], number)


def _is_group_alive(group: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # The dead that nobody has reaped still answer: in a container without an init they do so for ever.
    running = _process_ids()
    return not running or any(read is not None and read[1] == group for read in map(_process_stat, running))


def _escaped_descendants(ancestor: int) -> Iterator[tuple[int, str]]:
    """Descendants that left the group, as browsers do that a server starts: each with the moment it began.

    Only where `/proc` tells who descends from whom. The moment keeps us from ending a stranger that got the number.
    """
    parents: dict[int, list[tuple[int, int, str]]] = {}
    for entry in _process_ids():
        if (read := _process_stat(entry)) is not None:
            parent, group, began = read
            parents.setdefault(parent, []).append((entry, group, began))
    known = [ancestor]
    while known:
        for child, group, began in parents.get(known.pop(), ()):
            known.append(child)
            if group != ancestor:
                yield child, began


def _process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _process_stat(process: int) -> tuple[int, int, str] | None:
    """Parent, group and start of a process that runs; None for one that has ended, reaped or not."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
            # The name in parentheses may itself hold parentheses and spaces.
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else (int(fields[1]), int(fields[2]), fields[19])


def _is_alive(stray: tuple[int, str]) -> bool:
    read = _process_stat(stray[0])
    return read is not None and read[2] == stray[1]
