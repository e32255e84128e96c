"""Saved queries in the database."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, delete, func, insert, select

from pegboard.core.evaluation import MAX_QUERIES, SavedQuery
from pegboard.core.ids import PrincipalId

from .calls import from_microseconds, index_text, to_microseconds
from .database import StoreDatabase
from .schema import search_queries as table
from .text import restore_text, to_json_text


class SqlQueryStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def all(self) -> Sequence[SavedQuery]:
        async with self._database.read_transaction() as connection:
            rows = await connection.execute(select(table).limit(MAX_QUERIES))
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
            others = select(func.count()).select_from(table).where(table.c.name != name)
            if (await connection.execute(others)).scalar_one() >= MAX_QUERIES:
                return False
            await connection.execute(delete(table).where(table.c.name == name))
            await connection.execute(insert(table).values(row))
        return True

    async def delete(self, name: str) -> bool:
        async with self._database.write_transaction() as connection:
            gone = await connection.execute(delete(table).where(table.c.name == index_text(name)))
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
