"""Visits of browsers: marks of secrets and of tokens, and two times. No decision, so it has no version."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from pegboard.ports.visits import StoredSession

from .calls import from_microseconds, to_microseconds
from .database import StoreDatabase
from .schema import visits as table


class SqlSessionStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def load(self, place: str) -> Sequence[StoredSession]:
        chosen = select(table).where(table.c.place == place).order_by(table.c.seen_at, table.c.secret)
        async with self._database.read_transaction() as connection:
            rows = (await connection.execute(chosen)).all()
        return [
            StoredSession(row.secret, row.token, from_microseconds(row.began_at), from_microseconds(row.seen_at))
            for row in rows
        ]

    async def save(
        self, place: str, visits: Sequence[StoredSession], ended: Collection[str], seen_after: datetime
    ) -> None:
        gone = sorted({*ended, *(visit.secret for visit in visits)})
        rows = [
            {
                "place": place,
                "secret": visit.secret,
                "token": visit.token,
                "began_at": to_microseconds(visit.began_at),
                "seen_at": to_microseconds(visit.last_seen_at),
            }
            for visit in visits
        ]
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            await connection.execute(delete(table).where(table.c.seen_at < to_microseconds(seen_after)))
            if gone:
                one = delete(table).where(table.c.place == place, table.c.secret == bindparam("gone"))
                await connection.execute(one, [{"gone": secret} for secret in gone])
            if rows:
                await connection.execute(insert(table), rows)

    async def end_all(self) -> None:
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            await connection.execute(delete(table))
