"""Saved queries in the database."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, delete, func, insert, select

from pegboard.core.evaluation import MOST_QUERIES, SavedQuery
from pegboard.core.ids import PrincipalId

from .calls import indexed, microseconds, moment
from .database import Database
from .schema import search_queries as table
from .text import document, restored


class StoredQueries:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> Sequence[SavedQuery]:
        async with self._database.reading() as connection:
            rows = await connection.execute(select(table).limit(MOST_QUERIES))
            # Engines sort texts each in a way of its own.
            return sorted(map(_query, rows), key=lambda query: query.name)

    async def keep(self, query: SavedQuery) -> bool:
        name = indexed(query.name)
        row = {
            "name": name,
            "query": query.query,
            "principal": query.principal,
            "expected": document([*query.expected]),
            "by": query.by,
            "at": 0 if query.at is None else microseconds(query.at),
        }
        async with self._database.writing() as connection:
            await self._database.alone(connection)
            others = select(func.count()).select_from(table).where(table.c.name != name)
            if (await connection.execute(others)).scalar_one() >= MOST_QUERIES:
                return False
            await connection.execute(delete(table).where(table.c.name == name))
            await connection.execute(insert(table).values(row))
        return True

    async def forget(self, name: str) -> bool:
        async with self._database.writing() as connection:
            gone = await connection.execute(delete(table).where(table.c.name == indexed(name)))
        return int(gone.rowcount) > 0


def _query(row: Row[*tuple[Any, ...]]) -> SavedQuery:
    name, query, principal, expected, by, at = row
    return SavedQuery(
        restored(name),
        query,
        tuple(json.loads(expected)),
        PrincipalId(principal),
        PrincipalId(by),
        moment(at),
    )
