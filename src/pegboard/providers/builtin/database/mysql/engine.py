"""MySQL and MariaDB as a source: one statement in a read-only transaction on a connection of its own, which is then
closed. A statement that nobody waits for any more is ended on the server.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import pymysql

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
)
from pegboard.core.database.answered import answered
from pegboard.ports.databases import Parameters, SourceAway
from pegboard.providers.builtin.database.unreadable import WAITS

from .arguments import bound
from .connecting import MEND, ROW, Metered, Place, TooMuch, asked, connect, place, role, set_up
from .listing import Row, told_row
from .reading import ONLY, ONLY_AND_WRITES, Broken, Reading, read
from .saying import failed, type_name
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
_DRIVER: Final = (pymysql.MySQLError, OSError)

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass
class _Job:
    """A connection that a thread works on, so that another can end what it does."""

    where: Place
    connection: Metered | None = None
    unwanted: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Returns when the thread has, or when it was cut off."""
        self.unwanted = True
        connection = self.connection
        if connection is not None and not self.ended.is_set():
            try:
                killer = connect(self.where, _GRACE)
                try:
                    killer.query(f"KILL QUERY {int(connection.thread_id())}")
                finally:
                    killer.close()
            except (*_DRIVER, SourceAway) as error:
                log.warning("%s: a statement could not be stopped: %s", self.where.told, error)
        if not self.ended.wait(_GRACE) and connection is not None:
            connection._force_close()
            self.ended.wait(_GRACE)


class MysqlEngine:
    """`forced`: its operator insists on a user that may do too much."""

    dialect: Final = Dialect.MYSQL

    def __init__(self, url: str, access: Access, *, writes: bool = False, forced: bool = False) -> None:
        self._place = place(url)
        self._access = access
        self._writes = writes
        self._forced = forced
        self._threads = anyio.CapacityLimiter(_CONNECTIONS)
        self._powers: tuple[str, ...] | None = None

    async def check(self) -> Checked:
        def look(connection: Metered) -> Checked:
            return role(connection).checked(writes=self._writes)

        try:
            return await self._worked(look, _LONG)
        except SourceAway as away:
            return Checked("", None, (Finding(str(away), is_grave=True),))

    async def schema(self) -> Schema:
        return await self._worked(self._schema, _LONG)

    async def stamp(self) -> str:
        def look(connection: Metered) -> str:
            self._safe(connection)
            set_up(connection, _LONG, write=False)
            return stamp(lambda question: asked(connection, question), self._place.database)

        return await self._worked(look, _LONG)

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        begun = time.monotonic()
        reading = await anyio.to_thread.run_sync(partial(read, statement, write=write and self._writes))
        is_tried = isinstance(reading, Unreadable) and reading.is_write and self._writes and not write
        if is_tried:
            # A person is asked about what would run, and about nothing else.
            reading = await anyio.to_thread.run_sync(partial(read, statement, write=True))
        match reading:
            case Unreadable(why, mend, is_write):
                return Refused(why, ONLY_AND_WRITES if self._writes and mend == ONLY else mend, is_write)
            case Broken(words, position):
                return Failed(words, position, Fault.SYNTAX)

        def work(connection: Metered) -> Answer:
            if self._over(connection):
                return Refused((self._powers or ("",))[0], MEND)
            return self._answer(connection, reading, parameters, limits, begun, is_tried)

        with anyio.move_on_after(limits.seconds) as waiting:
            try:
                return await self._worked(work, limits.seconds)
            except SourceAway as away:
                return Failed(str(away), None, Fault.AWAY)
        assert waiting.cancelled_caught
        return Failed(f"The statement was stopped after {limits.seconds:g} s.", None, Fault.TIME)

    async def aclose(self) -> None:
        """Nothing is kept open."""

    async def _worked(self, work: Callable[[Metered], T], seconds: float) -> T:
        """What a thread makes of a connection of its own. Raises `SourceAway`."""
        job = _Job(self._place)

        def whole() -> T:
            try:
                job.connection = connect(self._place, seconds)
                try:
                    if job.unwanted:
                        raise SourceAway("Nobody waits for it any more.")
                    return work(job.connection)
                finally:
                    _close(job.connection)
            except _DRIVER as error:
                raise SourceAway(f"{self._place.told}: {error.args[-1] if error.args else error}") from error
            finally:
                job.ended.set()

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

        # A server may be behind something that greets in its place.
        lower, *told = asked(connection, "SELECT @@lower_case_table_names, VERSION(), @@version_comment")[0]
        return Tables(
            ask,
            self._access,
            self._place.database,
            lower != 0,
            "mariadb" in " ".join(map(str, told)).lower(),
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
            tell = _as_it_is if self._access.is_whole else told_row(reading, self._place.database, tables.visible)
            rows = _fetched(connection, text, limits, begun, tell)
            if reading.writes:
                connection.commit()
            return rows
        except TooMuch:
            return Failed(f"A row of the answer is larger than {ROW // 2**20} MB.", None, Fault.MEMORY)
        except _DRIVER as error:
            told = failed(error, self._access)
            return replace(told, words=text.as_written(told.words))


def _as_it_is(row: Row) -> Row:
    return row


def _fetched(
    connection: Metered, text: Edited, limits: Limits, begun: float, tell: Callable[[Row], Row | None]
) -> Rows:
    catch = Catch(limits)
    connection.allow(ROW)
    cursor = connection.cursor()
    try:
        cursor.execute(text.text)
        described = cursor.description or ()
        if not described:
            return Rows((), (), None, time.monotonic() - begun, cursor.rowcount)
        ended = False
        while not ended and (wanted := catch.wanted):
            some: list[Sequence[object]] = []
            connection.allow(ROW + _BATCH)
            while len(some) < wanted and connection.room > ROW:
                row = cursor.fetchone()
                if row is None:
                    ended = True
                    break
                if (told := tell(row)) is not None:
                    some.append(told)
            ended = not catch.take(some) or ended
    finally:
        _forget(connection)
    names, types = [text.as_written(one[0]) for one in described], [type_name(one[1]) for one in described]
    return answered(names, types, catch, time.monotonic() - begun)


def _forget(connection: Metered) -> None:
    """What is left of an answer, which the driver would read to its end before it lets go of it."""
    result = connection._result
    if result is not None:
        result.unbuffered_active = False
        result.has_next = False
        result.connection = None


def _close(connection: Metered) -> None:
    _forget(connection)
    with suppress(pymysql.MySQLError):  # it was cut off
        connection.close()
