"""PostgreSQL as a source: one statement in a read-only transaction of its own, judged by the grammar, the catalogue
and the plan before it is run, and stopped on the server when nobody waits for it any more.
"""

import time
from collections.abc import AsyncIterator, Callable
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
from pegboard.providers.builtin.database.unreadable import WAITS

from .arguments import bound
from .catalogue import ask
from .connecting import MEND, ROW, Metered, TooMuch, connect, place
from .fetching import changed, fetched
from .following import following
from .found import Found
from .functions import Missing, faulty, views_of
from .hidden import hidden
from .memory import STAMP as SAME
from .plan import beyond, planned, untold
from .reading import ONLY, ONLY_AND_WRITES, Broken, Named, Reading, Unreadable, read
from .relations import Reach, Visible, literal, missing, reach
from .rewriting import Rewritten, rewritten
from .row_types import narrowed
from .saying import discreet, failed
from .schema import STAMP, read_schema
from .views import looked_through

_CONNECTIONS: Final = 8
_IDLE: Final = 4
_GRACE: Final = 5.0
"""Seconds for a server to take a cancel and a rollback; after them the connection is cut."""
_FIRST: Final = 16
"""Rows that are asked for at first. Few answers have more; where they are too large together, they are asked for one by
one."""
_SHORT: Final = 4000
"""Characters that are read in less than it takes to hand them to a thread, or not much more."""
_DRIVER: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)


@dataclass(frozen=True)
class _Judged:
    text: Rewritten
    reading: Reading
    reach: Reach
    found: Found
    access: Access


class PostgresEngine:
    """`forced`: its operator insists on a role that may do too much, or on foreign tables."""

    dialect: Final = Dialect.POSTGRESQL

    def __init__(self, url: str, access: Access, *, writes: bool = False, forced: bool = False) -> None:
        self._url = url
        self._access = access
        self._writes = writes
        self._forced = forced
        self._places = anyio.Semaphore(_CONNECTIONS)
        self._idle: list[Metered] = []
        self._known: tuple[str, Schema] | None = None
        self._closed = False

    async def check(self) -> Checked:
        try:
            async with self._connection(_looking) as connection:
                checked: Checked = connection.role.checked(writes=self._writes)
                return checked
        except SourceAway as away:
            return Checked("", None, (Finding(str(away), Severity.REFUSED_UNLESS_FORCED),))

    async def schema(self) -> Schema:
        async with self._reading() as connection:
            return await self._schema(connection)

    async def stamp(self) -> str:
        async with self._reading() as connection:
            return str(await connection.fetchval(STAMP))

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        begun = time.monotonic()
        reading = await self._read(statement, write=write and self._writes)
        is_tried = isinstance(reading, Unreadable) and reading.is_write and self._writes and not write
        if is_tried:
            # A person is asked about what would run, and about nothing else.
            reading = await self._read(statement, write=True)
        match reading:
            case Unreadable(why, mend, is_write):
                return Refused(why, ONLY_AND_WRITES if self._writes and mend == ONLY else mend, is_write)
            case Broken(words, position):
                mend = ". Write parameters as $1, $2, … in the statement." if parameters else ""
                return Failed(f"{words}{mend}", position, Fault.SYNTAX)
        answer: Answer = Failed(_late(limits), None, Fault.TIME)
        try:
            with anyio.move_on_after(limits.seconds):
                for first in (_FIRST, 1):
                    with suppress(TooMuch):
                        async with self._connection(partial(_begin, reading.writes and not is_tried, limits)) as one:
                            if one.role.powers and not self._forced:
                                return Refused(one.role.powers[0], MEND)
                            answer = await self._answer(
                                one, statement, reading, parameters, limits, begun, is_tried, first
                            )
                        break
        except SourceAway as away:
            return Failed(str(away), None, Fault.AWAY)
        return answer

    async def _read(self, statement: str, *, write: bool) -> Reading | Unreadable | Broken:
        if len(statement) < _SHORT:
            return read(statement, write=write)
        return await anyio.to_thread.run_sync(partial(read, statement, write=write))

    async def aclose(self) -> None:
        self._closed = True
        while self._idle:
            await _shut(self._idle.pop())

    async def _answer(
        self,
        connection: Metered,
        statement: str,
        reading: Reading,
        parameters: Parameters,
        limits: Limits,
        begun: float,
        is_tried: bool,
        first: int,
    ) -> Answer:
        """Raises `TooMuch` for rows that may be taken in one by one."""
        text = Rewritten(statement)
        try:
            judged = await self._judge(connection, statement, reading)
            if not isinstance(judged, _Judged):
                return judged
            text = judged.text
            if parameters:
                await connection.execute("SET LOCAL plan_cache_mode = auto")
            guarded = not self._access.is_whole and reading.kind in {"select", "explain"}
            # Without a name it makes room for the next by itself. Its plan is asked for as one without a name too.
            prepared = await connection.prepare(text.text, name=None if guarded else "")
            arguments = bound(parameters, prepared.get_parameters())
            if isinstance(arguments, Failed):
                return arguments
            if guarded and (fault := await self._planned(connection, judged, arguments)):
                return Refused(fault.why, fault.mend)
            if is_tried:
                await connection.fetch(f"EXPLAIN {text.text}", *arguments)
                return WAITS
            if not reading.writes:
                return await fetched(connection, prepared, arguments, limits, begun, first)
            rows = await changed(connection, prepared, arguments, limits, begun)
            # Once the server was told to commit, to stop waiting would leave the caller without an answer to what
            # happened.
            with anyio.CancelScope(shield=True):
                await connection.execute("COMMIT")
            return rows
        except TooMuch as much:
            if much.rows > 1:
                raise
            return Failed(f"A row of the answer is larger than {ROW // 2**20} MB.", None, Fault.MEMORY)
        except asyncpg.DataError as error:
            return self._told(
                Failed(str(error).split(" (")[0], None, Fault.PARAMETERS)
                if error.sqlstate is None
                else failed(error, text),
                statement,
            )
        except (asyncpg.InternalClientError, asyncpg.UnsupportedClientFeatureError):
            # It takes apart what it fetches, and a server may have types that are newer than it.
            words = (
                "A column of the answer is of a type that cannot be read here. Name the columns, and cast it to text."
            )
            return Failed(words, None, Fault.OTHER)
        except asyncpg.QueryCanceledError:
            # The server keeps the same time, and may be the first to say so.
            return Failed(_late(limits), None, Fault.TIME)
        except _DRIVER as error:
            return self._told(failed(error, text), statement)

    async def _planned(self, connection: Metered, judged: _Judged, arguments: list[object]) -> Unreadable | None:
        plan = await planned(connection, judged.text.text[judged.reading.query :], arguments)
        fault = beyond(plan, judged.reach)
        if fault is None and judged.reading.kind == "explain":
            fault = await untold(connection, plan, judged.reach, judged.found, judged.access)
        return fault

    async def _judge(self, connection: Metered, statement: str, reading: Reading) -> _Judged | Refused | Failed:
        found = await ask(connection, (reading,))
        visible: Visible = ()
        if not self._access.is_whole and any(one.schema == "information_schema" for one in found.relations.values()):
            schema = await self._schema(connection)
            visible = tuple((*table.name, tuple(column.name for column in table.columns)) for table in schema.tables)
        rule = await narrowed(connection, found, self._access)
        verdict = reach(reading, found, rule.access, visible, forced=self._forced)
        fault = verdict if not isinstance(verdict, Reach) else faulty(reading, found, rule.access, rule.types)
        if fault is None:
            fault = await hidden(connection, (reading,), found, named=self._access.is_whole)
        if fault is None:
            fault = await looked_through(connection, views_of(found), self._access)
            if isinstance(fault, Missing):
                fault = next(missing(one) for one in reading.named if fault.name in _reached(found, one))
        if fault is None and reading.writes and not self._access.is_whole:
            target = next(found.relations[one.schema, one.name] for one in reading.named if one.target)
            fault = await following(connection, statement, target, rule.access)
        if fault is None:
            assert isinstance(verdict, Reach)
            if reading.verbose and not self._access.is_whole:
                return Refused("EXPLAIN VERBOSE tells of more than is asked.", "Leave VERBOSE out.")
            text = rewritten(statement, verdict.replacements)
            if isinstance(text, Rewritten):
                return _Judged(text, reading, verdict, found, rule.access)
            fault = text
        match fault:
            case Missing(words, kind, name, position):
                return Failed(words, position, kind, name)
            case Unreadable(why, mend):
                return Refused(why, mend)

    def _told(self, answer: Failed, statement: str) -> Failed:
        if self._access.is_whole:
            return answer
        return discreet(answer, statement, self._access)

    async def _schema(self, connection: Metered) -> Schema:
        stamp = str(await connection.fetchval(STAMP))
        if self._known is None or self._known[0] != stamp:
            connection.allow(1 << 40)
            self._known = (stamp, await read_schema(connection, self._access, forced=self._forced))
        return self._known[1]

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[Metered]:
        """A read-only transaction for questions of our own. Raises `SourceAway`."""
        async with self._connection(_looking) as connection:
            if connection.role.powers and not self._forced:
                raise SourceAway(f"{place(self._url)}: {connection.role.powers[0]} {MEND}")
            try:
                yield connection
            except _DRIVER as error:
                raise SourceAway(f"{place(self._url)}: {error}") from error

    @asynccontextmanager
    async def _connection(self, begin: Callable[[Metered], str]) -> AsyncIterator[Metered]:
        """One that nobody else uses, in a transaction that has begun; rolled back and reset afterwards, or closed where
        that does not work."""
        async with self._places:
            connection = await self._begun(begin)
            whole = False
            try:
                yield connection
                whole = True
            finally:
                # Also when cancelled: the server is to have stopped before anyone goes on.
                with anyio.CancelScope(shield=True):
                    await self._put_back(connection, whole)

    async def _begun(self, begin: Callable[[Metered], str]) -> Metered:
        """One that was kept and still answers, else a new one. Raises `SourceAway`."""
        while self._idle:
            connection = self._idle.pop()
            with suppress(*_DRIVER):
                await _execute(connection, begin(connection))
                return connection
        connection = await connect(self._url)
        try:
            await _execute(connection, begin(connection))
        except _DRIVER as error:
            raise SourceAway(f"{place(self._url)}: {error}") from error
        return connection

    async def _put_back(self, connection: Metered, whole: bool) -> None:
        if whole and not connection.is_closed() and not connection.meter.overrun and not self._closed:
            try:
                with anyio.fail_after(_GRACE):
                    undo = "ROLLBACK;" if connection.is_in_transaction() else ""
                    await connection.execute(f"{undo}{connection.get_reset_query()}")
                if len(self._idle) < _IDLE:
                    self._idle.append(connection)
                    return
            except (*_DRIVER, TimeoutError):
                connection.terminate()
        await _shut(connection)


def _reached(found: Found, named: Named) -> frozenset[str]:
    """The views that are read by this name."""
    relation = found.relations[named.schema, named.name]
    return frozenset(f"{schema}.{name}" for schema, name in ((relation.schema, relation.name), *relation.family))


async def _execute(connection: Metered, text: str) -> None:
    """Nothing is left of a connection on which it fails, or on which nobody waits for it."""
    try:
        if await connection.execute(text) != "SELECT 1" or connection.memory.is_full:
            connection.forget()
    except BaseException:
        connection.terminate()
        raise


async def _shut(connection: Metered) -> None:
    try:
        await connection.close(timeout=_GRACE)
    except (*_DRIVER, TimeoutError):
        connection.terminate()


def _begin(writes: bool, limits: Limits, connection: Metered) -> str:
    """A first query pins the snapshot, after which no command can make the transaction write. It finds a row where
    nothing was written since the catalogue was asked."""
    way = "READ WRITE" if writes else "READ ONLY"
    # A server that is busy for somebody who is gone looks up only if it is told to; since PostgreSQL 14 it can be.
    looks = "SET LOCAL client_connection_check_interval = '1s'; " if connection.get_server_version().major >= 14 else ""
    late = max(1, int(limits.seconds * 1000))
    return (
        f"BEGIN TRANSACTION {way}; SET LOCAL statement_timeout = {late}; {looks}"
        f"SELECT 1 WHERE {SAME} = {literal(connection.memory.stamp)}"
    )


def _looking(_: Metered) -> str:
    """For questions of our own."""
    return "BEGIN TRANSACTION READ ONLY"


def _late(limits: Limits) -> str:
    return f"The statement was stopped after {limits.seconds:g} s."
