"""The engines that read a file: SQLite and DuckDB, and each driver alone beside them."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import anyio.to_thread

from benchmarks.database.sales import MAKE, Measurable, sales
from benchmarks.gateway.peers.environment import Unavailable
from pegboard.core.model.databases import FULL_ACCESS


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[Measurable]:
    from pegboard.providers.database.worker.engine import sqlite_engine

    path = folder / "sales.db"
    connection = sqlite3.connect(path, check_same_thread=False, cached_statements=0)
    connection.execute(MAKE.format(number="REAL", moment="TEXT"))
    connection.executemany(
        "INSERT INTO sales VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [tuple(map(_plain, r)) for r in sales()]
    )
    connection.commit()

    async def bare(statement: str) -> Sequence[Sequence[object]]:
        return await anyio.to_thread.run_sync(lambda: connection.execute(statement).fetchall())

    engine = sqlite_engine(str(path), FULL_ACCESS)
    try:
        yield Measurable("SQLite", engine, bare)
    finally:
        await engine.aclose()
        connection.close()


def _plain(value: object) -> object:
    """As SQLite has it."""
    match value:
        case Decimal():
            return float(value)
        case datetime():
            return value.isoformat(" ")
        case _:
            return value


@asynccontextmanager
async def duckdb(folder: Path) -> AsyncIterator[Measurable | Unavailable]:
    try:
        import duckdb as driver

        from pegboard.providers.database.worker.engine import duckdb_engine
    except ImportError as error:
        yield Unavailable(f"{error.name} is not installed")
        return
    path = folder / "sales.duckdb"
    writing = driver.connect(str(path))
    writing.execute(MAKE.format(number="DECIMAL(12, 2)", moment="TIMESTAMP"))
    writing.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?, ?, ?, ?)", sales())
    writing.close()
    connection = driver.connect(str(path), read_only=True)

    async def bare(statement: str) -> Sequence[Sequence[object]]:
        return await anyio.to_thread.run_sync(lambda: connection.execute(statement).fetchall())

    engine = duckdb_engine(str(path), FULL_ACCESS)
    try:
        yield Measurable("DuckDB", engine, bare)
    finally:
        await engine.aclose()
        connection.close()
