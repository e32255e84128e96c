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

_CHUNK_BYTES: Final = 65_536
_PIPE_BUFFER_BYTES: Final = 262_144
"""Bytes that a program may have written before we read them: with fewer, a large answer takes more turns."""


class ChildProcess(Protocol):
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


async def start_child(
    words: Sequence[str], environment: Mapping[str, str], folder: str | None, lent: Sequence[int] = ()
) -> ChildProcess:
    """In a session of its own; `groups.stop` ends it. `lent` are descriptors of ours that it gets, under their numbers;
    not on Windows. Raises `OSError` and `ValueError` as `subprocess` does."""
    if sys.platform == "win32":
        pipe = subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *words, env=environment, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe
        )
    process = _spawn(words, environment, folder, lent)
    orphans.watch_group(process.pid)
    child = _PosixChild(process)
    try:
        await child.connect()
    except BaseException:
        process.kill()
        child.close()
        orphans.release_group(process.pid)
        raise
    return child


def close_pipes(child: ChildProcess) -> None:
    """Close our ends of the pipes, whatever is unread or unsent."""
    if isinstance(child, _PosixChild):
        child.close()


async def read_chunk(stream: asyncio.StreamReader) -> bytes:
    """What has come since; empty at the end."""
    return await stream.read(_CHUNK_BYTES)


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


class _PosixChild:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._exited = asyncio.Event()
        self._close_callbacks: list[Callable[[], None]] = []
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
                fcntl.fcntl(stdout, fcntl.F_SETPIPE_SZ, _PIPE_BUFFER_BYTES)
        # Made for a reader too, because it is the one public protocol that can tell a writer when there is room.
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), loop=loop)
        transport, _ = await loop.connect_write_pipe(lambda: protocol, stdin)
        self._close_callbacks.append(
            lambda: transport.abort() if transport.get_write_buffer_size() else transport.close()
        )
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        self.stdout = await self._connect_reader(loop, stdout)
        self.stderr = await self._connect_reader(loop, stderr)

    async def _connect_reader(self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes]) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(loop=loop)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), pipe)
        self._close_callbacks.append(transport.close)
        return reader

    def close(self) -> None:
        # A pipe that has a transport is the transport's to close.
        unconnected = self._pipes()[len(self._close_callbacks) :]
        for close in (*self._close_callbacks, *(pipe.close for pipe in unconnected)):
            close()

    async def wait(self) -> int:
        await self._exited.wait()
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
            threading.Thread(target=self._wait_in_thread, args=(loop,), daemon=True).start()
            return

        def reap() -> None:
            loop.remove_reader(ending)
            os.close(ending)
            self._process.poll()
            self._exited.set()

        loop.add_reader(ending, reap)

    def _wait_in_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop has ended before the program
            loop.call_soon_threadsafe(self._exited.set)
