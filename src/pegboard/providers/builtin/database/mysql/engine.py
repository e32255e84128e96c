"""MySQL and MariaDB as a source: one statement in a transaction of its own on a connection of its own. A statement that
nobody waits for any more is stopped on the server.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pegboard.core.database import Access, Catch, Dialect, FindingSeverity, Limits, Schema
from pegboard.core.database.answered import answered
from pegboard.ports.databases import Answer, Checked, Failed, Fault, Finding, Parameters, Refused, Rows, SourceAway
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
from .privileges import QUOTED_GRANTS, Ask, Catalog, read_login
from .schema import read_schema, read_stamp
from .statement import ONLY, ONLY_AND_WRITES, read_statement
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
    connection: MeteredConnection | None = None
    is_stopped: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def connect(self, seconds: float) -> MeteredConnection:
        """Raises `SourceAway`."""
        self.connection = connect(self.address, seconds)
        if self.is_stopped:
            raise SourceAway("Nobody waits for it any more.")
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
        except (*DRIVER_ERRORS, SourceAway) as error:
            if error.args[:1] != (_NO_THREAD,):  # it ended meanwhile
                log.warning("%s: a statement could not be stopped: %s", self.address.title, error)
        if not self.ended.wait(_GRACE_S):
            self.connection.cut()
            self.ended.wait(_GRACE_S)


class MysqlEngine:
    """The privileges of its login are the boundary: `check` verifies them, and is asked by whoever serves it."""

    dialect: Final = Dialect.MYSQL

    def __init__(self, url: str, access: Access, *, writes: bool = False) -> None:
        self._address = parse_address(url)
        self._access = access
        self._writes = writes
        self._threads = anyio.CapacityLimiter(_MAX_CONNECTIONS)
        self._catalog: Catalog | None = Catalog(access) if access.is_whole else None
        """What the login saw at the last check."""

    async def check(self) -> Checked:
        try:
            return await self._in_thread(self._check)
        except SourceAway as away:
            return Checked("", None, (Finding(str(away), FindingSeverity.REFUSED_UNLESS_FORCED),))

    async def schema(self) -> Schema:
        return await self._look(lambda ask: read_schema(ask, self._access, self._address.database))

    async def stamp(self) -> str:
        return await self._look(lambda ask: read_stamp(ask, self._address.database))

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        begun = time.monotonic()

        def work(job: _Job, catalog: Catalog) -> Answer:
            found = read_statement(statement, self._access, self._address.database, catalog.partial_tables)
            if isinstance(found, Refused):
                return Refused(found.why, ONLY_AND_WRITES) if self._writes and found.mend == ONLY else found
            if found.is_write and not self._writes:
                return Refused(f"{found.words[0].upper} changes rows.", ONLY, is_write=True)
            text = bind(found.text, found.words, parameters)
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
                return Failed(f"A row of the answer is larger than {MAX_ROW_BYTES // 2**20} MB.", None, Fault.MEMORY)
            except DRIVER_ERRORS as error:
                return failure(error, found, text, catalog)

        with anyio.move_on_after(limits.seconds) as waiting:
            try:
                if self._catalog is None:
                    await self._in_thread(self._check)
                assert self._catalog is not None
                return await self._in_thread(partial(work, catalog=self._catalog))
            except SourceAway as away:
                return Failed(str(away), None, Fault.AWAY)
        assert waiting.cancelled_caught
        return Failed(f"The statement was stopped after {limits.seconds:g} s.", None, Fault.TIME)

    async def aclose(self) -> None:
        """Nothing is kept between statements."""

    def _check(self, job: _Job) -> Checked:
        connection = job.connect(_CATALOG_TIMEOUT_S)
        connection.query(QUOTED_GRANTS)
        ask = partial(fetch, connection)
        ((version, role),) = ask("SELECT VERSION(), CURRENT_USER()")
        login = read_login(ask, self._access, self._address.database, writes=self._writes)
        self._catalog = login.catalog
        number, _, product = str(version).partition("-")
        name = "MariaDB" if "MariaDB" in product else "MySQL"
        return Checked(f"{name} {number}", str(role), tuple(login.findings()))

    async def _look(self, look: Callable[[Ask], T]) -> T:
        """Ask the catalog. Raises `SourceAway`."""

        def work(job: _Job) -> T:
            connection = job.connect(_CATALOG_TIMEOUT_S)
            start_transaction(connection, _CATALOG_TIMEOUT_S, write=False)
            return look(partial(fetch, connection))

        return await self._in_thread(work)

    async def _in_thread(self, work: Callable[[_Job], T]) -> T:
        """Raises `SourceAway`."""
        job = _Job(self._address)

        def run() -> T:
            try:
                return work(job)
            except DRIVER_ERRORS as error:
                raise SourceAway(f"{self._address.title}: {error.args[-1] if error.args else error}") from error
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
    catch = Catch(limits)
    connection.room = MAX_ROW_BYTES
    cursor = connection.cursor()
    cursor.execute(text)
    names = [each[0] for each in cursor.description or ()]
    types, count, has_ended, is_full = connection.types() if names else [], 0, not names, False
    while not has_ended and (is_write or not is_full):
        batch: list[Sequence[object]] = []
        connection.room = MAX_ROW_BYTES + _BATCH_BYTES
        while len(batch) < (catch.wanted or 1) and connection.room > MAX_ROW_BYTES and not has_ended:
            row = cursor.fetchone()
            has_ended = row is None
            batch += [] if row is None else [row]
        count += len(batch)
        is_full = is_full or not catch.take(batch) or not catch.wanted
    affected = (count if names else cursor.rowcount) if is_write else None
    if is_write:
        connection.commit()
    if not names:
        return Rows((), (), None, time.monotonic() - begun, cursor.rowcount)
    return answered(names, types, catch, time.monotonic() - begun, affected)
