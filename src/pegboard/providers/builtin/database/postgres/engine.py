"""PostgreSQL as a source: one statement in a transaction of its own, and stopped on the server when nobody waits."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
import asyncpg

from pegboard.core.database import (
    Access,
    Answer,
    Checked,
    Dialect,
    Failed,
    Fault,
    Finding,
    Limits,
    Refused,
    Schema,
    Severity,
)
from pegboard.ports.databases import Parameters, SourceAway
from pegboard.providers.builtin.database.unreadable import DENIED, WAITS, Unreadable

from .connection import DRIVER_ERRORS, MAX_BATCH_BYTES, MeteredConnection, TooLargeError, connect, place
from .errors import discreet_failure, names_more, refused_function, server_failure
from .execution import change_rows, fetch_rows
from .privileges import Closed, closed, findings, read_catalog
from .schema import STAMP, read_schema
from .statement import QUERIES_AND_WRITES, QUERIES_ONLY, Name, Statement, judge, read_statement
from .values import bound

_MAX_CONNECTIONS: Final = 8
_MAX_IDLE: Final = 4
_GRACE_S: Final = 5.0
"""For a server to take a cancel and a rollback; after them the connection is cut."""
_FIRST_ROWS: Final = 16
"""Few answers have more; where they are too large together, they are asked for one by one."""
_LOOKS_UP: Final = "SET LOCAL client_connection_check_interval = '1s'; "
"""A server that is busy for a client that is gone notices only where it is asked to; since PostgreSQL 14 it can be."""
_SHORT: Final = 4000
"""Characters that are read in less than it takes to hand them to a thread, or not much more."""


class PostgresEngine:
    dialect: Final = Dialect.POSTGRESQL

    def __init__(self, url: str, access: Access, *, writes: bool = False) -> None:
        self._url = url
        self._access = access
        self._writes = writes
        self._places = anyio.Semaphore(_MAX_CONNECTIONS)
        self._idle: list[MeteredConnection] = []
        self._hidden: Closed | None = None
        """As of the last check. None where nothing can be closed, or before the first."""
        self._is_shut = False

    async def check(self) -> Checked:
        try:
            async with self._reading() as connection:
                catalog = await read_catalog(connection)
                version = f"PostgreSQL {catalog.login['version']}"
                # Tens of thousands of columns are held against patterns.
                hidden = await anyio.to_thread.run_sync(closed, catalog, self._access)
                if not self._access.is_whole:
                    self._hidden = hidden
                return Checked(version, catalog.role, findings(catalog, self._access, hidden, writes=self._writes))
        except SourceAway as away:
            return Checked("", None, (Finding(str(away), Severity.REFUSED_UNLESS_FORCED),))

    async def schema(self) -> Schema:
        async with self._reading() as connection:
            return await read_schema(connection, self._access)

    async def stamp(self) -> str:
        async with self._reading() as connection:
            return str(await connection.fetchval(STAMP))

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        begun = time.monotonic()
        read = await self._read(statement, write=write and self._writes)
        is_tried = isinstance(read, Unreadable) and read.is_write and self._writes and not write
        if is_tried:
            # A person is asked about what would run, and about nothing else.
            read = await self._read(statement, write=True)
        match read:
            case Unreadable(why, fix, is_write):
                return Refused(why, QUERIES_AND_WRITES if self._writes and fix == QUERIES_ONLY else fix, is_write)
            case Failed():
                if parameters:
                    return Failed(
                        f"{read.words}. Write parameters as $1, $2, … in the statement.", read.position, read.fault
                    )
                return read
        answer: Answer = _late(limits)
        try:
            with anyio.move_on_after(limits.seconds):
                hidden = await self._known()
                verdict = judge(read, hidden)
                if isinstance(verdict, Unreadable):
                    return Refused(verdict.why, verdict.mend)
                if isinstance(verdict, Failed):
                    return verdict
                question = _Question(read, statement, parameters, limits, hidden, is_tried, begun)
                for first in (_FIRST_ROWS, 1):
                    with suppress(TooLargeError):
                        async with self._connection(_begin(limits, writes=read.writes and not is_tried)) as connection:
                            if isinstance(verdict, Name):
                                return await _without_function(connection, verdict)
                            answer = await self._answer(connection, question, first)
                        break
        except SourceAway as away:
            return Failed(str(away), None, Fault.AWAY)
        return answer

    async def _read(self, statement: str, *, write: bool) -> Statement | Unreadable | Failed:
        if len(statement) < _SHORT:
            return read_statement(statement, write=write)
        return await anyio.to_thread.run_sync(partial(read_statement, statement, write=write))

    async def _known(self) -> Closed | None:
        """What is closed, by its names. The gateway checks before it asks; whoever does not is served as well."""
        if self._hidden is None and not self._access.is_whole:
            async with self._reading() as connection:
                self._hidden = closed(await read_catalog(connection), self._access)
        return self._hidden

    async def aclose(self) -> None:
        self._is_shut = True
        while self._idle:
            await _close(self._idle.pop())

    async def _answer(self, connection: MeteredConnection, question: "_Question", first: int) -> Answer:
        """Raises `TooLargeError` for rows that may be taken in one by one."""
        error: BaseException | None = None
        try:
            answer = await _execute(connection, question, first)
            if not isinstance(answer, Failed):
                return answer
        except TooLargeError as much:
            if much.rows > 1:
                raise
            return Failed(f"A row of the answer is larger than {MAX_BATCH_BYTES // 2**20} MB.", None, Fault.MEMORY)
        except (asyncpg.InternalClientError, asyncpg.UnsupportedClientFeatureError):
            # It takes apart what it fetches, and a server may have types that are newer than it.
            answer = Failed(
                "A column of the answer is of a type that cannot be read here. Name the columns, and cast it to text."
            )
        except asyncpg.QueryCanceledError:
            # The server keeps the same time, and may be the first to say so.
            return _late(question.limits)
        except asyncpg.DataError as failure:
            error = failure
            words = Failed(str(failure).split(" (")[0], None, Fault.PARAMETERS)
            answer = words if failure.sqlstate is None else server_failure(failure)
        except DRIVER_ERRORS as failure:
            error, answer = failure, server_failure(failure)
        if question.hidden is None:
            return (
                Failed(DENIED) if getattr(error, "sqlstate", None) == "42501" and question.statement.writes else answer
            )
        return await discreet_failure(
            connection, answer, error, question.statement, question.text, self._access, question.hidden
        )

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[MeteredConnection]:
        """A read-only transaction for questions of our own. Raises `SourceAway`."""
        async with self._connection("BEGIN TRANSACTION READ ONLY") as connection:
            connection.allow(1 << 40)
            try:
                yield connection
            except DRIVER_ERRORS as error:
                raise SourceAway(f"{place(self._url)}: {error}") from error

    @asynccontextmanager
    async def _connection(self, begin: str) -> AsyncIterator[MeteredConnection]:
        """One that nobody else uses, in a transaction that has begun; rolled back and reset afterwards, or closed where
        that does not work."""
        async with self._places:
            connection = await self._begun(begin)
            is_whole = False
            try:
                yield connection
                is_whole = True
            finally:
                # Also when cancelled: the server is to have stopped before anyone goes on.
                with anyio.CancelScope(shield=True):
                    await self._put_back(connection, is_whole)

    async def _begun(self, begin: str) -> MeteredConnection:
        """One that was kept and still answers, else a new one. Raises `SourceAway`."""
        while True:
            is_new = not self._idle
            connection = await connect(self._url) if is_new else self._idle.pop()
            try:
                connection.forget_types()
                is_old = connection.get_server_version().major < 14
                await connection.execute(begin.replace(_LOOKS_UP, "") if is_old else begin)
                return connection
            except DRIVER_ERRORS as error:
                connection.terminate()
                if is_new:
                    raise SourceAway(f"{place(self._url)}: {error}") from error
            except BaseException:
                # Nothing is left of a connection on which nobody waits.
                connection.terminate()
                raise

    async def _put_back(self, connection: MeteredConnection, is_whole: bool) -> None:
        if is_whole and not connection.is_closed() and not connection.meter.is_overrun and not self._is_shut:
            try:
                with anyio.fail_after(_GRACE_S):
                    undo = "ROLLBACK;" if connection.is_in_transaction() else ""
                    await connection.execute(f"{undo}{connection.get_reset_query()}")
                if len(self._idle) < _MAX_IDLE:
                    self._idle.append(connection)
                    return
            except (*DRIVER_ERRORS, TimeoutError):
                connection.terminate()
        await _close(connection)


@dataclass(frozen=True)
class _Question:
    statement: Statement
    text: str
    parameters: Parameters
    limits: Limits
    hidden: Closed | None
    is_tried: bool
    """A statement that writes, which is only planned."""
    begun: float


async def _execute(connection: MeteredConnection, question: _Question, first: int) -> Answer:
    # Without a name it makes room for the next by itself.
    prepared = await connection.prepare(question.text, name="")
    arguments = bound(question.parameters, prepared.get_parameters())
    if isinstance(arguments, Failed):
        return arguments
    if question.is_tried:
        await connection.fetch(f"EXPLAIN {question.text}", *arguments)
        return WAITS
    if not question.statement.writes:
        rows = await fetch_rows(connection, prepared, arguments, question.limits, question.begun, first)
        is_plan = question.statement.kind == "explain" and question.hidden is not None
        if is_plan and names_more(rows.rows, question.text, question.hidden):
            return Refused("The plan of this statement names what is closed.", "Run the query itself.")
        return rows
    rows = await change_rows(connection, prepared, arguments, question.limits, question.begun)
    # Once the server was asked to commit, to stop waiting would leave the caller without an answer to what happened.
    with anyio.CancelScope(shield=True):
        await connection.execute("COMMIT")
    return rows


async def _without_function(connection: MeteredConnection, function: Name) -> Refused | Failed:
    is_defined = "SELECT bool_or(oid >= 16384) FROM pg_catalog.pg_proc WHERE proname = $1"
    refused = refused_function(function, await connection.fetchval(is_defined, function.name))
    return refused if isinstance(refused, Failed) else Refused(*refused)


async def _close(connection: MeteredConnection) -> None:
    """Whether it was closed well or not, nothing of it is left."""
    try:
        await connection.close(timeout=_GRACE_S)
    except (*DRIVER_ERRORS, TimeoutError):
        connection.terminate()


def _begin(limits: Limits, *, writes: bool) -> str:
    """A first query pins the snapshot, after which no command can make the transaction write."""
    late = max(1, int(limits.seconds * 1000))
    kind = "WRITE" if writes else "ONLY"
    return f"BEGIN TRANSACTION READ {kind}; SET LOCAL statement_timeout = {late}; {_LOOKS_UP}SELECT 1"


def _late(limits: Limits) -> Failed:
    return Failed(f"The statement was stopped after {limits.seconds:g} s.", None, Fault.TIME)
