"""MySQL and MariaDB as a source: one statement in a transaction of its own on a connection of its own, stopped on the
server when its caller is gone.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pegboard.core.database import Access, Answer, Checked, Dialect, Failed, Limits, RowCollector, Rows, Schema
from pegboard.ports.databases import Parameters, SourceError
from pegboard.providers.builtin.database.server import (
    CATALOG_TIMEOUT_S,
    ServerEngine,
    schema_of_rows,
    too_large,
    writes_refused,
)
from pegboard.providers.builtin.database.unreadable import WAITS

from .connection import (
    DRIVER_ERRORS,
    MAX_ROW_BYTES,
    Address,
    MeteredConnection,
    TooManyBytesError,
    connect,
    fetch,
    parse_address,
    start_transaction,
)
from .errors import failure
from .privileges import NOT_SYSTEM, QUOTED_GRANTS, Ask, MysqlCatalog, read_login
from .statement import Statement, read_statement
from .values import bind

_MAX_CONNECTIONS: Final = 8
_GRACE_S: Final = 5.0
_BATCH_BYTES: Final = 8 * 2**20
_NO_THREAD: Final = 1094
_TABLES: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE = 'VIEW', {count}, IF(TABLE_TYPE = 'VIEW', '', TABLE_COMMENT)
FROM information_schema.TABLES
WHERE {where} AND TABLE_TYPE IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') ORDER BY TABLE_SCHEMA, TABLE_NAME
"""
_COLUMNS: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, CAST(COLUMN_TYPE AS CHAR), IS_NULLABLE = 'YES', COLUMN_COMMENT
FROM information_schema.COLUMNS WHERE {where} AND FIND_IN_SET('select', PRIVILEGES)
ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""
_KEYS: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME,
    REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
WHERE {where} AND (CONSTRAINT_NAME = 'PRIMARY' OR REFERENCED_TABLE_NAME IS NOT NULL)
ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION
"""

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass
class _Job:
    """A connection that a thread works on, so that another can stop what it does."""

    address: Address
    connection: MeteredConnection | None = None
    is_stopped: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def connect(self, seconds: float) -> MeteredConnection:
        """Raises `SourceError`."""
        self.connection = connect(self.address, seconds)
        if self.is_stopped:
            raise SourceError("The caller is gone.")
        return self.connection

    def end(self) -> None:
        if self.connection is not None:
            self.connection.end()
        self.ended.set()

    def stop(self) -> None:
        """Returns when the thread has ended, or its connection was cut."""
        self.is_stopped = True
        if self.connection is None or self.ended.is_set():
            return
        try:
            killer = connect(self.address, _GRACE_S)
            try:
                killer.query(f"KILL QUERY {int(self.connection.thread_id())}")
            finally:
                killer.end()
        except (*DRIVER_ERRORS, SourceError) as error:
            if error.args[:1] != (_NO_THREAD,):  # it ended meanwhile
                log.warning("%s: a statement could not be stopped: %s", self.address.title, error)
        if not self.ended.wait(_GRACE_S):
            self.connection.cut()
            self.ended.wait(_GRACE_S)


class MysqlEngine(ServerEngine):
    dialect: Final = Dialect.MYSQL

    def __init__(self, url: str, access: Access, *, writes: bool = False, forced: bool = False) -> None:
        super().__init__(url, access, writes=writes, forced=forced)
        self._address = parse_address(url)
        self._threads = anyio.CapacityLimiter(_MAX_CONNECTIONS)
        self._catalog = MysqlCatalog(access, ())
        """What the login saw at the last check."""
        self._where = "TABLE_SCHEMA = DATABASE()" if self._address.database else NOT_SYSTEM

    async def schema(self) -> Schema:
        queries = [query.format(where=self._where, count="TABLE_ROWS") for query in (_TABLES, _COLUMNS, _KEYS)]
        tables, columns, keys = await self._in_catalog(lambda ask: [ask(query) for query in queries])
        return schema_of_rows(self.dialect, tables, columns, keys, self._address.database, self._access)

    async def stamp(self) -> str:
        queries = [query.format(where=self._where, count="0") for query in (_TABLES, _COLUMNS)]
        rows = await self._in_catalog(lambda ask: [ask(query) for query in queries])
        return hashlib.sha256(repr(rows).encode()).hexdigest()

    async def aclose(self) -> None:
        """Nothing is kept between statements."""

    async def _verify(self) -> Checked:
        def work(ask: Ask) -> Checked:
            ((version, role),) = ask("SELECT VERSION(), CURRENT_USER()")
            login = read_login(ask, self._access, self._address.database, writes=self._writes)
            self._catalog = login
            number, _, product = str(version).partition("-")
            name = "MariaDB" if "MariaDB" in product else "MySQL"
            return Checked(f"{name} {number}", str(role), login.findings())

        return await self._in_catalog(work)

    async def _run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool) -> Answer:
        begun, catalog = time.monotonic(), self._catalog

        def work(job: _Job) -> Answer:
            found = read_statement(statement, self._access, self._address.database, catalog.partial_tables)
            if not isinstance(found, Statement):
                return found
            if found.is_write and not self._writes:
                return writes_refused(found.words[0].text)
            text = bind(found, parameters)
            if isinstance(text, Failed):
                return text
            connection = job.connect(limits.seconds)
            try:
                start_transaction(connection, limits.seconds, write=found.is_write)
                if found.is_write and not write:
                    # A person is asked about what would run, and about nothing else.
                    fetch(connection, f"EXPLAIN {text}")
                    return WAITS
                return _fetch_rows(connection, text, limits, begun, is_write=found.is_write)
            except TooManyBytesError:
                return too_large(MAX_ROW_BYTES)
            except DRIVER_ERRORS as error:
                return failure(error, found, text, catalog)

        return await self._in_thread(work)

    async def _in_catalog(self, work: Callable[[Ask], T]) -> T:
        """Work that asks the catalog. Raises `SourceError`."""

        def connected(job: _Job) -> T:
            connection = job.connect(CATALOG_TIMEOUT_S)
            start_transaction(connection, CATALOG_TIMEOUT_S, write=False)
            connection.query(QUOTED_GRANTS)
            return work(partial(fetch, connection))

        return await self._in_thread(connected)

    async def _in_thread(self, work: Callable[[_Job], T]) -> T:
        """Raises `SourceError`."""
        job = _Job(self._address)

        def run() -> T:
            try:
                return work(job)
            except DRIVER_ERRORS as error:
                raise SourceError(f"{self._address.title}: {error.args[-1] if error.args else error}") from error
            finally:
                job.end()

        try:
            return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._threads)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(job.stop)
            raise


def _fetch_rows(connection: MeteredConnection, text: str, limits: Limits, begun: float, *, is_write: bool) -> Rows:
    """What a change returns is read to its end, whatever is kept of it: before that it is not done."""
    collector = RowCollector(limits)
    connection.room = MAX_ROW_BYTES
    cursor = connection.cursor()
    cursor.execute(text)
    names = [each[0] for each in cursor.description or ()]
    types, count, has_ended, is_full = connection.types() if names else [], 0, not names, False
    while not has_ended and (is_write or not is_full):
        batch: list[Sequence[object]] = []
        connection.room = MAX_ROW_BYTES + _BATCH_BYTES
        while len(batch) < (collector.next_fetch or 1) and connection.room > MAX_ROW_BYTES and not has_ended:
            row = cursor.fetchone()
            has_ended = row is None
            batch += [] if row is None else [row]
        count += len(batch)
        is_full = is_full or not collector.add(batch) or not collector.next_fetch
    affected = (count if names else cursor.rowcount) if is_write or not names else None
    if is_write:
        connection.commit()
    return collector.to_rows(names, types, time.monotonic() - begun, affected)
