"""Interrupts statements that run too long, beside whoever asked for them, who does the same from outside."""

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import duckdb

_TICK: Final = 0.1
"""Seconds. A thread for each statement would take longer to begin than most statements to end."""


class Watch:
    def __init__(self) -> None:
        self._running: tuple[duckdb.DuckDBPyConnection, float] | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()

    @contextmanager
    def over(self, connection: duckdb.DuckDBPyConnection, deadline: float) -> Iterator[None]:
        """It is interrupted from the deadline on, again and again until it ends."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, daemon=True)
            self._thread.start()
            atexit.register(self._end)
        with self._lock:
            self._running = (connection, deadline)
        try:
            yield
        finally:
            with self._lock:
                self._running = None

    def stop(self) -> None:
        """What runs now, if anything does."""
        with self._lock:
            if self._running is not None:
                self._running[0].interrupt()

    def _look(self) -> None:
        while not self._is_over.wait(_TICK):
            with self._lock:
                if self._running is not None and time.monotonic() >= self._running[1]:
                    self._running[0].interrupt()

    def _end(self) -> None:
        """Before what the thread uses is taken from it."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
