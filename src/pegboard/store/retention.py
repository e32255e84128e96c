"""Removing old records, a few at a time, so that nobody waits long for the database meanwhile."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import anyio
from sqlalchemy import delete, func, select

from .calls import to_microseconds
from .database import StoreDatabase
from .runs import delete_expired_runs
from .schema import calls

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
