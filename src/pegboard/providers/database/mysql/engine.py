"""MySQL and MariaDB as a source: each statement on a connection of its own, stopped on the server with its caller."""

import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pegboard.core.databases.rows import QueryAnswer, QueryRows, RowCollector, StatementFailure, StatementFault
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import DatabaseAccess, Dialect, QueryLimits
from pegboard.ports.databases import Parameters, RoleScript, SourceError
from pegboard.providers.database import server
from pegboard.providers.database.common import ACCESS_DENIED, NEEDS_WRITE, schema_of_rows
from pegboard.providers.database.mysql.connection import (
    DRIVER_ERRORS,
    MAX_ROW_BYTES,
    MeteredMysqlConnection,
    MysqlAddress,
    TooManyBytesError,
    closing_connection,
    connect,
    fetch,
    parse_address,
    start_transaction,
)
from pegboard.providers.database.mysql.privileges import NOT_SYSTEM, Ask, MysqlPrivileges, read_privileges
from pegboard.providers.database.mysql.statement import MysqlStatement, bind, read_statement

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
_HAS_DATABASE: Final = "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s"
_FAULTS: Final = {
    **dict.fromkeys((1317, 1969, 3024), StatementFault.TIME),
    **dict.fromkeys((1205, 1213), StatementFault.BUSY),
    **dict.fromkeys((1037, 1038, 1041), StatementFault.MEMORY),
    **dict.fromkeys((2006, 2013), StatementFault.UNAVAILABLE),
    **dict.fromkeys((1044, 1049, 1142, 1146), StatementFault.NO_TABLE),
    **dict.fromkeys((1052, 1054, 1143), StatementFault.NO_COLUMN),
    **dict.fromkeys((1305, 1370), StatementFault.NO_FUNCTION),
}
_BY_NAME: Final = (StatementFault.NO_TABLE, StatementFault.NO_COLUMN, StatementFault.NO_FUNCTION)
_NAME: Final = re.compile(
    r"(?:.*'@'.*?' (?:for|to) )?.*?(?:['`]|FUNCTION )(?P<name>.*?)(?:['`](?: in | doesn't|$)| does not exist$)",
    re.DOTALL,
)
"""What was not found, behind the name of the login."""
_NAMES_OTHERS: Final = frozenset({1062, 1216, 1217, 1345, 1356, 1451, 1452})
"""A key, a foreign key or a view: the server names keys, constraints and tables that the statement does not."""

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass
class _Job:
    """A connection that a thread works on, so that another can stop what it does."""

    address: MysqlAddress
    connection: MeteredMysqlConnection | None = None
    is_stopped: bool = False
    end_event: threading.Event = field(default_factory=threading.Event)

    def connect(self, seconds: float = server.CATALOG_TIMEOUT_S, *, write: bool = False) -> MeteredMysqlConnection:
        """With a transaction. Raises `SourceError`."""
        self.connection = connect(self.address, seconds)
        if self.is_stopped:
            raise SourceError("The caller is gone.")
        start_transaction(self.connection, seconds, write=write)
        return self.connection

    def end(self) -> None:
        if self.connection is not None:
            self.connection.end()
        self.end_event.set()

    def stop(self) -> None:
        """Returns when the thread has ended, or its connection was cut."""
        self.is_stopped = True
        if self.connection is None or self.end_event.is_set():
            return
        try:
            with closing_connection(self.address, _GRACE_S) as killer:
                killer.query(f"KILL QUERY {int(self.connection.thread_id())}")
        except (*DRIVER_ERRORS, SourceError) as error:
            if error.args[:1] != (_NO_THREAD,):  # it ended meanwhile
                log.warning("%s: a statement could not be stopped: %s", self.address.title, error)
        if not self.end_event.wait(_GRACE_S):
            log.error("%s: thread %d does not stop its statement.", self.address.title, self.connection.thread_id())
            self.connection.abort()
            self.end_event.wait(_GRACE_S)


class MysqlEngine(server.ServerEngine[MysqlPrivileges]):
    dialect: Final = Dialect.MYSQL

    def __init__(self, url: str, access: DatabaseAccess, *, writes: bool = False) -> None:
        super().__init__(url, access, writes=writes)
        self._address = parse_address(url)
        self._threads = anyio.CapacityLimiter(_MAX_CONNECTIONS)
        self._where = "TABLE_SCHEMA = DATABASE()" if self._address.database else NOT_SYSTEM

    async def schema(self) -> DatabaseSchema:
        queries = [query.format(where=self._where, count="TABLE_ROWS") for query in (_TABLES, _COLUMNS, _KEYS)]
        tables, columns, keys = await self._in_catalog(lambda ask: [ask(query) for query in queries])
        return schema_of_rows(self.dialect, tables, columns, keys, self._address.database, self._access)

    async def schema_version(self) -> str:
        queries = [query.format(where=self._where, count="0") for query in (_TABLES, _COLUMNS)]
        rows = await self._in_catalog(lambda ask: [ask(query) for query in queries])
        return hashlib.sha256(repr(rows).encode()).hexdigest()

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> RoleScript:
        return await anyio.to_thread.run_sync(self._role_script, admin_url, apply)

    def _role_script(self, admin_url: str | None, apply: bool) -> RoleScript:
        own, address = self._address, self._address
        if not own.database and self._access.is_unrestricted:
            raise SourceError("The URL of the source names no database. Write the one that is to be read into it.")
        if admin_url is not None:
            # Neither an administrator nor a login to be created needs to get into the database.
            server.administrator_url(admin_url, "mysql", "mariadb")
            address = replace(parse_address(admin_url), database="")
        try:
            with closing_connection(address) as connection:
                ask = partial(fetch, connection)
                if own.database and not ask(_HAS_DATABASE, (own.database,)):
                    words = f"The server has no database {own.database!r}: create it, or correct the source's URL."
                    raise SourceError(words)
                known = self._privileges_of(ask, _role(ask, own) if admin_url else None)
                if known.is_administrator:
                    words = "nothing is taken from it. Write another login into the URL of the source, for example "
                    raise SourceError(f"{known.account} administers the server: {words}pegboard_reader.")
                create, statements = f"CREATE USER IF NOT EXISTS {known.account} IDENTIFIED BY ", [*known.script()]
                connection.commit()
                for statement in (create + connection.escape(own.password), *statements) if apply else ():
                    connection.query(statement)
            if apply:
                with closing_connection(own) as connection:
                    if missed := self._privileges_of(partial(fetch, connection)).refusal():
                        raise SourceError(f"The statements were run, and did not suffice: {missed}")
            return RoleScript(known.account, (f"{create}'{server.NEW_LOGIN_PHRASE}'", *statements))
        except DRIVER_ERRORS as error:
            raise SourceError(f"{address.title}: {error.args[-1] if error.args else error}") from error

    async def aclose(self) -> None:
        """Nothing is kept between statements."""

    async def _read_privileges(self) -> MysqlPrivileges:
        return await self._in_catalog(self._privileges_of)

    def _privileges_of(self, ask: Ask, role: str | None = None) -> MysqlPrivileges:
        return read_privileges(ask, self._access, self._address.database, role, writes=self._writes)

    async def _run(self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool) -> QueryAnswer:
        begun, known = time.monotonic(), self._privileges

        def work(job: _Job) -> QueryAnswer:
            found = read_statement(statement, self._access, self._address.database, known)
            if not isinstance(found, MysqlStatement):
                return found
            if found.is_write and not self._writes:
                return server.writes_refused(found.words[0].text)
            text = bind(found, parameters)
            if isinstance(text, StatementFailure):
                return text
            try:
                connection = job.connect(limits.seconds, write=found.is_write)
                if found.is_write and not write:
                    # A person is asked about what would run, and about nothing else.
                    fetch(connection, f"EXPLAIN {text}")
                    return NEEDS_WRITE
                return _fetch_rows(connection, text, limits, begun, is_write=found.is_write)
            except TooManyBytesError:
                return server.too_large(MAX_ROW_BYTES)
            except DRIVER_ERRORS as error:
                return failure(error, found, text, known)

        return await self._in_thread(work)

    async def _in_catalog(self, work: Callable[[Ask], T]) -> T:
        """Work that asks the catalog. Raises `SourceError`."""
        return await self._in_thread(lambda job: work(partial(fetch, job.connect())))

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


def _role(ask: Ask, own: MysqlAddress) -> str:
    """The account that the server takes the login for; else the first of its name; else one from anywhere."""
    try:
        with closing_connection(replace(own, database="")) as login:
            return str(fetch(login, "SELECT CURRENT_USER()")[0][0])
    except SourceError:
        question = "SELECT Host FROM mysql.user WHERE User = %s AND Host <> '' ORDER BY Host"
        hosts = [str(row[0]) for row in ask(question, (own.user,))]
        return f"{own.user}@{(hosts or ['%'])[0]}"


def _fetch_rows(
    connection: MeteredMysqlConnection, text: str, limits: QueryLimits, begun: float, *, is_write: bool
) -> QueryRows:
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


def failure(
    error: BaseException, statement: MysqlStatement, text: str, known: MysqlPrivileges | None
) -> StatementFailure:
    """`text` is the statement as it was sent. A name that is closed is answered like one that does not exist. Where
    something is closed, privileges are known."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 2013
    words = str(error.args[1] if len(error.args) > 1 else error)
    fault, closes = _FAULTS.get(number, StatementFault.OTHER), known is not None and not known.access.is_unrestricted
    if number == 1064:
        near = re.search(r" near '(?P<text>.+)' at line \d+$", words, re.DOTALL)
        position = text.find(near["text"]) if near and text.count(near["text"]) == 1 else -1
        return StatementFailure(words, None if position < 0 else position, StatementFault.SYNTAX)
    if number == 1227:
        return StatementFailure(ACCESS_DENIED)
    if fault not in _BY_NAME or (found := _NAME.match(words)) is None:
        if closes and number in _NAMES_OTHERS:
            return StatementFailure("A key, a foreign key or a view of what the statement names does not allow it.")
        return StatementFailure(words, None, fault)
    name = re.split(r"[`.]+", found["name"])[-1]
    mentioned = {word.name for word in statement.words}
    columns = known.readable_columns({name.casefold()}) if known is not None else []
    is_readable = known is not None and name.casefold() in known.readable_columns(mentioned)
    if not words.startswith("SELECT") and ((number == 1142 and columns) or (number == 1143 and is_readable)):
        return StatementFailure(ACCESS_DENIED)
    if number == 1142 and columns:
        advice = f"Not all columns of {name!r} can be read here. Name those that can: {', '.join(columns)}."
        return StatementFailure(advice, None, StatementFault.NO_COLUMN)
    if number in (1052, 1054, 1146, 1305) and (not closes or (number == 1052 and is_readable)):
        return StatementFailure(words, None, fault, name)
    if name.casefold() not in mentioned:
        return StatementFailure("The statement names what does not exist or cannot be read.", None, fault)
    return StatementFailure(f"{name!r} does not exist or cannot be read.", None, fault, name)
