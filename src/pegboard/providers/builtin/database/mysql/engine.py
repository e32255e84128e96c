"""MySQL and MariaDB as a source: one statement in a transaction of its own on a connection that nobody else has. A
statement that nobody waits for any more is stopped on the server.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pegboard.core.database import (
    Access,
    Answer,
    Catch,
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
from pegboard.core.database.answered import answered
from pegboard.ports.databases import Parameters, SourceAway
from pegboard.providers.builtin.database.unreadable import WAITS

from .connection import (
    DRIVER_ERRORS,
    MAX_ROW_BYTES,
    Address,
    ConnectionPool,
    MeteredConnection,
    TooManyBytesError,
    connect,
    fetch,
    parse_address,
    start_transaction,
)
from .errors import failure
from .privileges import check_login
from .schema import read_schema, read_stamp
from .statement import ONLY, ONLY_AND_WRITES, Kind, Statement, read_statement, refused_clause
from .values import bind

_MAX_CONNECTIONS: Final = 8
_GRACE_S: Final = 5.0
_BATCH_BYTES: Final = 8 * 2**20
_CATALOG_TIMEOUT_S: Final = 60.0
_NO_THREAD: Final = 1094

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass
class _Job:
    """A connection that a thread works on, so that another can stop what it does."""

    address: Address
    pool: ConnectionPool
    connection: MeteredConnection | None = None
    is_stopped: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def connect(self, seconds: float) -> MeteredConnection:
        """Raises `SourceAway`."""
        connection = self.pool.take(seconds)
        with self.lock:
            self.connection = connection
            if self.is_stopped:
                raise SourceAway("Nobody waits for it any more.")
        return connection

    def end(self, *, is_done: bool) -> None:
        """A connection that was to be stopped is not used again: a KILL may still be on its way."""
        with self.lock:
            connection = self.connection
            if is_done and not self.is_stopped:
                self.connection = None
            elif connection is not None:
                connection.is_spent = True
        if connection is not None:
            connection.discard_answer()
            self.pool.put_back(connection)
        self.ended.set()

    def stop(self) -> None:
        """Returns when the thread has ended, or its connection was cut."""
        with self.lock:
            self.is_stopped = True
            connection = self.connection
        if connection is not None and not self.ended.is_set():
            try:
                killer = connect(self.address, _GRACE_S)
                try:
                    killer.query(f"KILL QUERY {int(connection.thread_id())}")
                finally:
                    killer.close()
            except (*DRIVER_ERRORS, SourceAway) as error:
                if error.args[:1] != (_NO_THREAD,):  # it ended meanwhile
                    log.warning("%s: a statement could not be stopped: %s", self.address.title, error)
        if not self.ended.wait(_GRACE_S) and connection is not None:
            connection.cut()
            self.ended.wait(_GRACE_S)


class MysqlEngine:
    """The privileges of its login are the boundary: `check` verifies them, and is asked by whoever serves it."""

    dialect: Final = Dialect.MYSQL

    def __init__(self, url: str, access: Access, *, writes: bool = False) -> None:
        self._address = parse_address(url)
        self._access = access
        self._writes = writes
        self._pool = ConnectionPool(self._address)
        self._threads = anyio.CapacityLimiter(_MAX_CONNECTIONS)

    async def check(self) -> Checked:
        def check(job: _Job) -> Checked:
            connection = job.connect(_CATALOG_TIMEOUT_S)
            return check_login(connection, self._access, self._address.database, writes=self._writes)

        try:
            return await self._in_thread(check)
        except SourceAway as away:
            return Checked("", None, (Finding(str(away), FindingSeverity.REFUSED_UNLESS_FORCED),))

    async def schema(self) -> Schema:
        return await self._look(lambda ask: read_schema(ask, self._access, self._address.database))

    async def stamp(self) -> str:
        return await self._look(lambda ask: read_stamp(ask, self._address.database))

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        begun = time.monotonic()

        def work(job: _Job) -> Answer:
            found = read_statement(statement, self._access, self._address.database)
            if isinstance(found, Refused):
                return Refused(found.why, ONLY_AND_WRITES) if self._writes and found.mend == ONLY else found
            is_write = found.kind is Kind.WRITE
            if is_write and not self._writes:
                return Refused(f"{found.words[0].upper} changes rows.", ONLY, is_write=True)
            text = bind(found.text, found.words, parameters)
            if isinstance(text, Failed):
                return text
            connection = job.connect(limits.seconds)
            return self._answer(connection, found, text, limits, begun, is_tried=is_write and not write)

        with anyio.move_on_after(limits.seconds) as waiting:
            try:
                return await self._in_thread(work)
            except SourceAway as away:
                return Failed(str(away), None, Fault.AWAY)
        assert waiting.cancelled_caught
        return Failed(f"The statement was stopped after {limits.seconds:g} s.", None, Fault.TIME)

    async def aclose(self) -> None:
        self._pool.close()

    async def _look(self, look: Callable[[Callable[[str], Sequence[tuple[object, ...]]]], T]) -> T:
        """Ask the catalog. Raises `SourceAway`."""

        def work(job: _Job) -> T:
            connection = job.connect(_CATALOG_TIMEOUT_S)
            start_transaction(connection, _CATALOG_TIMEOUT_S, write=False)
            return look(lambda question: fetch(connection, question))

        return await self._in_thread(work)

    async def _in_thread(self, work: Callable[[_Job], T]) -> T:
        """Raises `SourceAway`."""
        job = _Job(self._address, self._pool)

        def run() -> T:
            is_done = False
            try:
                result = work(job)
                is_done = True
                return result
            except DRIVER_ERRORS as error:
                raise SourceAway(f"{self._address.title}: {error.args[-1] if error.args else error}") from error
            finally:
                job.end(is_done=is_done)

        try:
            return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._threads)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(job.stop)
            raise

    def _answer(
        self,
        connection: MeteredConnection,
        statement: Statement,
        text: str,
        limits: Limits,
        begun: float,
        *,
        is_tried: bool,
    ) -> Answer:
        is_write = statement.kind is Kind.WRITE
        try:
            start_transaction(connection, limits.seconds, write=is_write)
            if refusal := refused_clause(
                statement, self._access, lambda question, given: fetch(connection, question, given)
            ):
                return refusal
            if is_tried:
                # A person is asked about what would run, and about nothing else.
                fetch(connection, f"EXPLAIN {text}")
                connection.rollback()
                return WAITS
            is_plan = statement.kind is Kind.EXPLAIN and not self._access.is_whole
            rows = _fetch_rows(connection, text, limits, begun, is_plan=is_plan, is_write=is_write)
            if is_write:
                connection.commit()
            return rows
        except TooManyBytesError:
            connection.is_spent = True
            return Failed(f"A row of the answer is larger than {MAX_ROW_BYTES // 2**20} MB.", None, Fault.MEMORY)
        except DRIVER_ERRORS as error:
            connection.is_spent = True
            return failure(error, self._access, text, lambda table: self._readable(connection, table))

    def _readable(self, connection: MeteredConnection, table: str) -> Sequence[str]:
        question = (
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_NAME = %s "
            "AND FIND_IN_SET('select', PRIVILEGES) ORDER BY TABLE_SCHEMA = DATABASE() DESC, ORDINAL_POSITION"
        )
        try:
            return [str(row[0]) for row in fetch(connection, question, (table,))]
        except DRIVER_ERRORS:
            return ()


_KEY_NAMES: Final = re.compile(
    r'("(?:key|possible_keys|used_key_parts|key_parts|index)": )(?:"(?!PRIMARY")[^"]*"|\[[^\]]*\])'
)


def _without_keys(names: Sequence[str], row: Sequence[object]) -> Sequence[object]:
    """A row of a plan without the names of keys, which often bear those of closed columns."""
    plan = dict(zip(names, row, strict=True))
    for name, value in plan.items():
        if name in ("possible_keys", "key"):
            plan[name] = value if value in (None, "PRIMARY") else "…"
        elif isinstance(value, str):
            plan[name] = _KEY_NAMES.sub(r'\g<1>"…"', value) if name == "EXPLAIN" else re.sub(r"\(.*\)", "(…)", value)
    return tuple(plan.values())


def _fetch_rows(
    connection: MeteredConnection, text: str, limits: Limits, begun: float, *, is_plan: bool, is_write: bool
) -> Rows:
    """What a change returns is read to its end, whatever is kept of it: before that it is not done."""
    catch = Catch(limits)
    connection.allow(MAX_ROW_BYTES)
    cursor = connection.cursor()
    try:
        cursor.execute(text)
        names = [each[0] for each in cursor.description or ()]
        if not names:
            return Rows((), (), None, time.monotonic() - begun, cursor.rowcount)
        types, has_ended, count = connection.types(), False, 0
        while not has_ended and (wanted := catch.wanted):
            batch: list[Sequence[object]] = []
            connection.allow(MAX_ROW_BYTES + _BATCH_BYTES)
            while len(batch) < wanted and connection.room > MAX_ROW_BYTES and not has_ended:
                row = cursor.fetchone()
                has_ended = row is None
                if row is not None:
                    count += 1
                    batch.append(_without_keys(names, row) if is_plan else row)
            is_full = not catch.take(batch)
            has_ended = has_ended or (is_full and not is_write)
            while is_full and not has_ended:
                connection.allow(MAX_ROW_BYTES)
                has_ended = cursor.fetchone() is None
                count += not has_ended
    finally:
        connection.discard_answer()
    return answered(names, types, catch, time.monotonic() - begun, count if is_write else None)
