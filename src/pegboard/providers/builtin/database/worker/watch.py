"""Stops the running statement of a worker when the gateway asks for it: its time is over, or it is cancelled."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Interruptible(Protocol):
    """A connection of `sqlite3` or `duckdb`."""

    def interrupt(self) -> None: ...


class Watch:
    def __init__(self) -> None:
        self._running: Interruptible | None = None
        self._lock = threading.Lock()
        self._started = 0.0
        self._is_stopped = False

    def start(self) -> None:
        """Before each statement. The gateway asks in order, so an earlier stop does not mean this one."""
        self._is_stopped, self._started = False, time.monotonic()

    @contextmanager
    def over(self, connection: Interruptible) -> Iterator[None]:
        with self._lock:
            self._running = connection
        try:
            yield
        finally:
            with self._lock:
                self._running = None

    def stop(self) -> None:
        """From another thread. A worker that does not end its statement soon is killed."""
        self._is_stopped = True
        with self._lock:
            if self._running is not None:
                self._running.interrupt()

    def is_stopped(self) -> bool:
        return self._is_stopped

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started
