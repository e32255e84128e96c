"""The worker's end of the pipes: frames in and out, from whichever thread of a tool."""

import os
import select
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Final

from pegboard.providers.python.frames import HEAD, Frame, Frames, Kind

_CHUNK: Final = 65_536
_LAST_GRACE: Final = 2.0
"""Seconds that a tool has to come to its end when the gateway is gone."""


class Channel:
    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming = incoming
        self._outgoing = outgoing
        self._frames = Frames()
        self._taken: deque[Frame] = deque()
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self.cancelled: set[int] = set()
        """Calls that nobody waits for any more."""

    def take(self) -> Frame:
        """The next frame, waited for. Raises `EOFError` when the gateway is gone."""
        with self._reading:
            while not self._taken:
                self._read()
            return self._taken.popleft()

    def take_all(self, *, readable: bool) -> list[Frame]:
        """What came with the last frame; and what is in the pipe, when that is known to be readable. Raises
        `EOFError`."""
        with self._reading:
            if readable:
                self._read()
            found = [*self._taken]
            self._taken.clear()
            return found

    def put_back(self, frames: list[Frame]) -> None:
        with self._reading:
            self._taken.extendleft(reversed(frames))

    def look(self) -> None:
        """Hear of calls that were given up while a function has the thread. Never waits: whoever else is reading hears
        it as well."""
        if not self._reading.acquire(blocking=False):
            return
        try:
            while select.select([self.incoming], [], [], 0)[0]:
                with suppress(EOFError):
                    self._read()
                    continue
                return
        finally:
            self._reading.release()

    def _read(self) -> None:
        chunk = os.read(self.incoming, _CHUNK)
        if not chunk:
            raise EOFError
        for frame in self._frames.feed(chunk):
            if frame[0] == Kind.CANCEL:
                self.cancelled.add(frame[1])
            else:
                self._taken.append(frame)

    def send(self, kind: Kind, number: int, body: bytes) -> None:
        with self._writing:
            head = HEAD.pack(len(body), kind, number)
            if len(body) <= _CHUNK:
                message: bytes | memoryview = head + body
            else:
                self._write(memoryview(head))
                message = body
            written = os.write(self._outgoing, message)
            if written < len(message):
                self._write(memoryview(message)[written:])

    def _write(self, rest: memoryview) -> None:
        while rest:
            rest = rest[os.write(self._outgoing, rest) :]


def end_with_gateway(incoming: int) -> None:
    """When the gateway is gone, so is the worker, whatever its tools are doing and whatever they started."""

    def watch() -> None:
        waiting = select.poll()
        waiting.register(incoming, 0)  # nothing is asked for, and the end of the pipe is told all the same
        waiting.poll()
        time.sleep(_LAST_GRACE)
        with suppress(OSError):
            if os.getpgrp() == os.getpid():
                os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="end of the gateway", daemon=True).start()
