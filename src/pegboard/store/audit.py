"""The record of every call: taken at once, written in batches by a task of its own, and kept for a while."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final

import anyio

from pegboard.core.call import CallRecord
from pegboard.ports import AuditQuery, AuditRow, Clock

from .calls import Recorded, asked, inserted, insertion, is_kept, recorded
from .database import Database
from .errors import StoreError
from .retention import prune
from .tasks import in_background

log = logging.getLogger(__name__)

_SHORTEST: Final = 0.1
_LONGEST: Final = 5.0
"""Seconds between two tries while the database does not take records."""


@dataclass(frozen=True, slots=True)
class AuditLimits:
    """How much waits in memory, and how long it may; times in seconds."""

    queue: int = 10_000
    batch: int = 1_000
    delay: float = 0.25
    closing: float = 5.0
    prune_every: float = 60.0


class AuditLog:
    """Belongs to one event loop: `record` may be called from that loop's thread only."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        limits: AuditLimits,
        keep_days: float | None,
        keep_rows: int | None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._keep_days = keep_days
        self._keep_rows = keep_rows
        self._limits = limits
        self._insertion = insertion(database.engine.dialect)
        self._queue: deque[Recorded] = deque()
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._none = asyncio.Event()
        self._none.set()
        self._last_call = asyncio.Event()
        self._hurried = False
        self._closed = False
        self._dropped = 0
        self._overflowing = False

    @property
    def dropped(self) -> int:
        return self._dropped

    def record(self, record: CallRecord) -> None:
        waiting = len(self._queue)
        if waiting >= self._limits.queue or self._closed:
            self._drop()
            return
        self._queue.append(recorded(record))
        if waiting == 0:
            self._none.clear()
            self._some.set()
        if waiting + 1 >= self._limits.batch:
            self._enough.set()

    def _drop(self) -> None:
        self._dropped += 1
        if not self._overflowing:
            self._overflowing = True
            log.warning(
                "Calls are dropped from the audit: %s records wait for %s, and no more may.",
                len(self._queue),
                self._database.where,
            )

    async def rows(self, query: AuditQuery) -> Sequence[AuditRow]:
        """Holds all that was recorded before, unless the database is not taking it."""
        with anyio.move_on_after(1.0):
            await self.written()
        async with self._database.reading() as connection:
            return await asked(connection, query)

    async def written(self) -> None:
        """Waits until no record waits, and hurries them along."""
        if self._queue:
            self._hurried = True
            self._enough.set()
        await self._none.wait()

    async def prune(self) -> int:
        """Removes what is too old or too much, and tells how many rows that were."""
        return await prune(self._database, self._clock(), self._keep_days, self._keep_rows)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["AuditLog"]:
        """Writes and prunes meanwhile; at the end writes what is left, as far as the time allows."""
        async with in_background("audit retention", self._keep_pruning):
            async with in_background("audit writer", self._keep_writing):
                try:
                    yield self
                finally:
                    with anyio.move_on_after(self._limits.closing, shield=True):
                        self._last_call.set()
                        await self.written()
                    self._closed = True
            if left := len(self._queue):
                self._dropped += left
                log.warning("%s calls were not recorded: %s did not take them in time.", left, self._database.where)

    async def _keep_writing(self) -> None:
        doubtful = 0
        pause = 0.0
        while True:
            await self._some.wait()
            if not doubtful:
                with anyio.move_on_after(self._limits.delay):
                    await self._enough.wait()
            batch = list(islice(self._queue, doubtful or self._limits.batch))
            try:
                await self._write(batch, again=doubtful > 0)
            except StoreError as error:
                if not doubtful:
                    log.warning("Calls cannot be recorded now, and wait in memory: %s", error)
                doubtful = len(batch)
                pause = min(max(pause * 2, _SHORTEST), _LONGEST)
                await self._rest(pause)
            except Exception:
                # What the database will never take must not stand in the way of all that comes after it.
                log.exception("%s calls were not recorded, because of a fault in Pegboard.", len(batch))
                self._dropped += len(batch)
                self._forget(len(batch))
                doubtful, pause = 0, 0.0
            else:
                if doubtful:
                    log.warning("Calls are recorded again. Dropped since the start: %s.", self._dropped)
                self._forget(len(batch))
                doubtful, pause = 0, 0.0

    async def _write(self, batch: Sequence[Recorded], *, again: bool) -> None:
        async with self._database.writing() as connection:
            # A connection lost during a commit leaves open whether it took place. A batch is written whole or not at
            # all, so its last row tells; and a batch in doubt is tried again as it was.
            if again and await is_kept(connection, batch[-1]):
                return
            await inserted(connection, batch, self._insertion)

    def _forget(self, count: int) -> None:
        for _ in range(count):
            self._queue.popleft()
        if not self._queue:
            self._hurried = False
            self._some.clear()
            self._none.set()
        if len(self._queue) < self._limits.batch and not self._hurried:
            self._enough.clear()
        if len(self._queue) < self._limits.queue // 2:
            self._overflowing = False

    async def _rest(self, pause: float) -> None:
        if self._last_call.is_set():
            await anyio.sleep(_SHORTEST)
            return
        with anyio.move_on_after(pause * random.uniform(0.5, 1.0)):  # noqa: S311 - spreads replicas, guards nothing
            await self._last_call.wait()

    async def _keep_pruning(self) -> None:
        while True:
            await anyio.sleep(self._limits.prune_every)
            try:
                await self.prune()
            except StoreError as error:
                log.warning("Old calls could not be removed: %s", error)
            except Exception:
                log.exception("Old calls could not be removed, because of a fault in Pegboard.")
