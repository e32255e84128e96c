"""Running a statement: the watch that ends it in time, and its rows under the limits."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pegboard.core.database import Catch, Limits, Rows
from pegboard.core.database.answered import answered

from .statement import Bound

_STEPS_BETWEEN_CHECKS: Final = 2_000
"""Steps of SQLite's virtual machine, which take well under a millisecond."""
_TYPES: Final = {int: "integer", float: "real", str: "text", bytes: "blob"}


@dataclass(slots=True)
class Watch:
    """Ends the running statement when its time is over or it is cancelled."""

    _deadline: float = 0.0
    _started: float = 0.0
    _is_stopped: bool = False
    _running: sqlite3.Connection | None = None

    def start(self, seconds: float) -> None:
        self._is_stopped = False
        self._started = time.monotonic()
        self._deadline = self._started + seconds

    @contextmanager
    def over(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.set_progress_handler(lambda: int(self.is_over), _STEPS_BETWEEN_CHECKS)
        self._running = connection
        try:
            yield
        finally:
            self._running = None

    def stop(self) -> None:
        """From another thread. A step may take long, and the interrupt is seen after each one."""
        self._is_stopped = True
        if (running := self._running) is not None:
            running.interrupt()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def is_over(self) -> bool:
        return self._is_stopped or time.monotonic() > self._deadline


def fetch(connection: sqlite3.Connection, statement: str, values: Bound, limits: Limits, watch: Watch) -> Rows:
    """Raises as `sqlite3` does."""
    try:
        return _fetch(connection, statement, values, limits, watch)
    except sqlite3.OperationalError as error:
        if "Could not decode to UTF-8" not in str(error):
            raise
    # Text that is not UTF-8. Read again, each text by a function of ours, which is too slow to be the rule.
    connection.text_factory = decode_leniently
    try:
        return _fetch(connection, statement, values, limits, watch)
    finally:
        connection.text_factory = str


def _fetch(connection: sqlite3.Connection, statement: str, values: Bound, limits: Limits, watch: Watch) -> Rows:
    cursor = connection.execute(statement, values)
    try:
        names = [described[0] for described in cursor.description or ()]
        types, unknown = [""] * len(names), set(range(len(names)))
        catch = Catch(limits)
        while (wanted := catch.wanted) and (rows := cursor.fetchmany(wanted)):
            for row in rows if unknown else ():
                for place in [each for each in unknown if row[each] is not None]:
                    types[place] = _TYPES[type(row[place])]
                    unknown.discard(place)
            catch.take(rows)
    finally:
        cursor.close()
    return answered(names, types, catch, watch.seconds)


def decode_leniently(text: bytes) -> str:
    return text.decode("utf-8", "replace")
