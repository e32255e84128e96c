"""PostgreSQL as a source: one statement in a transaction of its own, stopped with its caller; answers to failures."""

import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Final

import anyio
import anyio.to_thread
import asyncpg
from pglast.parser import scan

from pegboard.core.databases.rows import (
    DatabaseCheck,
    QueryAnswer,
    QueryRows,
    ResultTruncation,
    RowCollector,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import Dialect, QueryLimits
from pegboard.ports.databases import Parameters, RoleScript, SourceError
from pegboard.providers.database import server
from pegboard.providers.database.common import ACCESS_DENIED, NEEDS_WRITE, schema_of_rows
from pegboard.providers.database.postgres.connection import (
    DRIVER_ERRORS,
    MAX_BATCH_BYTES,
    MeteredPostgresConnection,
    bind,
    connect,
    place,
    type_name,
)
from pegboard.providers.database.postgres.privileges import OpenNames, read_privileges, role_script
from pegboard.providers.database.postgres.statement import PostgresStatement, read_statement

_MAX_CONNECTIONS: Final = 8
_GRACE_S: Final = 5.0
"""For a server to take a cancel and a rollback; after them the connection is cut."""
_CATALOG_LIMITS: Final = QueryLimits(seconds=server.CATALOG_TIMEOUT_S)

_TABLES, _COLUMNS, _KEYS, _STAMP = files(__package__).joinpath("schema.sql").read_text(encoding="ascii").split(";")
_FAULTS: Final = {
    **dict.fromkeys(("42P01", "3F000"), StatementFault.NO_TABLE),
    **dict.fromkeys(("42P02", "08P01", "42P18"), StatementFault.PARAMETERS),
    **dict.fromkeys(("55P03", "40001", "40P01"), StatementFault.BUSY),
    **dict.fromkeys(("53200", "54001"), StatementFault.MEMORY),
    **{"42601": StatementFault.SYNTAX, "42703": StatementFault.NO_COLUMN, "57014": StatementFault.TIME},
}
_NAME: Final = re.compile(r'(?:relation|column) (?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s("]+))')
_QUOTED_NAME: Final = re.compile(r'"([^"]*)"')
_ABSENT_STATES: Final = frozenset({"42P01", "42703"})
"""A table or a column that does not exist."""
_DENIED_STATE: Final = "42501"
_UNCLEAR_STATES: Final = frozenset({_DENIED_STATE, "42704", "3F000"})
"""Something that is closed, or a type or schema that does not exist."""
_ROW_STATES: Final = frozenset({"42601", "42804", "42P10"})
"""These may count the columns of a row, or tell their types."""
_ABSENT: Final = re.compile(r"pegboard_absent_(\d+)_")


class PostgresEngine(server.ServerEngine):
    dialect: Final = Dialect.POSTGRESQL
    _pool: asyncpg.Pool | None = None
    _open_names: OpenNames | None = None
    """As of the last check. None where nothing can be closed, or before the first."""
    _overloads: frozenset[str] = frozenset()

    async def schema(self) -> DatabaseSchema:
        async with self._connection() as connection:
            tables, columns, keys = [await connection.fetch(query) for query in (_TABLES, _COLUMNS, _KEYS)]
            default = await connection.fetchval("SELECT coalesce(pg_catalog.current_schema(), '')")
        return schema_of_rows(self.dialect, tables, columns, keys, default, self._access)

    async def schema_version(self) -> str:
        async with self._connection() as connection:
            return str(await connection.fetchval(_STAMP))

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> RoleScript:
        return await role_script(self._url, self._access, admin_url, writes=self._writes, apply=apply)

    async def aclose(self) -> None:
        if self._pool is not None:
            with anyio.move_on_after(_GRACE_S):
                await self._pool.close()

    async def _verify(self) -> DatabaseCheck:
        async with self._connection() as connection:
            privileges = await read_privileges(connection, self._access, writes=self._writes)
        # In a thread, because tens of thousands of columns are held against patterns.
        self._open_names = await anyio.to_thread.run_sync(lambda: privileges.open_names)
        self._overloads = privileges.overloads
        findings = await anyio.to_thread.run_sync(privileges.findings)
        return DatabaseCheck(f"PostgreSQL {privileges.login['version']}", privileges.role, findings)

    async def _run(self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool) -> QueryAnswer:
        # In a thread, because a long one takes longer than others may wait.
        read = await anyio.to_thread.run_sync(read_statement, statement, self._open_names, self._overloads)
        if isinstance(read, StatementFailure) and read.fault is StatementFault.SYNTAX and parameters:
            return replace(read, message=f"{read.message}. Write parameters as $1, $2, … in the statement.")
        if not isinstance(read, PostgresStatement):
            return read
        if read.writes and not self._writes:
            return server.writes_refused(read.kind)
        state = ""
        async with self._connection(limits, writes=read.writes and write) as connection:
            try:
                answer = await _execute(connection, read, parameters, limits, write=write)
            except asyncpg.QueryCanceledError:
                # The server keeps the same time, and may be the first to say so.
                return server.timeout_failure(limits)
            except (asyncpg.InternalClientError, asyncpg.UnsupportedClientFeatureError):
                # The driver takes apart what it fetches, and a server may have types that are newer than it.
                answer = StatementFailure(
                    "A column of the answer is of a type that cannot be read here. Cast it to text."
                )
            except DRIVER_ERRORS as error:
                state = getattr(error, "sqlstate", None) or ""
                answer = server_failure(error, hints=self._open_names is None)
        if isinstance(answer, StatementFailure):
            return await self._discreet_failure(answer, state, read)
        unexplained = self._open_names.unexplained if self._open_names and read.kind == "explain" else frozenset[str]()
        if isinstance(answer, QueryRows) and not unexplained.isdisjoint(read.tables):
            return StatementRefusal("The plan of this statement can show what is closed.", "Run the query itself.")
        return answer

    async def _discreet_failure(
        self, failed: StatementFailure, state: str, read: PostgresStatement
    ) -> StatementFailure:
        """What the server says where something is closed depends on it; so it is asked what it says of other names."""
        if self._open_names is None:
            return StatementFailure(ACCESS_DENIED) if state == _DENIED_STATE and read.writes else failed
        if failed.fault is StatementFault.UNAVAILABLE:
            return failed
        renamed, other = rename_closed(read, self._open_names), ""
        if renamed.names:
            async with self._connection() as connection:
                try:
                    await connection.prepare(renamed.text, name="")
                except asyncpg.PostgresError as error:
                    other = error.sqlstate or ""
                    if other in _ABSENT_STATES:
                        failed, state = renamed.as_written(server_failure(error, hints=False)), other
            if state.startswith("42") and state != other:
                state = _DENIED_STATE
        return discreet_failure(failed, state, read, self._open_names)

    @asynccontextmanager
    async def _connection(
        self, limits: QueryLimits = _CATALOG_LIMITS, *, writes: bool = False
    ) -> AsyncIterator[MeteredPostgresConnection]:
        """A connection with a transaction that has begun; rolled back and reset afterwards, or closed where that does
        not work. Raises `SourceError`."""
        if self._pool is None:
            # Not before, because it belongs to the loop that is running then.
            kinds = {"connect": connect, "connection_class": MeteredPostgresConnection}
            self._pool = asyncpg.create_pool(self._url, min_size=0, max_size=_MAX_CONNECTIONS, **kinds)
        connection = None
        try:
            connection = await (await self._pool).acquire()
            connection.meter.room = 1 << 40
            await connection.execute(_begin(connection, limits, writes=writes))
            yield connection
        except DRIVER_ERRORS as error:
            raise SourceError(f"{place(self._url)}: {error}") from error
        finally:
            if connection is not None:
                # Also when cancelled: the server is to have stopped before anyone goes on.
                with anyio.CancelScope(shield=True), suppress(*DRIVER_ERRORS, TimeoutError):
                    try:
                        if connection.is_in_transaction():
                            await connection.execute("ROLLBACK", timeout=_GRACE_S)
                    finally:
                        await self._pool.release(connection, timeout=_GRACE_S)


def _begin(connection: MeteredPostgresConnection, limits: QueryLimits, *, writes: bool) -> str:
    """A first query pins the snapshot, after which no command can make the transaction write. A server that is busy for
    a client that is gone notices only where it is asked to; since PostgreSQL 14 it can be."""
    is_old = connection.get_server_version().major < 14
    looks = "" if is_old else "SET LOCAL client_connection_check_interval = '1s'; "
    late = f"SET LOCAL statement_timeout = {max(1, int(limits.seconds * 1000))}"
    return f"BEGIN TRANSACTION READ {'WRITE' if writes else 'ONLY'}; {late}; {looks}SELECT 1"


async def _execute(
    connection: MeteredPostgresConnection,
    statement: PostgresStatement,
    parameters: Parameters,
    limits: QueryLimits,
    *,
    write: bool,
) -> QueryAnswer:
    """The first rows of a statement, or how many it changed; one that writes is only planned without `write`."""
    begun, meter = time.monotonic(), connection.meter
    # Without a name it makes room for the next by itself.
    prepared = await connection.prepare(statement.text, name="")
    arguments = bind(parameters, prepared.get_parameters())
    if isinstance(arguments, StatementFailure):
        return arguments
    if statement.writes and not write:
        # A person is asked about what would run, and about nothing else.
        await connection.fetch(f"EXPLAIN {statement.text}", *arguments)
        return NEEDS_WRITE
    attributes = prepared.get_attributes()
    types = [type_name(one.type) for one in attributes]
    collector, affected = RowCollector(limits), None
    meter.room = MAX_BATCH_BYTES
    try:
        if statement.writes:
            collector.add(await prepared.fetch(*arguments))
            affected = int(prepared.get_statusmsg().rsplit(" ", 1)[-1])
            # Once the server was asked to commit, not to wait would leave the caller without knowing what happened.
            with anyio.CancelScope(shield=True):
                await connection.execute("COMMIT")
        else:
            cursor = await prepared.cursor(*arguments)
            while wanted := collector.next_fetch:
                meter.room = MAX_BATCH_BYTES
                rows = await cursor.fetch(wanted)
                if not collector.add(rows) or len(rows) < wanted:
                    break
    except DRIVER_ERRORS:
        if not meter.is_overrun:
            raise
        if not collector.rows:
            return server.too_large(MAX_BATCH_BYTES)
    answer = collector.to_rows((one.name for one in attributes), types, time.monotonic() - begun, affected)
    if meter.is_overrun:
        return replace(
            answer,
            truncation=ResultTruncation(True, "bytes", collector.truncation.cells if collector.truncation else ()),
        )
    return answer


def server_failure(error: BaseException, *, hints: bool = True) -> StatementFailure:
    """The hint is the server's too; of names it may be one that is closed. Details are left out, because they bring
    values of rows."""
    if not isinstance(error, asyncpg.PostgresError):
        return StatementFailure(
            f"The connection to the server was lost: {error or type(error).__name__}.", None, StatementFault.UNAVAILABLE
        )
    state, message = error.sqlstate or "", str(getattr(error, "message", None) or error)
    hint, position = getattr(error, "hint", None), getattr(error, "position", None)
    fault = _FAULTS.get(state, StatementFault.UNAVAILABLE if state.startswith(("08", "57P")) else StatementFault.OTHER)
    named = _NAME.search(message) if fault in {StatementFault.NO_TABLE, StatementFault.NO_COLUMN} else None
    name = (named["quoted"] or named["bare"]) if named else None
    words = f"{message}. {hint}" if hint and (hints or name is None) else message
    return StatementFailure(words, int(position) - 1 if position else None, fault, name)


@dataclass(frozen=True)
class RenamedStatement:
    """A statement with names that nothing has in place of closed ones: what the server says of it is what it would say
    if they were absent. A table that does not exist takes the same way."""

    text: str
    names: tuple[str, ...]
    """That were replaced, in the order of the numbers in the others."""
    growth: tuple[tuple[int, int], ...]
    """Where a name was, and how much longer the other one is."""

    def as_written(self, failure: StatementFailure) -> StatementFailure:
        """What the server said, about the statement as it was."""
        message, name = [
            _ABSENT.sub(lambda found: self.names[int(found[1])], words)
            for words in (failure.message, failure.name or "")
        ]
        moved = 0
        for start, longer in self.growth:
            moved += longer if failure.position is not None and start + moved < failure.position else 0
        position = None if failure.position is None else failure.position - moved
        return StatementFailure(message, position, failure.fault, name or None)


def rename_closed(statement: PostgresStatement, open_names: OpenNames) -> RenamedStatement:
    text, tables = statement.text, statement.tables - open_names.tables
    tokens = [token for token in scan(text) if not token.name.endswith("COMMENT")]
    words = [_word(text[token.start : token.end + 1]) for token in tokens]
    columns = _columns(words, open_names.closed_columns) - _columns(words, open_names.columns)
    closed, numbers = set[int](), dict[str, int]()
    for at, word in enumerate(words):
        is_qualified = at > 1 and words[at - 1] == "."
        if is_qualified and f"{words[at - 2]}.{word}" in tables:
            closed |= {at - 2, at}
        elif word in columns or (word in tables and not is_qualified):
            closed.add(at)
    growth = list[tuple[int, int]]()
    for at in sorted(closed, reverse=True):
        start, end = tokens[at].start, tokens[at].end + 1
        name = f"pegboard_absent_{numbers.setdefault(words[at], len(numbers))}_"
        text = text[:start] + name + text[end:]
        growth.insert(0, (start, len(name) - (end - start)))
    return RenamedStatement(text, tuple(numbers), tuple(growth))


def _word(token: str) -> str:
    """A name as the server knows it, unless it is written in escapes. No other token is like one."""
    return token[1:-1].replace('""', '"') if token.startswith('"') else token.lower()


def _columns(words: Iterable[str], tables: Mapping[str, Iterable[str]]) -> set[str]:
    return {column for table in words for column in tables.get(table, ())}


def discreet_failure(
    answer: StatementFailure, state: str, statement: PostgresStatement, open_names: OpenNames
) -> StatementFailure:
    """The same answer for what is closed as for what does not exist."""
    if state == _DENIED_STATE and statement.writes:
        return StatementFailure(ACCESS_DENIED)
    written = dict.fromkeys(_word(statement.text[token.start : token.end + 1]) for token in scan(statement.text))
    tables = [name for name in written if name in open_names.columns]
    is_of_rows = state in _ROW_STATES and any(open_names.closed_columns.get(name) for name in tables)
    if is_of_rows or ('u&"' in statement.text.lower() and state.startswith("42")):
        state = _DENIED_STATE
    if state in _UNCLEAR_STATES | _ABSENT_STATES:
        lists = [f"; {name} has {', '.join(open_names.columns[name])}" for name in tables]
        if state in _UNCLEAR_STATES:
            why = "Something that the statement names does not exist or cannot be read, and * means every column"
            return StatementFailure(why + "".join(lists))
        return replace(answer, message=f"{answer.message} (or cannot be read){''.join(lists)}")
    foreign = next((found for found in _QUOTED_NAME.finditer(answer.message) if found[1] not in statement.text), None)
    if foreign is None:
        return answer
    # A value or a name that the statement does not hold: nothing between it and the last quote is shown.
    words = f'{answer.message[: foreign.start()]}"…"{answer.message[answer.message.rindex(chr(34)) + 1 :]}'
    return StatementFailure(words, answer.position, answer.fault, answer.name)
