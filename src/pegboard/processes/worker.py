"""A worker process that speaks in frames, as the gateway has it: written to, read from, and ended with all it started.
It may say anything at all, or nothing."""

import asyncio
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

import anyio

from pegboard.processes import cleanup
from pegboard.processes.child import ChildProcess, close_pipes, kill_group, read_chunk, start_child
from pegboard.processes.frames import Frame, FrameError, FrameReader

_END_TIMEOUT_S: Final = 30.0


class WorkerProcess:
    def __init__(self, child: ChildProcess, frames: FrameReader) -> None:
        self.child: Final = child
        self.frames: Final = frames
        self._waiting: deque[Frame] = deque()
        self._error: FrameError | None = None
        self._writing: Final = asyncio.Lock()
        self.is_gone = False
        """It was ended, and takes nothing more."""

    @property
    def is_alive(self) -> bool:
        return self.child.returncode is None

    async def write(self, data: bytes) -> None:
        """Whole, whoever else writes meanwhile. Raises `OSError` when it has ended."""
        writer = self.child.stdin
        assert writer is not None
        async with self._writing:
            try:
                if writer.is_closing():
                    raise BrokenPipeError
                writer.write(data)
                await writer.drain()
            except RuntimeError as error:
                # What uvloop raises for the same.
                if not writer.is_closing():
                    raise
                raise BrokenPipeError from error

    def write_soon(self, data: bytes) -> None:
        """Without waiting until there is room, and without a word when it has ended."""
        assert self.child.stdin is not None
        if not self.child.stdin.is_closing():
            self.child.stdin.write(data)

    async def next_frame(self) -> Frame | None:
        """`None` at the end of its output. Raises `FrameError`. Of many that came together each lets others have their
        turn before it."""
        assert self.child.stdout is not None
        if self._waiting:
            await asyncio.sleep(0)
        while not self._waiting:
            if self._error is not None:
                raise self._error
            if not (chunk := await read_chunk(self.child.stdout)):
                return None
            try:
                self._waiting.extend(self.frames.feed(chunk))
            except FrameError as error:
                self._error = error
        return self._waiting.popleft()

    async def last_words(self, most: int, within: float) -> str:
        """What it wrote to its error stream, as far as there is any yet."""
        assert self.child.stderr is not None
        with anyio.move_on_after(within):
            return (await self.child.stderr.read(most)).decode("utf-8", "replace")
        return ""

    def kill(self) -> None:
        """At once, without waiting for the end, which is certain."""
        if self.is_gone:
            return
        self.is_gone = True
        kill_group(self.child)
        cleanup.release_group(self.child.pid)
        close_pipes(self.child)

    async def end(self) -> None:
        """And wait until the process has ended."""
        self.kill()
        with anyio.move_on_after(_END_TIMEOUT_S, shield=True):
            await self.child.wait()


async def start_worker(
    words: Sequence[str],
    environment: Mapping[str, str],
    folder: str | None,
    head: struct.Struct,
    max_frame_bytes: int,
    lent: Sequence[int] = (),
) -> WorkerProcess:
    """Shielded, because a process that is born while we are cancelled has nobody yet to end it. Raises `OSError`."""
    with anyio.CancelScope(shield=True):
        child = await start_child(words, environment, folder, lent)
    return WorkerProcess(child, FrameReader(head, max_frame_bytes))
