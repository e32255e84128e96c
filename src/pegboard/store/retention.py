"""Removing old records, a few at a time, so that nobody waits long for the database meanwhile."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import anyio
from sqlalchemy import delete, func, select

from .calls import microseconds
from .database import Database
from .runs import forget_lapsed
from .schema import calls

AT_ONCE: Final = 500
_DAY: Final = 86_400_000_000
_BREATH: Final = 0.01
"""Seconds in which whoever waits for the database gets it."""


async def prune(
    database: Database, now: datetime, keep_days: float | None, keep_rows: int | None, *, thorough: bool = True
) -> int:
    """Removes what is older than so many days, then the oldest beyond so many rows. Tells how many rows that were.
    Programs that can never go on go with them, and are not counted.

    Rows are written nearly in the order of their times, so those that are too old stand first. To be `thorough` is to
    look at all of them: a clock that was wrong for a while may have left old ones behind others.
    """
    removed = 0
    await forget_lapsed(database, now)
    if keep_days is not None:
        removed += await _remove_older(database, max(0, microseconds(now) - int(keep_days * _DAY)), thorough)
    if keep_rows is not None and (newest := await _newest_beyond(database, keep_rows)) is not None:
        removed += await _remove_up_to(database, newest)
    return removed


async def _newest_beyond(database: Database, keep_rows: int) -> int | None:
    """The first row too many."""
    async with database.reading() as connection:
        # Numbers may have gaps but never repeat, so they span at least as many as there are rows. It saves the count.
        low, high = (await connection.execute(select(func.min(calls.c.number), func.max(calls.c.number)))).one()
        if low is None or high - low < keep_rows:
            return None
        beyond = select(calls.c.number).order_by(calls.c.number.desc()).offset(keep_rows).limit(1)
        return (await connection.execute(beyond)).scalar()


async def _remove_older(database: Database, bound: int, thorough: bool) -> int:
    removed = 0
    while True:
        async with database.reading() as connection:
            first = select(calls.c.number, calls.c.at).order_by(calls.c.number).limit(AT_ONCE)
            looked = (await connection.execute(first.where(calls.c.at < bound) if thorough else first)).all()
        old = [number for number, at in looked if at < bound]
        removed += await _remove(database, old)
        if len(old) < AT_ONCE:
            return removed
        await anyio.sleep(_BREATH)


async def _remove_up_to(database: Database, newest: int) -> int:
    removed = 0
    while True:
        async with database.reading() as connection:
            first = select(calls.c.number).where(calls.c.number <= newest).order_by(calls.c.number).limit(AT_ONCE)
            old = (await connection.execute(first)).scalars().all()
        removed += await _remove(database, old)
        if len(old) < AT_ONCE:
            return removed
        await anyio.sleep(_BREATH)


async def _remove(database: Database, numbers: Sequence[int]) -> int:
    if not numbers:
        return 0
    async with database.writing() as connection:
        # Two replicas that remove the same rows in different order would lock each other out.
        await database.alone(connection)
        return (await connection.execute(delete(calls).where(calls.c.number.in_(numbers)))).rowcount
