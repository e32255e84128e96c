"""Vectors of tools in the database: made once, for every replica, and gone when nobody has used them for long."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from sqlalchemy import Insert, delete, func, select, update

from pegboard.ports import Digest, VectorsAway

from .async_engine import AsyncConnection
from .database import Database
from .errors import StoreError
from .schema import vectors as table

_AT_ONCE: Final = 500
"""Digests in one question: engines bound how many values a statement may have."""
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class StoredVectors:
    """When a vector was last used is told by the day, so that reading writes once a day at most."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, digests: Collection[Digest], now: datetime) -> Mapping[Digest, bytes]:
        found: dict[Digest, bytes] = {}
        stale: list[Digest] = []
        today = _day(now)
        try:
            for some in _parts(digests):
                kept = select(table).where(table.c.digest.in_(some))
                async with self._database.reading() as connection:
                    for row in await connection.execute(kept):
                        found[bytes(row.digest)] = bytes(row.vector)
                        if row.used < today:
                            stale.append(bytes(row.digest))
            for some in _parts(stale):
                async with self._database.writing() as connection:
                    await connection.execute(update(table).where(table.c.digest.in_(some)).values(used=today))
        except StoreError as error:
            raise VectorsAway(str(error)) from error
        return found

    async def keep(self, vectors: Mapping[Digest, bytes], now: datetime) -> None:
        rows = [{"digest": digest, "vector": vector, "used": _day(now)} for digest, vector in vectors.items()]
        if not rows:
            return
        try:
            async with self._database.writing() as connection:
                # In one order, so that two replicas that keep the same cannot wait for each other.
                await connection.execute(_inserted(connection), sorted(rows, key=lambda row: str(row["digest"])))
        except StoreError as error:
            raise VectorsAway(str(error)) from error

    async def sweep(self, unused_since: datetime) -> int:
        try:
            async with self._database.writing() as connection:
                gone = await connection.execute(delete(table).where(table.c.used < _day(unused_since)))
        except StoreError as error:
            raise VectorsAway(str(error)) from error
        return int(gone.rowcount)

    async def count(self) -> int:
        try:
            async with self._database.reading() as connection:
                return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())
        except StoreError as error:
            raise VectorsAway(str(error)) from error


def _inserted(connection: AsyncConnection) -> Insert:
    """What another replica kept in the meantime is as good."""
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table).on_conflict_do_nothing()
    from sqlalchemy.dialects.postgresql import insert as postgres_insert

    return postgres_insert(table).on_conflict_do_nothing()


def _parts(digests: Collection[Digest]) -> Iterator[list[Digest]]:
    rest = iter(digests)
    while some := [*islice(rest, _AT_ONCE)]:
        yield some


def _day(at: datetime) -> int:
    return (at - _BEGINNING) // timedelta(days=1)
