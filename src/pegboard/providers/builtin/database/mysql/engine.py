"""MySQL and MariaDB as a source: one statement in a read-only transaction on a connection that nobody else has and
that knows of no statement before. A statement that nobody waits for any more is ended on the server.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, TypeVar

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
    Limits,
    Refused,
    Rows,
    Schema,
    Severity,
)
from pegboard.core.database.answered import answered
from pegboard.ports.databases import Parameters, SourceAway
from pegboard.providers.builtin.database.unreadable import WAITS

from .arguments import bound
from .asking import Server
from .connecting import ROW, Metered, Place, TooMuch, asked, connect, place, set_up
from .listing import Row, told_row
from .plan import hidden_keys, names_hidden, told_plan
from .pool import DRIVER, Pool
from .powers import MEND, role
from .reading import ONLY, ONLY_AND_WRITES, Broken, Reading, read
from .saying import failed
from .schema import read_schema, stamp
from .splicing import Edited, edited
from .tables import Known, Tables
from .words import Unreadable

_CONNECTIONS: Final = 8
_GRACE: Final = 5.0
_BATCH: Final = 8 * 2**20
"""Bytes of rows that are held before they are cut."""
_LONG: Final = 60.0
"""Seconds for questions of our own."""

_NO_THREAD: Final = 1094

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass
class _Job:
    """A connection that a thread works on, so that another can end what it does."""

    where: Place
    pool: Pool
    connection: Metered | None = None
    unwanted: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def connected(self, seconds: float) -> Metered:
        """Raises `SourceAway`."""
        connection = self.pool.taken(seconds)
        with self.lock:
            self.connection = connection
            if self.unwanted:
                raise SourceAway("Nobody waits for it any more.")
        return connection

    def end(self, *, whole: bool) -> None:
        """One that was to be stopped serves nobody else: whoever stops it may still be about to."""
        with self.lock:
            connection = self.connection
            if whole and not self.unwanted:
                self.connection = None
            elif connection is not None:
                connection.is_spent = True
        if connection is not None:
            connection.forget()
            self.pool.put_back(connection)
        self.ended.set()

    def stop(self) -> None:
        """Returns when the thread has, or when it was cut off."""
        with self.lock:
            self.unwanted = True
            connection = self.connection
        if connection is not None and not self.ended.is_set():
            try:
                killer = connect(self.where, _GRACE)
                try:
                    killer.query(f"KILL QUERY {int(connection.thread_id())}")
                finally:
                    killer.close()
            except (*DRIVER, SourceAway) as error:
                # It may have ended meanwhile, and its connection with it.
                if error.args[:1] != (_NO_THREAD,):
                    log.warning("%s: a statement could not be stopped: %s", self.where.told, error)
        if not self.ended.wait(_GRACE) and connection is not None:
            connection.cut()
            self.ended.wait(_GRACE)


class MysqlEngine:
    """`forced`: its operator insists on a user that may do too much."""

    dialect: Final = Dialect.MYSQL

    def __init__(self, url: str, access: Access, *, writes: bool = False, forced: bool = False) -> None:
        self._place = place(url)
        self._access = access
        self._writes = writes
        self._forced = forced
        self._pool = Pool(self._place)
        self._threads = anyio.CapacityLimiter(_CONNECTIONS)
        self._powers: tuple[str, ...] | None = None
        self._server = Server(lower=False, is_mariadb=False)

    async def check(self) -> Checked:
        def look(connection: Metered) -> Checked:
            return role(connection).checked(writes=self._writes)

        try:
            return await self._looked(look)
        except SourceAway as away:
            return Checked("", None, (Finding(str(away), Severity.REFUSED_UNLESS_FORCED),))

    async def schema(self) -> Schema:
        return await self._looked(self._schema)

    async def stamp(self) -> str:
        def look(connection: Metered) -> str:
            self._safe(connection)
            set_up(connection, _LONG, write=False)
            return stamp(lambda question: asked(connection, question), self._place.database)

        return await self._looked(look)

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        begun = time.monotonic()

        def work(job: _Job) -> Answer:
            reading = read(statement, write=write and self._writes)
            is_tried = isinstance(reading, Unreadable) and reading.is_write and self._writes and not write
            if is_tried:
                # A person is asked about what would run, and about nothing else.
                reading = read(statement, write=True)
            match reading:
                case Unreadable(why, mend, is_write):
                    return Refused(why, ONLY_AND_WRITES if self._writes and mend == ONLY else mend, is_write)
                case Broken(words, position):
                    return Failed(words, position, Fault.SYNTAX)
            connection = job.connected(limits.seconds)
            if self._over(connection):
                return Refused((self._powers or ("",))[0], MEND)
            return self._answer(connection, reading, parameters, limits, begun, is_tried)

        with anyio.move_on_after(limits.seconds) as waiting:
            try:
                return await self._worked(work)
            except SourceAway as away:
                return Failed(str(away), None, Fault.AWAY)
        assert waiting.cancelled_caught
        return Failed(f"The statement was stopped after {limits.seconds:g} s.", None, Fault.TIME)

    async def aclose(self) -> None:
        self._pool.close()

    async def _looked(self, look: Callable[[Metered], T]) -> T:
        """What a question of our own is answered. Raises `SourceAway`."""
        return await self._worked(lambda job: look(job.connected(_LONG)))

    async def _worked(self, work: Callable[[_Job], T]) -> T:
        """What a thread makes of a job. Raises `SourceAway`."""
        job = _Job(self._place, self._pool)

        def whole() -> T:
            done = False
            try:
                told = work(job)
                done = True
                return told
            except DRIVER as error:
                raise SourceAway(f"{self._place.told}: {error.args[-1] if error.args else error}") from error
            finally:
                job.end(whole=done)

        try:
            return await anyio.to_thread.run_sync(whole, abandon_on_cancel=True, limiter=self._threads)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(job.stop)
            raise

    def _over(self, connection: Metered) -> bool:
        if self._forced:
            return False
        if self._powers is None:
            self._powers = role(connection).powers
        return bool(self._powers)

    def _safe(self, connection: Metered) -> None:
        if self._over(connection):
            raise SourceAway(f"{self._place.told}: {(self._powers or ('',))[0]} {MEND}")

    def _schema(self, connection: Metered) -> Schema:
        self._safe(connection)
        set_up(connection, _LONG, write=False)
        return self._whole(connection)

    def _whole(self, connection: Metered) -> Schema:
        tables = self._tables(connection)

        def is_open(schema: str, name: str) -> bool:
            return self._access.is_whole or tables.through(Known(schema, name, True, ())) is None

        return read_schema(lambda question: asked(connection, question), self._access, self._place.database, is_open)

    def _tables(self, connection: Metered) -> Tables:
        def ask(question: str, given: Sequence[object]) -> list[tuple[Any, ...]]:
            return asked(connection, question, given)

        return Tables(
            ask,
            self._access,
            self._place.database,
            self._server,
            lambda: [
                (*table.name, tuple(one.name for one in table.columns)) for table in self._whole(connection).tables
            ],
        )

    def _answer(
        self,
        connection: Metered,
        reading: Reading,
        parameters: Parameters,
        limits: Limits,
        begun: float,
        is_tried: bool,
    ) -> Answer:
        text = Edited(reading.text)
        try:
            set_up(connection, limits.seconds, write=reading.writes)
            tables = self._tables(connection)
            judged = tables.judged(reading)
            self._server = tables.server
            match judged:
                case Unreadable(why, mend):
                    return Refused(why, mend)
                case Failed():
                    return judged
            values = bound(reading.words, parameters)
            if isinstance(values, Failed):
                return values
            text = edited(reading.text, (*judged, *values))
            if is_tried:
                asked(connection, f"EXPLAIN {text.text}".replace("%", "%%"))
                connection.rollback()
                return WAITS
            hidden = frozenset[str]()
            tell: _Tell = _as_it_is
            if reading.kind == "explain" and not self._access.is_whole:
                hidden = hidden_keys(tables.ask, tables.listed(), self._access)
                tell = told_plan(hidden)
            elif not self._access.is_whole:
                tell = _alike(told_row(reading, self._place.database, tables.listed))
            rows = _fetched(connection, text, limits, begun, tell, to_the_end=reading.writes)
            if len(rows.columns) == 1 and names_hidden(rows.rows, hidden):
                return Refused("Such a plan is told as a table only.", "Leave FORMAT=JSON out.")
            if reading.writes:
                connection.commit()
            return rows
        except TooMuch:
            connection.is_spent = True
            return Failed(f"A row of the answer is larger than {ROW // 2**20} MB.", None, Fault.MEMORY)
        except DRIVER as error:
            connection.is_spent = True
            told = failed(error, self._access)
            return replace(told, words=text.as_written(told.words))


_Tell: TypeAlias = Callable[[Sequence[str]], Callable[[Row], Row | None]]
"""Of the columns of an answer, and then of each row, what is told of it."""


def _as_it_is(columns: Sequence[str]) -> Callable[[Row], Row | None]:
    return lambda row: row


def _alike(tell: Callable[[Row], Row | None]) -> _Tell:
    return lambda columns: tell


def _fetched(connection: Metered, text: Edited, limits: Limits, begun: float, tell: _Tell, *, to_the_end: bool) -> Rows:
    """`to_the_end`: what a change gives back is read until there is no more, whatever is kept of it. Before that it is
    not done, and the server hears no commit."""
    catch = Catch(limits)
    connection.allow(ROW)
    cursor = connection.cursor()
    try:
        cursor.execute(text.text)
        described = cursor.description or ()
        if not described:
            return Rows((), (), None, time.monotonic() - begun, cursor.rowcount)
        tells = tell([one[0] for one in described])
        types, ended, count = connection.types(), False, 0
        while not ended and (wanted := catch.wanted):
            some: list[Sequence[object]] = []
            connection.allow(ROW + _BATCH)
            while len(some) < wanted and connection.room > ROW:
                row = cursor.fetchone()
                if row is None:
                    ended = True
                    break
                count += 1
                if (told := tells(row)) is not None:
                    some.append(told)
            is_full = not catch.take(some)
            ended = ended or (is_full and not to_the_end)
            while is_full and not ended:
                connection.allow(ROW)
                ended = cursor.fetchone() is None
                count += not ended
    finally:
        connection.forget()
    names = [text.as_written(one[0]) for one in described]
    return answered(names, types, catch, time.monotonic() - begun, count if to_the_end else None)
