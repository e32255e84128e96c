"""A program with three pipes to it, started alike on every event loop.

Not by the loop: uvloop leaves a second copy of each pipe in the child, so that a program which closes its output still
seems to have it open, and each pipe is a socket there, which no program can open as `/dev/stderr`.
"""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Final, Protocol

from . import orphans

_PIECE: Final = 65_536
_ROOM: Final = 262_144
"""Bytes that a program may have written before we read them: with fewer, a large answer takes more turns."""


class Child(Protocol):
    """What `asyncio` shows of a process of its own, and no more than is used here."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stdin(self) -> asyncio.StreamWriter | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    @property
    def stderr(self) -> asyncio.StreamReader | None: ...
    async def wait(self) -> int: ...
    def terminate(self) -> None: ...


async def born(
    words: Sequence[str], environment: Mapping[str, str], folder: str | None, lent: Sequence[int] = ()
) -> Child:
    """In a session of its own; `groups.stop` ends it. `lent` are descriptors of ours that it gets, under their numbers;
    not on Windows. Raises `OSError` and `ValueError` as `subprocess` does."""
    if sys.platform == "win32":
        pipe = subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *words, env=environment, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe
        )
    process = _spawn(words, environment, folder, lent)
    orphans.watch(process.pid)
    child = _Started(process)
    try:
        await child.connect()
    except BaseException:
        process.kill()
        child.close()
        orphans.release(process.pid)
        raise
    return child


def let_go(child: Child) -> None:
    """Close our ends of the pipes, whatever is unread or unsent."""
    if isinstance(child, _Started):
        child.close()


async def piece(stream: asyncio.StreamReader) -> bytes:
    """What has come since; empty at the end."""
    return await stream.read(_PIECE)


def _spawn(
    words: Sequence[str], environment: Mapping[str, str], folder: str | None, lent: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Within a millisecond or two: nothing of this process is copied for it."""
    return subprocess.Popen(  # noqa: S603 - to run what the settings name is what a server's declaration is for
        words,
        bufsize=0,
        env=environment,
        cwd=folder,
        start_new_session=True,
        pass_fds=lent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class _Started:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._ended = asyncio.Event()
        self._closes: list[Callable[[], None]] = []
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._reap_when_ended()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def connect(self) -> None:
        stdin, stdout, stderr = self._pipes()
        loop = asyncio.get_running_loop()
        if sys.platform == "linux":
            import fcntl

            with suppress(OSError):
                fcntl.fcntl(stdout, fcntl.F_SETPIPE_SZ, _ROOM)
        # Made for a reader too, because it is the one public protocol that can tell a writer when there is room.
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), loop=loop)
        transport, _ = await loop.connect_write_pipe(lambda: protocol, stdin)
        self._closes.append(lambda: transport.abort() if transport.get_write_buffer_size() else transport.close())
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        self.stdout = await self._reading(loop, stdout)
        self.stderr = await self._reading(loop, stderr)

    async def _reading(self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes]) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(loop=loop)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), pipe)
        self._closes.append(transport.close)
        return reader

    def close(self) -> None:
        # A pipe that has a transport is the transport's to close.
        unconnected = self._pipes()[len(self._closes) :]
        for close in (*self._closes, *(pipe.close for pipe in unconnected)):
            close()

    async def wait(self) -> int:
        await self._ended.wait()
        assert self._process.returncode is not None
        return self._process.returncode

    def terminate(self) -> None:
        self._process.terminate()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        return process.stdin, process.stdout, process.stderr

    def _reap_when_ended(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            ending = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            # No event tells it here, and one thread that waits costs less than to ask again and again.
            threading.Thread(target=self._wait_beside, args=(loop,), daemon=True).start()
            return

        def reap() -> None:
            loop.remove_reader(ending)
            os.close(ending)
            self._process.poll()
            self._ended.set()

        loop.add_reader(ending, reap)

    def _wait_beside(self, loop: asyncio.AbstractEventLoop) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop has ended before the program
            loop.call_soon_threadsafe(self._ended.set)
