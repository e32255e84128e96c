"""The workers of one source: started on demand, a few at a time, and ended after a while without use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from pegboard.ports.databases import SourceAway

from .frames import RequestKind, Setup
from .process import WorkerProcess, start_worker

MAX_WORKERS: Final = 4
"""Of one source at once: more statements wait for their turn."""
_OPEN_TIMEOUT_S: Final = 60.0


class Pool:
    def __init__(self, setup: Setup, idle_seconds: float) -> None:
        """A worker that was not used for so long is ended, and closes its database."""
        self._setup = setup
        self._idle_seconds = idle_seconds
        self._slots = anyio.Semaphore(MAX_WORKERS)
        self._idle: list[tuple[WorkerProcess, asyncio.TimerHandle]] = []
        self._busy: set[WorkerProcess] = set()
        self._is_closed = False

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[WorkerProcess]:
        """It returns to the pool unless it is gone. Raises `SourceAway`."""
        async with self._slots:
            if self._is_closed:
                raise SourceAway("The source was closed.")
            worker = await self._take()
            self._busy.add(worker)
            try:
                yield worker
            finally:
                self._busy.discard(worker)
                self._put_back(worker)

    async def _take(self) -> WorkerProcess:
        # The one that was used last, so that the others can end.
        while self._idle:
            worker, timer = self._idle.pop()
            timer.cancel()
            if not worker.is_gone:
                return worker
        worker = await start_worker(self._setup)
        # This opens the database: the time for a large schema is not taken from the first statement.
        await worker.request(RequestKind.STAMP, timeout=_OPEN_TIMEOUT_S)
        return worker

    def _put_back(self, worker: WorkerProcess) -> None:
        if self._is_closed:
            worker.kill()
        elif not worker.is_gone:
            timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._end_idle, worker)
            self._idle.append((worker, timer))

    def _end_idle(self, worker: WorkerProcess) -> None:
        self._idle = [each for each in self._idle if each[0] is not worker]
        worker.kill()

    async def aclose(self) -> None:
        self._is_closed = True
        idle, self._idle = self._idle, []
        for _, timer in idle:
            timer.cancel()
        with anyio.CancelScope(shield=True):
            for worker in (*(each for each, _ in idle), *self._busy):
                await worker.end()
