"""PostgreSQL as a source: one statement in a transaction of its own, stopped with its caller; answers to failures."""

import logging
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from importlib.resources import files
from string import ascii_lowercase, ascii_uppercase
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import anyio
import anyio.to_thread
import asyncpg
from pglast.parser import scan

from pegboard.core.databases.rows import (
    QueryAnswer,
    ResultTruncation,
    RowCollector,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import DatabaseAccess, Dialect, QueryLimits
from pegboard.ports.databases import Parameters, RoleScript, SourceError
from pegboard.providers.database import server
from pegboard.providers.database.common import ACCESS_DENIED, NEEDS_WRITE, schema_of_rows
from pegboard.providers.database.postgres.connection import (
    DRIVER_ERRORS,
    MAX_BATCH_BYTES,
    MAX_LIST_BYTES,
    MeteredPostgresConnection,
    bind,
    connect,
    place,
    type_name,
)
from pegboard.providers.database.postgres.privileges import PgPrivileges, read_privileges
from pegboard.providers.database.postgres.statement import PostgresStatement, read_statement

_MAX_CONNECTIONS: Final = 8
_GRACE_S: Final = 5.0
"""For a server to take a cancel and a rollback; after them the connection is cut."""
_MAX_LOST: Final = 2
_RUNNING: Final = "SELECT pid FROM pg_catalog.pg_stat_activity WHERE pid = ANY ($1)"
_CATALOG_LIMITS: Final = QueryLimits(seconds=server.CATALOG_TIMEOUT_S)

_OPEN, *_LISTS, _KEYS, _STAMP = files(__package__).joinpath("schema.sql").read_text(encoding="ascii").split(";")
_TABLES, _COLUMNS = (_OPEN + each for each in _LISTS)
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
_IN_SMALL_LETTERS: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
"""Others stay as they are, also in names without quotes."""
_MAX_NAME_BYTES: Final = 63
_ABSENT: Final = re.compile(r"pegboard_absent_(\d+)_")


_LOST: Final = defaultdict[str, set[int]](set)
"""By where they are, processes of servers that did not stop: some functions never look whether they should. An engine
that is opened anew knows of them."""

log = logging.getLogger(__name__)


class PostgresEngine(server.ServerEngine[PgPrivileges]):
    dialect: Final = Dialect.POSTGRESQL
    _pool: asyncpg.Pool | None = None

    def __init__(self, url: str, access: DatabaseAccess, *, writes: bool = False) -> None:
        super().__init__(url, access, writes=writes)
        self._lost = _LOST[place(url)]

    async def schema(self) -> DatabaseSchema:
        default, (tables, columns, keys) = await self._ask_catalog(_TABLES, _COLUMNS, _KEYS)
        return schema_of_rows(self.dialect, tables, columns, keys, default, self._access)

    async def schema_version(self) -> str:
        return str((await self._ask_catalog(_STAMP))[1][0][0][0])

    async def _ask_catalog(self, *queries: str) -> tuple[str, list[list[asyncpg.Record]]]:
        """And the schema of names without one."""
        async with self._connection() as connection:
            default = await connection.fetchval("SELECT coalesce(pg_catalog.current_schema(), '')")
            await connection.execute("SET LOCAL search_path = pg_catalog")
            return default, [await connection.fetch(query) for query in queries]

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> RoleScript:
        parts = urlsplit(self._url)
        options = dict(parse_qsl(parts.query))
        role = unquote(parts.username or "") or options.get("user")
        if admin_url is not None and not role:
            words = f"The URL of {place(self._url)} names no user. Write the login that the source uses into it."
            raise SourceError(words)
        asked = self._url if admin_url is None else _in_database(admin_url, self._url)
        connection = await connect(asked)
        try:
            await connection.execute(f"BEGIN READ {'WRITE' if apply else 'ONLY'}")
            connection.meter.room = 1 << 40
            before = await read_privileges(connection, self._access, role, writes=self._writes)
            if before.is_administrator:
                words = "Write another user into the URL, for example pegboard_reader."
                raise SourceError(f"The login {before.account} is the server's own superuser. {words}")
            statements = tuple(before.script())
            password = (unquote(parts.password or "") or options.get("password", "")).replace("'", "''")
            for text in statements if apply else ():
                creation, is_creation, _ = text.partition(" PASSWORD ") if text.startswith("CREATE") else ("", "", "")
                by_password = f" PASSWORD '{password}'" if password else ""
                await connection.execute(f"{creation}{by_password}" if is_creation else text)
            if apply:
                after = await read_privileges(connection, self._access, role, writes=self._writes)
                if missed := after.refusal():
                    words = f"The statements did not suffice, so nothing was changed: {missed}"
                    raise SourceError(f"{words} A superuser or the owner of what it names can do that.")
                await connection.execute("COMMIT")
            return RoleScript(before.role, statements)
        except DRIVER_ERRORS as error:
            is_denied = getattr(error, "sqlstate", None) == _DENIED_STATE
            fix = " A superuser or the owner can do that: write one into --admin-url." if is_denied else ""
            raise SourceError(f"{place(asked)}: {error}. Nothing was changed.{fix}") from error
        finally:
            connection.terminate()

    async def aclose(self) -> None:
        if self._pool is not None:
            with anyio.move_on_after(_GRACE_S):
                await self._pool.close()

    async def _read_privileges(self) -> PgPrivileges:
        async with self._connection() as connection:
            return await read_privileges(connection, self._access, writes=self._writes)

    async def _run(self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool) -> QueryAnswer:
        # In a thread, because a long one takes longer than others may wait.
        read = await anyio.to_thread.run_sync(read_statement, statement, self._privileges)
        if isinstance(read, StatementFailure) and read.fault is StatementFault.SYNTAX and parameters:
            return replace(read, message=f"{read.message}. Write parameters as $1, $2, … in the statement.")
        if not isinstance(read, PostgresStatement):
            return read
        if read.writes and not self._writes:
            return server.writes_refused(read.kind)
        if read.kind == "explain" and self._privileges is None:
            self._privileges = await self._read_privileges()
        state, other, known = "", "", self._privileges
        names: Sequence[str] = ()
        if known is not None and not self._access.is_unrestricted:
            # What the server says of names that nothing has is what it would say if what is closed were absent. It
            # checks no privileges for parts of a statement that need not run.
            text, names, growth = rename_closed(read, known)
            if names and (error := await self._prepare_error(text)) is not None:
                other = error.sqlstate or ""
                if other in _ABSENT_STATES:
                    return discreet_failure(
                        _as_written(server_failure(error, hints=False), names, growth), other, read, known
                    )
        async with self._connection(limits, writes=read.writes and write) as connection:
            try:
                answer = await _execute(connection, read, parameters, limits, write=write)
            except asyncpg.QueryCanceledError:
                # The server keeps the same time, and may be the first to say so.
                return server.out_of_time(limits)
            except (asyncpg.InternalClientError, asyncpg.UnsupportedClientFeatureError):
                # The driver takes apart what it fetches, and a server may have types that are newer than it.
                words = "A column of the answer is of a type that cannot be read here. Cast it to text."
                answer = StatementFailure(words)
            except DRIVER_ERRORS as error:
                state = getattr(error, "sqlstate", None) or ""
                answer = server_failure(error, hints=self._access.is_unrestricted)
        if isinstance(answer, StatementFailure):
            if known is None or self._access.is_unrestricted:
                return StatementFailure(ACCESS_DENIED) if state == _DENIED_STATE and read.writes else answer
            if names and state.startswith("42") and state != other:
                state = _DENIED_STATE
            return discreet_failure(answer, state, read, known)
        if read.kind == "explain" and known is not None and not known.unexplained_tables.isdisjoint(read.tables):
            return StatementRefusal("The plan of this statement can show what is closed.", "Run the query itself.")
        return answer

    async def _prepare_error(self, text: str) -> asyncpg.PostgresError | None:
        async with self._connection() as connection:
            try:
                await connection.prepare(text, name="")
            except asyncpg.PostgresError as error:
                return error
        return None

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
        connection, pid = None, 0
        try:
            connection = await (await self._pool).acquire()
            connection.meter.room, pid = 1 << 40, connection.get_server_pid()
            await connection.execute(_begin(connection, limits, writes=writes))
            if self._lost:
                running = {pid for (pid,) in await connection.fetch(_RUNNING, [*self._lost])}
                self._lost.intersection_update(running)
            if len(self._lost) >= _MAX_LOST:
                words = "Statements were given up that the server does not stop. Its operator finds them in the log."
                raise SourceError(f"{place(self._url)}: {words}")
            yield connection
        except DRIVER_ERRORS as error:
            raise SourceError(f"{place(self._url)}: {error}") from error
        finally:
            if connection is not None:
                # Also when cancelled: the server is to have stopped before anyone goes on.
                with anyio.CancelScope(shield=True), suppress(*DRIVER_ERRORS):
                    try:
                        try:
                            if connection.is_in_transaction():
                                await connection.execute("ROLLBACK", timeout=_GRACE_S)
                        finally:
                            await self._pool.release(connection, timeout=_GRACE_S)
                    except TimeoutError:
                        self._lost.add(pid)
                        log.error("%s: process %d does not stop its statement. End it there.", place(self._url), pid)


def _in_database(admin_url: str, url: str) -> str:
    """The administrator's URL, in the database of the source; on its server too, where it names none."""
    admin, own = urlsplit(server.administrator_url(admin_url, "postgresql", "postgres")), urlsplit(url)
    if admin.hostname or "host" in dict(parse_qsl(admin.query)):
        return urlunsplit(admin._replace(path=own.path))
    user, _, _ = admin.netloc.rpartition("@")
    return urlunsplit(own._replace(netloc=f"{user}@{own.netloc.rpartition('@')[2]}"))


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
    has_lists = any(type.endswith("[]") for type in types)
    meter.room = room = MAX_LIST_BYTES if has_lists else MAX_BATCH_BYTES
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
                meter.room, wanted = room, max(1, wanted // 4) if has_lists else wanted
                rows = await cursor.fetch(wanted)
                is_kept = await anyio.to_thread.run_sync(collector.add, rows) if has_lists else collector.add(rows)
                if not is_kept or len(rows) < wanted:
                    break
    except DRIVER_ERRORS:
        if not meter.is_overrun:
            raise
        if not collector.rows:
            return server.too_large(room)
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


def rename_closed(
    statement: PostgresStatement, known: PgPrivileges
) -> tuple[str, Sequence[str], Sequence[tuple[int, int]]]:
    """A statement with names that nothing has in place of closed ones, and of tables that do not exist; the names that
    were replaced, in the order of the numbers in the others; where each was, and how much longer the other is."""
    text, tables = (
        statement.text,
        statement.tables - known.open_tables - (statement.named_queries - known.closed_tables),
    )
    opened, closed_columns = known.columns_by_table
    tokens = [token for token in scan(text) if not token.name.endswith("COMMENT")]
    words = [_word(text[token.start : token.end + 1]) for token in tokens]
    columns = _columns(words, closed_columns) - _columns(words, opened)
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
    return text, tuple(numbers), growth


def _as_written(failed: StatementFailure, names: Sequence[str], growth: Iterable[tuple[int, int]]) -> StatementFailure:
    """What the server said of other names, about the statement as it was."""
    message, name = [
        _ABSENT.sub(lambda found: names[int(found[1])], words) for words in (failed.message, failed.name or "")
    ]
    at = failed.position
    for start, longer in growth:
        at = at - longer if at is not None and start < at else at
    return StatementFailure(message, at, failed.fault, name or None)


def _word(token: str) -> str:
    """A name as the server knows it, unless it is written in escapes. No other token is like one."""
    name = token[1:-1].replace('""', '"') if token.startswith('"') else token.translate(_IN_SMALL_LETTERS)
    return name.encode()[:_MAX_NAME_BYTES].decode(errors="ignore")


def _columns(words: Iterable[str], tables: Mapping[str, Iterable[str]]) -> set[str]:
    return {column for table in words for column in tables.get(table, ())}


def discreet_failure(
    answer: StatementFailure, state: str, statement: PostgresStatement, known: PgPrivileges
) -> StatementFailure:
    """The same answer for what is closed as for what does not exist."""
    if state == _DENIED_STATE and statement.writes:
        return StatementFailure(ACCESS_DENIED)
    written = dict.fromkeys(_word(statement.text[token.start : token.end + 1]) for token in scan(statement.text))
    opened, closed_columns = known.columns_by_table
    tables = [name for name in written if name in opened]
    is_of_rows = state in _ROW_STATES and any(closed_columns.get(name) for name in tables)
    if is_of_rows or ('u&"' in statement.text.lower() and state.startswith("42")):
        state = _DENIED_STATE
    if state in _UNCLEAR_STATES | _ABSENT_STATES:
        lists = [f"; {name} has {', '.join(opened[name])}" for name in tables]
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
