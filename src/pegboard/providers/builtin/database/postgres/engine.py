"""PostgreSQL as a source: one statement in a transaction of its own, and stopped on the server when nobody waits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
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
    FindingSeverity,
    Limits,
    Refused,
    Rows,
    Schema,
)
from pegboard.ports.databases import Parameters, SourceAway
from pegboard.providers.builtin.database.unreadable import DENIED, Unreadable

from .connection import DRIVER_ERRORS, MAX_BATCH_BYTES, MeteredConnection, TooLargeError, connect, place
from .errors import discreet_failure, names_closed, server_failure
from .execution import execute
from .privileges import OpenNames, Privileges, read_privileges
from .schema import STAMP, read_schema
from .statement import QUERIES_AND_WRITES, QUERIES_ONLY, Statement, read_statement

_MAX_CONNECTIONS: Final = 8
_MAX_IDLE: Final = 4
_GRACE_S: Final = 5.0
"""For a server to take a cancel and a rollback; after them the connection is cut."""
_OWN_LIMITS: Final = Limits(seconds=60)
"""Of questions about the catalog."""


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
            return Checked("", None, (Finding(str(away), FindingSeverity.REFUSED_UNLESS_FORCED),))
        findings = await anyio.to_thread.run_sync(privileges.findings)
        return Checked(f"PostgreSQL {privileges.login['version']}", privileges.role, findings)

    async def schema(self) -> Schema:
        async with self._connection() as connection:
            return await read_schema(connection, self._access)

    async def stamp(self) -> str:
        async with self._connection() as connection:
            return str(await connection.fetchval(STAMP))

    async def aclose(self) -> None:
        self._is_shut = True
        while self._idle:
            await _close(self._idle.pop())

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        try:
            with anyio.move_on_after(limits.seconds):
                if self._open_names is None and not self._access.is_whole:
                    # The gateway checks before it asks; whoever does not is served as well.
                    await self._read_privileges()
                read = await self._read(statement, write=write and self._writes)
                if isinstance(read, Unreadable) and read.is_write and self._writes and not write:
                    # A person is asked about what would run, and about nothing else.
                    read = await self._read(statement, write=True)
                match read:
                    case Unreadable(why, fix, is_write):
                        fix = QUERIES_AND_WRITES if self._writes and fix == QUERIES_ONLY else fix
                        return Refused(why, fix, is_write)
                    case Failed(words, position, Fault.SYNTAX) if parameters:
                        words += ". Write parameters as $1, $2, … in the statement."
                        return Failed(words, position, Fault.SYNTAX)
                    case Failed():
                        return read
                async with self._connection(limits, writes=read.writes and write) as connection:
                    return await self._answer(connection, read, parameters, limits, is_tried=read.writes and not write)
        except SourceAway as away:
            return Failed(str(away), None, Fault.AWAY)
        return _late(limits)

    async def _read(self, statement: str, *, write: bool) -> Statement | Unreadable | Failed:
        """In a thread, because a long one takes longer than others may wait."""
        return await anyio.to_thread.run_sync(partial(read_statement, statement, self._open_names, write=write))

    async def _read_privileges(self) -> Privileges:
        """Also keeps what statements may name. Raises `SourceAway`."""
        async with self._connection() as connection:
            privileges = await read_privileges(connection, self._access, writes=self._writes)
        # Tens of thousands of columns are held against patterns.
        self._open_names = await anyio.to_thread.run_sync(lambda: privileges.open_names)
        return privileges

    async def _answer(
        self, connection: MeteredConnection, read: Statement, parameters: Parameters, limits: Limits, *, is_tried: bool
    ) -> Answer:
        state = ""
        try:
            answer: Answer = Failed(DENIED)
            if not read.has_unknown_type:
                answer = await execute(connection, read, parameters, limits, is_tried=is_tried)
        except TooLargeError:
            return Failed(f"A row of the answer is larger than {MAX_BATCH_BYTES // 2**20} MB.", None, Fault.MEMORY)
        except asyncpg.QueryCanceledError:
            # The server keeps the same time, and may be the first to say so.
            return _late(limits)
        except (asyncpg.InternalClientError, asyncpg.UnsupportedClientFeatureError):
            # The driver takes apart what it fetches, and a server may have types that are newer than it.
            answer = Failed("A column of the answer is of a type that cannot be read here. Cast it to text.")
        except DRIVER_ERRORS as error:
            state = getattr(error, "sqlstate", None) or ""
            answer = server_failure(error)
        if isinstance(answer, Failed) and self._open_names is not None:
            return discreet_failure(answer, state, read, self._open_names)
        if isinstance(answer, Failed) and state == "42501" and read.writes:
            return Failed(DENIED)
        if isinstance(answer, Rows) and read.kind == "explain" and names_closed(answer, read, self._open_names):
            return Refused("The plan of this statement names what is closed.", "Run the query itself.")
        return answer

    @asynccontextmanager
    async def _connection(
        self, limits: Limits = _OWN_LIMITS, *, writes: bool = False
    ) -> AsyncIterator[MeteredConnection]:
        """One that nobody else uses, in a transaction that has begun; rolled back and reset afterwards, or closed where
        that does not work. Raises `SourceAway`."""
        async with self._places:
            while self._idle and self._idle[-1].is_closed():
                self._idle.pop()
            connection = self._idle.pop() if self._idle else await connect(self._url)
            is_whole = False
            try:
                connection.allow(1 << 40)
                await connection.execute(_begin(connection, limits, writes=writes))
                yield connection
                is_whole = not connection.meter.is_overrun and not self._is_shut
            except DRIVER_ERRORS as error:
                raise SourceAway(f"{place(self._url)}: {error}") from error
            finally:
                # Also when cancelled: the server is to have stopped before anyone goes on.
                with anyio.CancelScope(shield=True):
                    if not (is_whole and await _reset(connection) and len(self._idle) < _MAX_IDLE):
                        await _close(connection)
                    else:
                        self._idle.append(connection)


async def _reset(connection: MeteredConnection) -> bool:
    """Whether it is as good as new."""
    undo = "ROLLBACK;" if connection.is_in_transaction() else ""
    with suppress(*DRIVER_ERRORS, TimeoutError), anyio.fail_after(_GRACE_S):
        await connection.execute(f"{undo}{connection.get_reset_query()}")
        return True
    return False


async def _close(connection: MeteredConnection) -> None:
    """Whether it was closed well or not, nothing of it is left."""
    try:
        await connection.close(timeout=_GRACE_S)
    except (*DRIVER_ERRORS, TimeoutError):
        connection.terminate()


def _begin(connection: MeteredConnection, limits: Limits, *, writes: bool) -> str:
    """A first query pins the snapshot, after which no command can make the transaction write. A server that is busy for
    a client that is gone notices only where it is asked to; since PostgreSQL 14 it can be."""
    kind, late = "WRITE" if writes else "ONLY", max(1, int(limits.seconds * 1000))
    is_old = connection.get_server_version().major < 14
    looks = "" if is_old else "SET LOCAL client_connection_check_interval = '1s'; "
    return f"BEGIN TRANSACTION READ {kind}; SET LOCAL statement_timeout = {late}; {looks}SELECT 1"


def _late(limits: Limits) -> Failed:
    return Failed(f"The statement was stopped after {limits.seconds:g} s.", None, Fault.TIME)
