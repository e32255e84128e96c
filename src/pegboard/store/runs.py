"""Suspended programs in the database: kept encrypted, and gone on with once, whoever else is at it."""

import secrets
from datetime import datetime
from typing import Final

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio.engine import AsyncConnection

from pegboard.core.ids import CallId
from pegboard.core.suspended import FoundRun, KeptRun
from pegboard.ports import RunsAway

from .calls import microseconds, moment
from .database import Database
from .errors import StoreError
from .schema import run_tickets, runs
from .secrets import KeyFor, NoKeyError

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of the state of one program."""
_ANOTHER_KEY: Final = "what was kept of it is damaged, or was kept with another key than this gateway's"
_CLAIMED: Final = "somebody goes on with it already"


class StoredRuns:
    def __init__(self, database: Database, key: KeyFor) -> None:
        self._database = database
        self._key = key

    async def keep(self, run: KeptRun, now: datetime) -> None:
        from .sealing import sealed

        if len(run.state) > LARGEST:
            raise RunsAway(f"its state takes {len(run.state)} bytes, and at most {LARGEST} are kept.")
        mark = secrets.token_hex(16)
        try:
            text = sealed(run.state, _name(run.id, mark), self._key(True))
            async with self._database.writing() as connection:
                await self._database.alone(connection)
                await _tidy(connection, now)
                await _forget(connection, run.id)
                row = {
                    "id": run.id,
                    "mark": mark,
                    "kept_at": microseconds(now),
                    "until": microseconds(run.until),
                    "sealed": text,
                }
                await connection.execute(insert(runs), row)
                await connection.execute(delete(run_tickets).where(run_tickets.c.ticket.in_(run.tickets)))
                rows = [{"ticket": ticket, "run_id": run.id} for ticket in dict.fromkeys(run.tickets)]
                if rows:
                    await connection.execute(insert(run_tickets), rows)
        except (NoKeyError, StoreError) as error:
            raise RunsAway(str(error)) from error

    async def waiting_for(self, ticket: str, now: datetime) -> FoundRun | None:
        found = (
            select(runs)
            .join(run_tickets, run_tickets.c.run_id == runs.c.id)
            .where(run_tickets.c.ticket == ticket, runs.c.until >= microseconds(now))
        )
        try:
            async with self._database.reading() as connection:
                row = (await connection.execute(found)).one_or_none()
        except StoreError as error:
            raise RunsAway(str(error)) from error
        if row is None:
            return None
        id = CallId(row.id)
        if row.sealed is None:
            claimed = None if row.claimed_at is None else moment(row.claimed_at)
            return FoundRun(id, row.mark, None, _CLAIMED, claimed)
        from .sealing import opened

        try:
            return FoundRun(id, row.mark, opened(row.sealed, _name(id, row.mark), self._key(False)))
        except NoKeyError as error:
            return FoundRun(id, row.mark, None, str(error))
        except ValueError:
            return FoundRun(id, row.mark, None, _ANOTHER_KEY)

    async def claim(self, found: FoundRun, now: datetime) -> bool:
        """By its mark, so that nobody goes on with a state which another has gone on with meanwhile."""
        free = update(runs).where(runs.c.id == found.id, runs.c.mark == found.mark, runs.c.sealed.is_not(None))
        try:
            async with self._database.writing() as connection:
                taken = await connection.execute(free.values(sealed=None, claimed_at=microseconds(now)))
                return taken.rowcount == 1
        except StoreError as error:
            raise RunsAway(str(error)) from error

    async def end(self, id: CallId) -> None:
        try:
            async with self._database.writing() as connection:
                await _forget(connection, id)
        except StoreError as error:
            raise RunsAway(str(error)) from error


async def _forget(connection: AsyncConnection, id: CallId) -> None:
    await connection.execute(delete(run_tickets).where(run_tickets.c.run_id == id))
    await connection.execute(delete(runs).where(runs.c.id == id))


async def _tidy(connection: AsyncConnection, now: datetime) -> None:
    """What nobody can go on with any more, as soon as another one is kept."""
    old = select(runs.c.id).where(runs.c.until < microseconds(now))
    await connection.execute(delete(run_tickets).where(run_tickets.c.run_id.in_(old)))
    await connection.execute(delete(runs).where(runs.c.until < microseconds(now)))


def _name(id: CallId, mark: str) -> str:
    return f"run {id} {mark}"
