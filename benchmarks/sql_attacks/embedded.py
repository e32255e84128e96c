"""SQLite and DuckDB as stages: a file in a folder, judged by its bytes and by everything beside it."""

import fcntl
import hashlib
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from importlib.util import find_spec
from pathlib import Path

from benchmarks.sql_attacks import shop
from benchmarks.sql_attacks.control import control
from benchmarks.sql_attacks.stage import NotHereError
from pegboard.core.model.databases import DatabaseAccess
from pegboard.ports.databases import DatabaseEngine
from pegboard.providers.database.worker.engine import duckdb_engine, sqlite_engine

_BESIDE = ("-shm", "-wal", "-journal", ".wal")
"""What an engine itself keeps beside a file while it is open."""


class _FileStage:
    dialect: str

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.path = folder / name
        self.reset()

    def state(self) -> Mapping[str, str]:
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            for path in sorted(self.folder.rglob("*"))
            if not path.name.endswith(_BESIDE)
        }

    def reset(self) -> None:
        raise NotImplementedError

    def control(self, sql: str, seconds: float) -> str | None:
        return control(self.dialect, self.path, sql, seconds, self.folder)


class SqliteStage(_FileStage):
    dialect = "sqlite"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "shop.sqlite")

    def engine(self, access: DatabaseAccess) -> DatabaseEngine:
        return sqlite_engine(str(self.path), access)

    def state(self) -> Mapping[str, str]:
        with closing(sqlite3.connect(self.path)) as connection:
            dump = "\n".join(connection.iterdump())
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        return {**super().state(), "dump": dump, "user_version": str(version)}

    def trouble(self) -> str | None:
        """Another program that writes must find neither a lock nor a transaction."""
        try:
            with closing(sqlite3.connect(self.path, timeout=0.5, isolation_level=None)) as connection:
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            return f"another connection cannot write: {error}"
        return None

    def reset(self) -> None:
        self.path.unlink(missing_ok=True)
        with closing(sqlite3.connect(self.path)) as connection:
            for statement in shop.statements("TEXT"):
                connection.execute(statement)
            connection.commit()


class DuckdbStage(_FileStage):
    dialect = "duckdb"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "shop.duckdb")

    def engine(self, access: DatabaseAccess) -> DatabaseEngine:
        return duckdb_engine(str(self.path), access)

    def trouble(self) -> str | None:
        """Readers share a file, so another one must still get its lock on it. To open it each time would take longer
        than all that is judged."""
        with self.path.open("rb") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as error:
                return f"another connection cannot read: {error}"
        return None

    def reset(self) -> None:
        import duckdb

        self.path.unlink(missing_ok=True)
        with duckdb.connect(str(self.path)) as connection:
            for statement in shop.statements():
                connection.execute(statement)


@asynccontextmanager
async def sqlite_stage(folder: Path) -> AsyncIterator[SqliteStage]:
    yield SqliteStage(folder)


@asynccontextmanager
async def duckdb_stage(folder: Path) -> AsyncIterator[DuckdbStage]:
    if find_spec("duckdb") is None:
        raise NotHereError("DuckDB is not installed: pip install 'pegboard[databases]'.")
    yield DuckdbStage(folder)
