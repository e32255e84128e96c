"""The workers of one source: started when they are needed, a few at a time, and ended when nobody needs them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from pegboard.ports.databases import SourceAway

from .frames import Ask, Setup
from .worker import Worker, started

MOST: Final = 4
"""Workers of a source at once: more statements than that wait for their turn."""
_OPEN: Final = 60.0
"""Seconds to open a database, however large its schema is."""


class Pool:
    def __init__(self, setup: Setup, idle: float) -> None:
        """A worker that nobody used for `idle` seconds is ended, and with it what it has open."""
        self._setup = setup
        self._idle = idle
        self._turn = anyio.Semaphore(MOST)
        self._resting: list[tuple[Worker, asyncio.TimerHandle]] = []
        self._busy: set[Worker] = set()
        self._is_closed = False

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Worker]:
        """For one who asks; it goes back to the others unless it is gone. Raises `SourceAway`."""
        async with self._turn:
            if self._is_closed:
                raise SourceAway("The source was closed.")
            worker = await self._awake()
            self._busy.add(worker)
            try:
                yield worker
            finally:
                self._busy.discard(worker)
                self._rest(worker)

    async def _awake(self) -> Worker:
        # The one that rested last: the others can go to sleep.
        while self._resting:
            worker, timer = self._resting.pop()
            timer.cancel()
            if not worker.is_gone:
                return worker
        worker = await started(self._setup)
        # Opens the database: what a large schema takes is not for the first statement to pay.
        await worker.ask(Ask.STAMP, within=_OPEN)
        return worker

    def _rest(self, worker: Worker) -> None:
        if self._is_closed:
            worker.kill()
        elif not worker.is_gone:
            timer = asyncio.get_running_loop().call_later(self._idle, self._put_away, worker)
            self._resting.append((worker, timer))

    def _put_away(self, worker: Worker) -> None:
        self._resting = [each for each in self._resting if each[0] is not worker]
        worker.kill()

    async def aclose(self) -> None:
        self._is_closed = True
        resting, self._resting = self._resting, []
        for _, timer in resting:
            timer.cancel()
        with anyio.CancelScope(shield=True):
            for worker in (*(each for each, _ in resting), *self._busy):
                await worker.end()
