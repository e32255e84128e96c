"""The worker's end of the pipes: frames in and out, from whichever thread of a tool."""

import os
import select
import signal
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from pegboard.processes.frames import FrameReader
from pegboard.providers.python.protocol import FRAME_HEADER, MAX_BODY_BYTES, WorkerFrameKind

_CHUNK_BYTES: Final = 65_536
_END_GRACE_S: Final = 2.0
"""Seconds that a tool has to come to its end when the gateway is gone."""

NumberedFrame: TypeAlias = tuple[int, int, bytes]
"""Kind, number of the call, body."""


class WorkerChannel:
    def __init__(self, input_fd: int, outgoing: int) -> None:
        self.input_fd = input_fd
        self._output_fd = outgoing
        self._frames = FrameReader(FRAME_HEADER, MAX_BODY_BYTES)
        self._queue: deque[NumberedFrame] = deque()
        self._read_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self.cancelled_calls: set[int] = set()
        """Calls that nobody waits for any more."""

    def take(self) -> NumberedFrame:
        """The next frame, waited for. Raises `EOFError` when the gateway is gone."""
        with self._read_lock:
            while not self._queue:
                self._read_frames()
            return self._queue.popleft()

    def take_all(self, *, readable: bool) -> list[NumberedFrame]:
        """What came with the last frame; and what is in the pipe, when that is known to be readable. Raises
        `EOFError`."""
        with self._read_lock:
            if readable:
                self._read_frames()
            found = [*self._queue]
            self._queue.clear()
            return found

    def put_back(self, frames: list[NumberedFrame]) -> None:
        with self._read_lock:
            self._queue.extendleft(reversed(frames))

    def poll_cancellations(self) -> None:
        """Hear of calls that were given up while a function has the thread. Never waits: whoever else is reading hears
        it as well."""
        if not self._read_lock.acquire(blocking=False):
            return
        try:
            while select.select([self.input_fd], [], [], 0)[0]:
                with suppress(EOFError):
                    self._read_frames()
                    continue
                return
        finally:
            self._read_lock.release()

    def _read_frames(self) -> None:
        chunk = os.read(self.input_fd, _CHUNK_BYTES)
        if not chunk:
            raise EOFError
        for (kind, number), body in self._frames.feed(chunk):
            if kind == WorkerFrameKind.CANCEL:
                self.cancelled_calls.add(number)
            else:
                self._queue.append((kind, number, body))

    def send(self, kind: WorkerFrameKind, number: int, body: bytes) -> None:
        with self._write_lock:
            head = FRAME_HEADER.pack(len(body), kind, number)
            if len(body) <= _CHUNK_BYTES:
                message: bytes | memoryview = head + body
            else:
                self._write(memoryview(head))
                message = body
            written = os.write(self._output_fd, message)
            if written < len(message):
                self._write(memoryview(message)[written:])

    def _write(self, rest: memoryview) -> None:
        while rest:
            rest = rest[os.write(self._output_fd, rest) :]


def end_with_gateway(incoming: int) -> None:
    """When the gateway is gone, so is the worker, whatever its tools are doing and whatever they started."""

    def watch() -> None:
        waiting = select.poll()
        waiting.register(incoming, 0)  # nothing is asked for, and the end of the pipe is told all the same
        waiting.poll()
        time.sleep(_END_GRACE_S)
        with suppress(OSError):
            if os.getpgrp() == os.getpid():
                os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="end of the gateway", daemon=True).start()


# Where the tools of this worker run: one toolset's process, so it is the same for each of its calls and threads.
#
# For what has no parameter to get a context by; a function of ours asks for its `ToolContext`.

_STAND_INS: Final = Path(__file__).parent / "stand_ins"


@dataclass(frozen=True)
class WorkerSurroundings:
    toolset: str
    workspace: Path
    """Where it is, or would be: a manifest need not have asked for one."""

    def ensure_workspace(self) -> Path:
        # One by one: with `parents`, those above it would have the mode that the umask leaves.
        for folder in (*reversed(self.workspace.parents), self.workspace):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
        return self.workspace


_current: list[WorkerSurroundings] = []


def current_surroundings() -> WorkerSurroundings | None:
    """Nothing before the first call can come."""
    return _current[-1] if _current else None


def set_surroundings(surroundings: WorkerSurroundings) -> None:
    _current[:] = [surroundings]


def add_stand_in_path() -> None:
    """Modules that toolsets of other programs import, behind everything that a toolset brings itself."""
    sys.path.append(str(_STAND_INS))
