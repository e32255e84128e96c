"""Visits of browsers: marks of secrets and of tokens, and two times. No decision, so it has no version."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from pegboard.ports.visits import KeptVisit

from .calls import microseconds, moment
from .database import Database
from .schema import visits as table


class StoredVisits:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, place: str) -> Sequence[KeptVisit]:
        chosen = select(table).where(table.c.place == place).order_by(table.c.seen_at, table.c.secret)
        async with self._database.reading() as connection:
            rows = (await connection.execute(chosen)).all()
        return [KeptVisit(row.secret, row.token, moment(row.began_at), moment(row.seen_at)) for row in rows]

    async def keep(self, place: str, visits: Sequence[KeptVisit], ended: Collection[str], seen_after: datetime) -> None:
        gone = sorted({*ended, *(visit.secret for visit in visits)})
        rows = [
            {
                "place": place,
                "secret": visit.secret,
                "token": visit.token,
                "began_at": microseconds(visit.began),
                "seen_at": microseconds(visit.seen),
            }
            for visit in visits
        ]
        async with self._database.writing() as connection:
            await self._database.alone(connection)
            await connection.execute(delete(table).where(table.c.seen_at < microseconds(seen_after)))
            if gone:
                one = delete(table).where(table.c.place == place, table.c.secret == bindparam("gone"))
                await connection.execute(one, [{"gone": secret} for secret in gone])
            if rows:
                await connection.execute(insert(table), rows)

    async def end_all(self) -> None:
        async with self._database.writing() as connection:
            await self._database.alone(connection)
            await connection.execute(delete(table))
