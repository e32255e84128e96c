"""Removing old calls, a few at a time, so that nobody waits long for the database meanwhile."""

from datetime import datetime
from typing import Final

import anyio
from sqlalchemy import ColumnElement, delete, func, select, tuple_

from .calls import microseconds
from .database import Database
from .schema import calls

AT_ONCE: Final = 500
_DAY: Final = 86_400_000_000
_BREATH: Final = 0.01
"""Seconds in which whoever waits for the database gets it."""


async def prune(database: Database, now: datetime, keep_days: float | None, keep_rows: int | None) -> int:
    """Removes what is older than so many days, then the oldest beyond so many rows. Tells how many rows that were."""
    removed = 0
    if keep_days is not None:
        removed += await _remove(database, calls.c.at < max(0, microseconds(now) - int(keep_days * _DAY)))
    if keep_rows is not None and (newest := await _newest_beyond(database, keep_rows)) is not None:
        removed += await _remove(database, tuple_(calls.c.at, calls.c.number) <= newest)
    return removed


async def _newest_beyond(database: Database, keep_rows: int) -> tuple[int, int] | None:
    """The first row too many, in the order in which rows are told."""
    async with database.reading() as connection:
        # Numbers may have gaps but never repeat, so they span at least as many as there are rows. It saves the count.
        low, high = (await connection.execute(select(func.min(calls.c.number), func.max(calls.c.number)))).one()
        if low is None or high - low < keep_rows:
            return None
        order = (calls.c.at.desc(), calls.c.number.desc())
        beyond = select(calls.c.at, calls.c.number).order_by(*order).offset(keep_rows).limit(1)
        found = (await connection.execute(beyond)).one_or_none()
    return None if found is None else (found.at, found.number)


async def _remove(database: Database, which: ColumnElement[bool]) -> int:
    oldest = select(calls.c.number).where(which).order_by(calls.c.at, calls.c.number).limit(AT_ONCE)
    removed = 0
    while True:
        async with database.writing() as connection:
            # Two replicas that remove the same rows in different order would lock each other out.
            await database.alone(connection)
            gone = (await connection.execute(delete(calls).where(calls.c.number.in_(oldest)))).rowcount
        removed += gone
        if gone < AT_ONCE:
            return removed
        await anyio.sleep(_BREATH)
