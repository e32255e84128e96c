"""SQLite: one file, many processes on one machine."""

import errno
import logging
import os
import shlex
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from sqlalchemy import URL, Connection, event, func, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from pegboard.store.async_engine import AsyncConnection, AsyncEngine, create_async_engine
from pegboard.store.database import StoreError, describe_sqlite_error, translate_errors
from pegboard.store.schema import policy_versions

log = logging.getLogger(__name__)

_BEGIN_OPTION: Final = "pegboard_begin"
"""The execution option that says how a transaction begins; `None` begins none."""


class SqliteDatabase:
    def __init__(self, path: Path, *, patience: float = 10.0, poll: float = 0.5) -> None:
        self.path = path
        self.display_url = f"sqlite:///{path}"
        self._poll_interval_s = poll
        self._timeout_s = patience
        self.explain = partial(describe_sqlite_error, self.display_url)
        self.engine: AsyncEngine = create_async_engine(
            URL.create("sqlite+aiosqlite", database=str(path)),
            # The driver must not guess when a transaction begins: we say so, below.
            connect_args={"isolation_level": None, "timeout": patience},
            pool_timeout=patience,
        )
        event.listen(self.engine.sync_engine, "connect", _set_pragmas)
        event.listen(self.engine.sync_engine, "begin", _begin_transaction)

    @property
    def start_anew_command(self) -> str:
        return shlex.join(["mv", str(self.path), f"{self.path}.old"])

    async def prepare(self) -> None:
        """Make the file, for this user alone: servers' environments may hold secrets. Then turn the log on."""
        with translate_errors(self.explain):
            await anyio.to_thread.run_sync(self._make_file)
            await anyio.to_thread.run_sync(self._enable_write_ahead_log)

    def _make_file(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError as error:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), error.filename) from error
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))

    def _enable_write_ahead_log(self) -> None:
        """Processes that open a new file together get in each other's way here, and SQLite then answers "locked" at
        once, whatever its timeout. So the waiting is done by us."""
        give_up = time.monotonic() + self._timeout_s
        with closing(sqlite3.connect(self.path, timeout=0)) as connection:
            while True:
                try:
                    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
                    break
                except sqlite3.OperationalError as error:
                    if not _is_busy(error) or time.monotonic() > give_up:
                        raise
                    time.sleep(0.02)
        if mode != "wal":
            log.warning("%s has no write-ahead log here (%s): readers and writers will wait", self.display_url, mode)

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._transaction("BEGIN") as connection:
            yield connection

    @asynccontextmanager
    async def write_transaction(self) -> AsyncIterator[AsyncConnection]:
        # A transaction that reads first and writes later can find that it may not; one that says so at once waits.
        async with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @asynccontextmanager
    async def _transaction(self, begin: str) -> AsyncIterator[AsyncConnection]:
        with self._shield_statements():
            async with self.engine.open_connection() as connection:
                await connection.execution_options(**{_BEGIN_OPTION: begin})
                async with connection.begin():
                    yield connection

    async def lock_for_write(self, connection: AsyncConnection) -> None:
        """SQLite has one writer at a time, and `writing` is that one from its beginning."""

    async def lock_row_order(self, connection: AsyncConnection) -> None:
        """As `alone`."""

    async def notify_change(self, connection: AsyncConnection) -> None:
        """Others see the file change."""

    async def watch_changes(self) -> AsyncGenerator[None, None]:
        outage = False
        while True:
            try:
                async with aclosing(self._poll_changes()) as seen:
                    async for _ in seen:
                        outage = False
                        yield
            except StoreError as error:
                if not outage:
                    log.warning("Changes of policy by other processes are not seen: %s", error)
                outage = True
            await anyio.sleep(self._poll_interval_s)

    async def _poll_changes(self) -> AsyncGenerator[None, None]:
        with self._shield_statements():
            connection = await self.engine.connect()
        try:
            with self._shield_statements():
                await connection.execution_options(**{_BEGIN_OPTION: None})
            commits = decisions = -1
            while True:
                with self._shield_statements():
                    commits, version = await _latest_versions(connection, commits, decisions)
                if version != decisions:
                    decisions = version
                    yield
                await anyio.sleep(self._poll_interval_s)
        finally:
            await connection.close()

    @contextmanager
    def _shield_statements(self) -> Iterator[None]:
        """A statement is short and ends within our patience. Cutting it off would leave the connection in a state that
        nobody knows, and the task that closes such a connection may wait for ever for a thread that is gone. So
        whoever is cancelled here waits that long."""
        with translate_errors(self.explain), anyio.CancelScope(shield=True):
            yield


async def _latest_versions(connection: AsyncConnection, commits: int, decisions: int) -> tuple[int, int]:
    """`data_version` moves when another connection commits anything, our own audit too; the policy's own version then
    tells whether it was a decision."""
    now = int((await connection.exec_driver_sql("PRAGMA data_version")).scalar_one())
    if now == commits:
        return commits, decisions
    return now, int((await connection.execute(select(func.max(policy_versions.c.version)))).scalar() or 0)


def _set_pragmas(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """`synchronous=FULL`: with NORMAL the log survives a killed process, but a machine that loses power may forget
    the last commits, and a decision that was acknowledged must hold. Decisions are rare and the audit writes four
    times a second at most, so the price is small."""
    cursor = connection.cursor()
    for pragma in ("foreign_keys=ON", "synchronous=FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_transaction(connection: Connection) -> None:
    begin = connection.get_execution_options().get(_BEGIN_OPTION, "BEGIN")
    if begin is not None:
        connection.exec_driver_sql(begin)


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
