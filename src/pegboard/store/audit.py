"""The record of calls and decisions: taken at once, written in batches by a task of its own, and kept for a while."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Final

import anyio
from anyio import to_thread

from pegboard.core.activity import Decision
from pegboard.core.call import CallRecord
from pegboard.core.redact import Redaction
from pegboard.ports import AuditQuery, AuditRow, Back, Clock, Onward
from pegboard.ports.summing import Shares, Stretches, Summary, Whose

from . import questions, summing
from .calls import Keeping, Recorded, Taken, completed, inserted, insertion, is_kept, noted, taken
from .database import Database
from .errors import StoreError
from .retention import prune
from .tasks import in_background

log = logging.getLogger(__name__)

_SHORTEST: Final = 0.1
_LONGEST: Final = 5.0
"""Seconds between two tries while the database does not take records."""
_THOROUGH: Final = 60
"""Every so many times, every record is looked at to find those that are too old."""


@dataclass(frozen=True, slots=True)
class AuditLimits:
    """How much waits in memory, and how long it may; times in seconds."""

    queue: int = 10_000
    spare: int = 1_000
    """Beyond a full queue, for decisions: calls by the thousand must not crowd out the one switch."""
    whole: int = 1_000
    """So many records wait with their arguments and results, where those are kept; the others without."""
    batch: int = 1_000
    delay: float = 0.25
    closing: float = 5.0
    prune_every: float = 60.0
    look_every: float = 0.5
    """How often somebody who follows looks for what other processes wrote."""
    span: int = 200_000
    """Rows that a question walks over before it answers with what it has: a tenth of a second, or less."""


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
        keeping: Keeping | None = None,
    ) -> None:
        self._database = database
        self._keeping = keeping or Keeping()
        self.redaction: Callable[[], Redaction] = lambda: self._keeping.redaction
        """Asked for with every batch, because the rule may change while the gateway runs."""
        self._clock = clock
        self._keep_days = keep_days
        self._keep_rows = keep_rows
        self._limits = limits
        self._insertion = insertion(database.engine.dialect)
        self._queue: deque[Taken] = deque()
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._none = asyncio.Event()
        self._none.set()
        self._last_call = asyncio.Event()
        self._news = asyncio.Event()
        """Set when something was written, and replaced by the next one."""
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
        self._append(taken(record, self._keeping, whole=waiting < self._limits.whole), waiting)

    def note(self, decision: Decision) -> None:
        waiting = len(self._queue)
        if waiting >= self._limits.queue + self._limits.spare or self._closed:
            self._drop()
            return
        self._append(noted(decision), waiting)

    def _append(self, row: Taken, waiting: int) -> None:
        self._queue.append(row)
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
        found: list[AuditRow] = []
        before = query.before
        while len(found) < query.limit:
            told = await self.back(replace(query, before=before, limit=query.limit - len(found)))
            found += told.rows
            if (before := told.before) is None:
                break
        return found

    async def back(self, query: AuditQuery) -> Back:
        if query.before is None:
            await self._up_to_now()
        async with self._database.reading() as connection:
            return await questions.back(connection, query, self._limits.span)

    async def row(self, number: int) -> AuditRow | None:
        async with self._database.reading() as connection:
            return await questions.one(connection, number)

    async def summed(self, query: AuditQuery, stretches: Stretches, finding: Sequence[str]) -> Summary:
        await self._up_to_now()
        async with self._database.reading() as connection:
            return await summing.summed(connection, query, stretches, finding, self._limits.span)

    async def shared(self, query: AuditQuery, whose: Whose, start: int = 0) -> Shares:
        await self._up_to_now()
        async with self._database.reading() as connection:
            return await summing.shared(connection, query, whose, start, self._limits.span)

    async def latest(self) -> int:
        await self._up_to_now()
        async with self._database.reading() as connection:
            return await questions.newest(connection)

    async def onward(self, query: AuditQuery, after: int, wait: float = 0) -> Onward:
        """Numbers become visible in their order, so whoever asks on from one misses none and meets none twice.

        Nothing is hurried here: while calls come one after the other, to follow them must not make their batches small.
        """
        told = Onward((), after)
        with anyio.move_on_after(wait) if wait > 0 else nullcontext():
            while True:
                news, start = self._news, told.after
                async with self._database.reading() as connection:
                    told = await questions.onward(connection, query, start, self._limits.span)
                if told.rows or wait <= 0:
                    break
                if told.after - start >= self._limits.span:
                    continue  # it went no further, so there may be something to tell already
                with anyio.move_on_after(self._limits.look_every):
                    await news.wait()
        return told

    async def _up_to_now(self) -> None:
        with anyio.move_on_after(1.0):
            await self.written()

    async def written(self) -> None:
        """Waits until no record waits, and hurries them along."""
        if self._queue:
            self._hurried = True
            self._enough.set()
        await self._none.wait()

    async def prune(self, *, thorough: bool = True) -> int:
        """Removes what is too old or too much, and tells how many rows that were."""
        return await prune(self._database, self._clock(), self._keep_days, self._keep_rows, thorough=thorough)

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
                keeping = replace(self._keeping, redaction=self.redaction())
                rows = await to_thread.run_sync(completed, batch, keeping)
                await self._write(rows, again=doubtful > 0)
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
            await self._database.in_order(connection)
            await inserted(connection, batch, self._insertion)

    def _forget(self, count: int) -> None:
        self._news.set()
        self._news = asyncio.Event()
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
        for turn in count():
            await anyio.sleep(self._limits.prune_every)
            try:
                await self.prune(thorough=turn % _THOROUGH == 0)
            except StoreError as error:
                log.warning("Old calls could not be removed: %s", error)
            except Exception:
                log.exception("Old calls could not be removed, because of a fault in Pegboard.")
