"""Saved queries and embedding vectors in the database."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from sqlalchemy import Insert, Row, delete, func, insert, select, update

from pegboard.core.model.ids import PrincipalId
from pegboard.core.presentations.evaluation import MAX_QUERIES, SavedQuery
from pegboard.ports.models import Digest, VectorsUnavailable
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.call_records import from_microseconds, index_text, to_microseconds
from pegboard.store.database import StoreDatabase, StoreError
from pegboard.store.schema import search_queries as table_queries
from pegboard.store.schema import vectors as table
from pegboard.store.text import restore_text, to_json_text

_MAX_DIGESTS_PER_QUERY: Final = 500
"""Digests in one question: engines bound how many values a statement may have."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SqlVectorStore:
    """When a vector was last used is told by the day, so that reading writes once a day at most."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def load(self, digests: Collection[Digest], now: datetime) -> Mapping[Digest, bytes]:
        found: dict[Digest, bytes] = {}
        stale: list[Digest] = []
        today = _day(now)
        try:
            for some in _batches(digests):
                kept = select(table).where(table.c.digest.in_(some))
                async with self._database.read_transaction() as connection:
                    for row in await connection.execute(kept):
                        found[bytes(row.digest)] = bytes(row.vector)
                        if row.used < today:
                            stale.append(bytes(row.digest))
            for some in _batches(stale):
                async with self._database.write_transaction() as connection:
                    await connection.execute(update(table).where(table.c.digest.in_(some)).values(used=today))
        except StoreError as error:
            raise VectorsUnavailable(str(error)) from error
        return found

    async def save(self, vectors: Mapping[Digest, bytes], now: datetime) -> None:
        rows = [{"digest": digest, "vector": vector, "used": _day(now)} for digest, vector in vectors.items()]
        if not rows:
            return
        try:
            async with self._database.write_transaction() as connection:
                # In one order, so that two replicas that keep the same cannot wait for each other.
                await connection.execute(
                    _insert_statement(connection), sorted(rows, key=lambda row: str(row["digest"]))
                )
        except StoreError as error:
            raise VectorsUnavailable(str(error)) from error

    async def delete_unused(self, unused_since: datetime) -> int:
        try:
            async with self._database.write_transaction() as connection:
                gone = await connection.execute(delete(table).where(table.c.used < _day(unused_since)))
        except StoreError as error:
            raise VectorsUnavailable(str(error)) from error
        return int(gone.rowcount)

    async def count(self) -> int:
        try:
            async with self._database.read_transaction() as connection:
                return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())
        except StoreError as error:
            raise VectorsUnavailable(str(error)) from error


def _insert_statement(connection: AsyncConnection) -> Insert:
    """What another replica kept in the meantime is as good."""
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table).on_conflict_do_nothing()
    from sqlalchemy.dialects.postgresql import insert as postgres_insert

    return postgres_insert(table).on_conflict_do_nothing()


def _batches(digests: Collection[Digest]) -> Iterator[list[Digest]]:
    rest = iter(digests)
    while some := [*islice(rest, _MAX_DIGESTS_PER_QUERY)]:
        yield some


def _day(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(days=1)


# Saved queries in the database.


class SqlQueryStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def all(self) -> Sequence[SavedQuery]:
        async with self._database.read_transaction() as connection:
            rows = await connection.execute(select(table_queries).limit(MAX_QUERIES))
            # Engines sort texts each in a way of its own.
            return sorted(map(_query_of, rows), key=lambda query: query.name)

    async def save(self, query: SavedQuery) -> bool:
        name = index_text(query.name)
        row = {
            "name": name,
            "query": query.query,
            "principal": query.principal,
            "expected": to_json_text([*query.expected_tools]),
            "by": query.by,
            "at": 0 if query.at is None else to_microseconds(query.at),
        }
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            others = select(func.count()).select_from(table_queries).where(table_queries.c.name != name)
            if (await connection.execute(others)).scalar_one() >= MAX_QUERIES:
                return False
            await connection.execute(delete(table_queries).where(table_queries.c.name == name))
            await connection.execute(insert(table_queries).values(row))
        return True

    async def delete(self, name: str) -> bool:
        async with self._database.write_transaction() as connection:
            gone = await connection.execute(delete(table_queries).where(table_queries.c.name == index_text(name)))
        return int(gone.rowcount) > 0


def _query_of(row: Row[*tuple[Any, ...]]) -> SavedQuery:
    name, query, principal, expected, by, at = row
    return SavedQuery(
        restore_text(name),
        query,
        tuple(json.loads(expected)),
        PrincipalId(principal),
        PrincipalId(by),
        from_microseconds(at),
    )
