"""The databases under test, as another program would meet them: by their own drivers, past everything of ours."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import anyio.to_thread
import asyncpg


def now() -> datetime:
    return datetime.now(UTC)


class Engine(Protocol):
    @property
    def url(self) -> str: ...

    async def run(self, statement: str) -> Sequence[tuple[Any, ...]]: ...


class Sqlite:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"

    async def run(self, statement: str) -> Sequence[tuple[Any, ...]]:
        return await anyio.to_thread.run_sync(self._run, statement)

    def _run(self, statement: str) -> Sequence[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path)
        try:
            rows = connection.execute(statement).fetchall()
            connection.commit()
        finally:
            connection.close()
        return rows


class Postgres:
    def __init__(self, server: str, name: str) -> None:
        self.server = server
        self.name = name
        self.url = server.replace("/postgres?", f"/{name}?")

    @classmethod
    @asynccontextmanager
    async def fresh(cls, server: str, name: str) -> AsyncIterator["Postgres"]:
        self = cls(server, name)
        await self.outside(f"CREATE DATABASE {name}")
        try:
            yield self
        finally:
            await self.outside(f"DROP DATABASE {name} WITH (FORCE)")

    async def run(self, statement: str) -> Sequence[tuple[Any, ...]]:
        return await _fetched(self.url, statement)

    async def outside(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """As the administrator, connected to another database."""
        return await _fetched(self.server, statement)


async def _fetched(url: str, statement: str) -> Sequence[tuple[Any, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()
