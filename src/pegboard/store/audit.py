"""The audit: records are buffered, written in batches, and pruned after their retention time."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count, islice
from typing import Final

import anyio
from anyio import to_thread
from sqlalchemy import delete, func, select

from pegboard.core.calls.activity import DecisionRecord
from pegboard.core.calls.call import CallRecord
from pegboard.core.model.redaction import Redaction
from pegboard.ports.audit import (
    ActivityBreakdown,
    ActivityGroup,
    ActivitySummary,
    AuditQuery,
    AuditRow,
    NewerPage,
    OlderPage,
    TimeBuckets,
)
from pegboard.ports.providers import Clock
from pegboard.store import audit_queries
from pegboard.store.call_records import (
    ContentRetention,
    FinishedAuditRow,
    PendingAuditRow,
    call_row,
    decision_row,
    finish_rows,
    insert_rows,
    insert_statement,
    is_written,
    to_microseconds,
)
from pegboard.store.database import StoreDatabase, StoreError, run_in_background
from pegboard.store.runs import delete_expired_runs
from pegboard.store.schema import calls

# Removing old records, a few at a time, so that nobody waits long for the database meanwhile.

ROWS_PER_DELETE: Final = 500
_DAY_US: Final = 86_400_000_000
_PAUSE_S: Final = 0.01
"""Seconds in which whoever waits for the database gets it."""


async def prune(
    database: StoreDatabase, now: datetime, keep_days: float | None, keep_rows: int | None, *, thorough: bool = True
) -> int:
    """Removes what is older than so many days, then the oldest beyond so many rows. Tells how many rows that were.
    Programs that can never go on go with them, and are not counted.

    Rows are written nearly in the order of their times, so those that are too old stand first. To be `thorough` is to
    look at all of them: a clock that was wrong for a while may have left old ones behind others.
    """
    removed = 0
    await delete_expired_runs(database, now)
    if keep_days is not None:
        removed += await _remove_older(database, max(0, to_microseconds(now) - int(keep_days * _DAY_US)), thorough)
    if keep_rows is not None and (newest := await _newest_beyond(database, keep_rows)) is not None:
        removed += await _remove_up_to(database, newest)
    return removed


async def _newest_beyond(database: StoreDatabase, keep_rows: int) -> int | None:
    """The first row too many."""
    async with database.read_transaction() as connection:
        # Numbers may have gaps but never repeat, so they span at least as many as there are rows. It saves the count.
        low, high = (await connection.execute(select(func.min(calls.c.number), func.max(calls.c.number)))).one()
        if low is None or high - low < keep_rows:
            return None
        beyond = select(calls.c.number).order_by(calls.c.number.desc()).offset(keep_rows).limit(1)
        return (await connection.execute(beyond)).scalar()


async def _remove_older(database: StoreDatabase, bound: int, thorough: bool) -> int:
    removed = 0
    while True:
        async with database.read_transaction() as connection:
            first = select(calls.c.number, calls.c.at).order_by(calls.c.number).limit(ROWS_PER_DELETE)
            looked = (await connection.execute(first.where(calls.c.at < bound) if thorough else first)).all()
        old = [number for number, at in looked if at < bound]
        removed += await _remove(database, old)
        if len(old) < ROWS_PER_DELETE:
            return removed
        await anyio.sleep(_PAUSE_S)


async def _remove_up_to(database: StoreDatabase, newest: int) -> int:
    removed = 0
    while True:
        async with database.read_transaction() as connection:
            first = (
                select(calls.c.number).where(calls.c.number <= newest).order_by(calls.c.number).limit(ROWS_PER_DELETE)
            )
            old = (await connection.execute(first)).scalars().all()
        removed += await _remove(database, old)
        if len(old) < ROWS_PER_DELETE:
            return removed
        await anyio.sleep(_PAUSE_S)


async def _remove(database: StoreDatabase, numbers: Sequence[int]) -> int:
    if not numbers:
        return 0
    async with database.write_transaction() as connection:
        # Two replicas that remove the same rows in different order would lock each other out.
        await database.lock_for_write(connection)
        return (await connection.execute(delete(calls).where(calls.c.number.in_(numbers)))).rowcount


log = logging.getLogger(__name__)

_MIN_RETRY_S: Final = 0.1
_MAX_RETRY_S: Final = 5.0
"""Seconds between two tries while the database does not take records."""
_THOROUGH_PRUNE_EVERY: Final = 60
"""Every so many times, every record is looked at to find those that are too old."""


@dataclass(frozen=True, slots=True)
class AuditLimits:
    """How much waits in memory, and how long it may; times in seconds."""

    max_queued: int = 10_000
    spare_for_decisions: int = 1_000
    """Beyond a full queue, for decisions: calls by the thousand must not crowd out the one switch."""
    max_with_content: int = 1_000
    """So many records wait with their arguments and results, where those are kept; the others without."""
    batch_size: int = 1_000
    batch_delay_s: float = 0.25
    close_timeout_s: float = 5.0
    prune_interval_s: float = 60.0
    poll_interval_s: float = 0.5
    """How often somebody who follows looks for what other processes wrote."""
    max_rows_walked: int = 200_000
    """Rows that a question walks over before it answers with what it has: a tenth of a second, or less."""


class AuditLog:
    """Belongs to one event loop: `record` may be called from that loop's thread only."""

    def __init__(
        self,
        database: StoreDatabase,
        *,
        clock: Clock,
        limits: AuditLimits,
        keep_days: float | None,
        keep_rows: int | None,
        keeping: ContentRetention | None = None,
    ) -> None:
        self._database = database
        self._content_retention = keeping or ContentRetention()
        self.redaction: Callable[[], Redaction] = lambda: self._content_retention.redaction
        """Asked for with every batch, because the rule may change while the gateway runs."""
        self._clock = clock
        self._keep_days = keep_days
        self._keep_rows = keep_rows
        self._limits = limits
        self._insert_statement = insert_statement(database.engine.dialect)
        self._queue: deque[PendingAuditRow] = deque()
        self._has_rows = asyncio.Event()
        self._has_batch = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._is_closing = asyncio.Event()
        self._written_event = asyncio.Event()
        """Set when something was written, and replaced by the next one."""
        self._is_flush_requested = False
        self._is_closed = False
        self._dropped_count = 0
        self._is_overflowing = False

    @property
    def dropped_count(self) -> int:
        return self._dropped_count

    def record(self, record: CallRecord) -> None:
        waiting = len(self._queue)
        if waiting >= self._limits.max_queued or self._is_closed:
            self._drop()
            return
        self._append(call_row(record, self._content_retention, whole=waiting < self._limits.max_with_content), waiting)

    def record_decision(self, decision: DecisionRecord) -> None:
        waiting = len(self._queue)
        if waiting >= self._limits.max_queued + self._limits.spare_for_decisions or self._is_closed:
            self._drop()
            return
        self._append(decision_row(decision), waiting)

    def _append(self, row: PendingAuditRow, waiting: int) -> None:
        self._queue.append(row)
        if waiting == 0:
            self._is_empty.clear()
            self._has_rows.set()
        if waiting + 1 >= self._limits.batch_size:
            self._has_batch.set()

    def _drop(self) -> None:
        self._dropped_count += 1
        if not self._is_overflowing:
            self._is_overflowing = True
            log.warning(
                "Calls are dropped from the audit: %s records wait for %s, and no more may.",
                len(self._queue),
                self._database.display_url,
            )

    async def rows(self, query: AuditQuery) -> Sequence[AuditRow]:
        """Holds all that was recorded before, unless the database is not taking it."""
        found: list[AuditRow] = []
        before = query.before
        while len(found) < query.limit:
            told = await self.page_before(replace(query, before=before, limit=query.limit - len(found)))
            found += told.rows
            if (before := told.before) is None:
                break
        return found

    async def page_before(self, query: AuditQuery) -> OlderPage:
        if query.before is None:
            await self._flush_briefly()
        async with self._database.read_transaction() as connection:
            return await audit_queries.page_before(connection, query, self._limits.max_rows_walked)

    async def row(self, number: int) -> AuditRow | None:
        async with self._database.read_transaction() as connection:
            return await audit_queries.find_record(connection, number)

    async def totals(self, query: AuditQuery, stretches: TimeBuckets, finding: Sequence[str]) -> ActivitySummary:
        await self._flush_briefly()
        async with self._database.read_transaction() as connection:
            return await audit_queries.totals(connection, query, stretches, finding, self._limits.max_rows_walked)

    async def breakdown(self, query: AuditQuery, whose: ActivityGroup, start: int = 0) -> ActivityBreakdown:
        await self._flush_briefly()
        async with self._database.read_transaction() as connection:
            return await audit_queries.breakdown(connection, query, whose, start, self._limits.max_rows_walked)

    async def latest_number(self) -> int:
        await self._flush_briefly()
        async with self._database.read_transaction() as connection:
            return await audit_queries.newest_number(connection)

    async def page_after(self, query: AuditQuery, after: int, wait: float = 0) -> NewerPage:
        """Numbers become visible in their order, so whoever asks on from one misses none and meets none twice.

        Nothing is hurried here: while calls come one after the other, to follow them must not make their batches small.
        """
        told = NewerPage((), after)
        with anyio.move_on_after(wait) if wait > 0 else nullcontext():
            while True:
                news, start = self._written_event, told.after
                async with self._database.read_transaction() as connection:
                    told = await audit_queries.page_after(connection, query, start, self._limits.max_rows_walked)
                if told.rows or wait <= 0:
                    break
                if told.after - start >= self._limits.max_rows_walked:
                    continue  # it went no further, so there may be something to tell already
                with anyio.move_on_after(self._limits.poll_interval_s):
                    await news.wait()
        return told

    async def _flush_briefly(self) -> None:
        with anyio.move_on_after(1.0):
            await self.flush()

    async def flush(self) -> None:
        """Waits until no record waits, and hurries them along."""
        if self._queue:
            self._is_flush_requested = True
            self._has_batch.set()
        await self._is_empty.wait()

    async def prune(self, *, thorough: bool = True) -> int:
        """Removes what is too old or too much, and tells how many rows that were."""
        return await prune(self._database, self._clock(), self._keep_days, self._keep_rows, thorough=thorough)

    @asynccontextmanager
    async def run_writer(self) -> AsyncIterator["AuditLog"]:
        """Writes and prunes meanwhile; at the end writes what is left, as far as the time allows."""
        async with run_in_background("audit retention", self._keep_pruning):
            async with run_in_background("audit writer", self._keep_writing):
                try:
                    yield self
                finally:
                    with anyio.move_on_after(self._limits.close_timeout_s, shield=True):
                        self._is_closing.set()
                        await self.flush()
                    self._is_closed = True
            if left := len(self._queue):
                self._dropped_count += left
                log.warning(
                    "%s calls were not recorded: %s did not take them in time.", left, self._database.display_url
                )

    async def _keep_writing(self) -> None:
        doubtful = 0
        pause = 0.0
        while True:
            await self._has_rows.wait()
            if not doubtful:
                with anyio.move_on_after(self._limits.batch_delay_s):
                    await self._has_batch.wait()
            batch = list(islice(self._queue, doubtful or self._limits.batch_size))
            try:
                keeping = replace(self._content_retention, redaction=self.redaction())
                rows = await to_thread.run_sync(finish_rows, batch, keeping)
                await self._write(rows, again=doubtful > 0)
            except StoreError as error:
                if not doubtful:
                    log.warning("Calls cannot be recorded now, and wait in memory: %s", error)
                doubtful = len(batch)
                pause = min(max(pause * 2, _MIN_RETRY_S), _MAX_RETRY_S)
                await self._wait_to_retry(pause)
            except Exception:
                # What the database will never take must not stand in the way of all that comes after it.
                log.exception("%s calls were not recorded, because of a fault in Pegboard.", len(batch))
                self._dropped_count += len(batch)
                self._remove_written(len(batch))
                doubtful, pause = 0, 0.0
            else:
                if doubtful:
                    log.warning("Calls are recorded again. Dropped since the start: %s.", self._dropped_count)
                self._remove_written(len(batch))
                doubtful, pause = 0, 0.0

    async def _write(self, batch: Sequence[FinishedAuditRow], *, again: bool) -> None:
        async with self._database.write_transaction() as connection:
            # A connection lost during a commit leaves open whether it took place. A batch is written whole or not at
            # all, so its last row tells; and a batch in doubt is tried again as it was.
            if again and await is_written(connection, batch[-1]):
                return
            await self._database.lock_row_order(connection)
            await insert_rows(connection, batch, self._insert_statement)

    def _remove_written(self, count: int) -> None:
        self._written_event.set()
        self._written_event = asyncio.Event()
        for _ in range(count):
            self._queue.popleft()
        if not self._queue:
            self._is_flush_requested = False
            self._has_rows.clear()
            self._is_empty.set()
        if len(self._queue) < self._limits.batch_size and not self._is_flush_requested:
            self._has_batch.clear()
        if len(self._queue) < self._limits.max_queued // 2:
            self._is_overflowing = False

    async def _wait_to_retry(self, pause: float) -> None:
        if self._is_closing.is_set():
            await anyio.sleep(_MIN_RETRY_S)
            return
        with anyio.move_on_after(pause * random.uniform(0.5, 1.0)):  # noqa: S311 - spreads replicas, guards nothing
            await self._is_closing.wait()

    async def _keep_pruning(self) -> None:
        for turn in count():
            await anyio.sleep(self._limits.prune_interval_s)
            try:
                await self.prune(thorough=turn % _THOROUGH_PRUNE_EVERY == 0)
            except StoreError as error:
                log.warning("Old calls could not be removed: %s", error)
            except Exception:
                log.exception("Old calls could not be removed, because of a fault in Pegboard.")
