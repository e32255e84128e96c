"""PostgreSQL as a source: one statement in a transaction of its own, and stopped on the server when nobody waits."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from .errors import discreet_failure, names_closed, server_failure
from .execution import change_rows, fetch_rows
from .privileges import OpenNames, Privileges, read_privileges
from .schema import STAMP, read_schema
from .statement import QUERIES_AND_WRITES, QUERIES_ONLY, Statement, read_statement
from .values import bound

_MAX_CONNECTIONS: Final = 8
_MAX_IDLE: Final = 4
_GRACE_S: Final = 5.0
"""For a server to take a cancel and a rollback; after them the connection is cut."""
_CHECK_CLIENT: Final = "SET LOCAL client_connection_check_interval = '1s'; "
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
        self._open_names: OpenNames | None = None
        """As of the last check. None where nothing can be closed, or before the first."""
        self._is_shut = False

    async def check(self) -> Checked:
        try:
            privileges = await self._read_privileges()
        except SourceAway as away:
            return Checked("", None, (Finding(str(away), Severity.REFUSED_UNLESS_FORCED),))
        findings = await anyio.to_thread.run_sync(privileges.findings)
        return Checked(f"PostgreSQL {privileges.login['version']}", privileges.role, findings)

    async def schema(self) -> Schema:
        async with self._reading() as connection:
            return await read_schema(connection, self._access)

    async def stamp(self) -> str:
        async with self._reading() as connection:
            return str(await connection.fetchval(STAMP))

    async def aclose(self) -> None:
        self._is_shut = True
        while self._idle:
            await _close(self._idle.pop())

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        begun = time.monotonic()
        try:
            with anyio.move_on_after(limits.seconds):
                if self._open_names is None and not self._access.is_whole:
                    # The gateway checks before it asks; whoever does not is served as well.
                    await self._read_privileges()
                read = await self._read(statement, write=write and self._writes)
                is_tried = isinstance(read, Unreadable) and read.is_write and self._writes and not write
                if is_tried:
                    # A person is asked about what would run, and about nothing else.
                    read = await self._read(statement, write=True)
                match read:
                    case Unreadable(why, fix, is_write):
                        return Refused(
                            why, QUERIES_AND_WRITES if self._writes and fix == QUERIES_ONLY else fix, is_write
                        )
                    case Failed(words, position, fault) if parameters and fault is Fault.SYNTAX:
                        return Failed(f"{words}. Write parameters as $1, $2, … in the statement.", position, fault)
                    case Failed():
                        return read
                question = _Question(read, statement, parameters, limits, self._open_names, is_tried, begun)
                async with self._connection(_begin(limits, writes=read.writes and not is_tried)) as connection:
                    return await _answer(connection, question)
        except SourceAway as away:
            return Failed(str(away), None, Fault.AWAY)
        return _late(limits)

    async def _read(self, statement: str, *, write: bool) -> Statement | Unreadable | Failed:
        if len(statement) < _SHORT:
            return read_statement(statement, self._open_names, write=write)
        return await anyio.to_thread.run_sync(partial(read_statement, statement, self._open_names, write=write))

    async def _read_privileges(self) -> Privileges:
        """Also keeps what statements may name. Raises `SourceAway`."""
        async with self._reading() as connection:
            privileges = await read_privileges(connection, self._access, writes=self._writes)
        # Tens of thousands of columns are held against patterns.
        self._open_names = await anyio.to_thread.run_sync(lambda: privileges.open_names)
        return privileges

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
                is_old = connection.get_server_version().major < 14
                await connection.execute(begin.replace(_CHECK_CLIENT, "") if is_old else begin)
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
    open_names: OpenNames | None
    is_tried: bool
    """A statement that writes, which is only planned."""
    begun: float


async def _answer(connection: MeteredConnection, question: _Question) -> Answer:
    answer: Answer
    state = ""
    try:
        answer = await _execute(connection, question)
    except TooLargeError:
        return Failed(f"A row of the answer is larger than {MAX_BATCH_BYTES // 2**20} MB.", None, Fault.MEMORY)
    except asyncpg.QueryCanceledError:
        # The server keeps the same time, and may be the first to say so.
        return _late(question.limits)
    except (asyncpg.InternalClientError, asyncpg.UnsupportedClientFeatureError):
        # The driver takes apart what it fetches, and a server may have types that are newer than it.
        words = "A column of the answer is of a type that cannot be read here. Name the columns, and cast it to text."
        answer = Failed(words)
    except DRIVER_ERRORS as error:
        state = getattr(error, "sqlstate", None) or ""
        is_ours = isinstance(error, asyncpg.DataError) and not state
        answer = Failed(str(error).split(" (")[0], None, Fault.PARAMETERS) if is_ours else server_failure(error)
    if not isinstance(answer, Failed):
        return answer
    if question.open_names is not None:
        return discreet_failure(answer, state, question.statement, question.text, question.open_names)
    return Failed(DENIED) if state == "42501" and question.statement.writes else answer


async def _execute(connection: MeteredConnection, question: _Question) -> Answer:
    if question.statement.has_closed_type:
        return Failed(DENIED)
    # Without a name it makes room for the next by itself.
    prepared = await connection.prepare(question.text, name="")
    arguments = bound(question.parameters, prepared.get_parameters())
    if isinstance(arguments, Failed):
        return arguments
    if question.is_tried:
        await connection.fetch(f"EXPLAIN {question.text}", *arguments)
        return WAITS
    if not question.statement.writes:
        rows = await fetch_rows(connection, prepared, arguments, question.limits, question.begun)
        if question.statement.kind == "explain" and names_closed(rows.rows, question.text, question.open_names):
            return Refused("The plan of this statement names what is closed.", "Run the query itself.")
        return rows
    rows = await change_rows(connection, prepared, arguments, question.limits, question.begun)
    # Once the server was asked to commit, to stop waiting would leave the caller without an answer to what happened.
    with anyio.CancelScope(shield=True):
        await connection.execute("COMMIT")
    return rows


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
    return f"BEGIN TRANSACTION READ {kind}; SET LOCAL statement_timeout = {late}; {_CHECK_CLIENT}SELECT 1"


def _late(limits: Limits) -> Failed:
    return Failed(f"The statement was stopped after {limits.seconds:g} s.", None, Fault.TIME)
