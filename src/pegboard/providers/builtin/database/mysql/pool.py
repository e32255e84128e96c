"""Connections to one MySQL or MariaDB server that are used again, each as though it had just been made.

Between two statements a connection is reset, and before the next one its user is let in anew: no variable, setting,
lock, temporary table, prepared statement or transaction of one statement is there for another, and a right that was
taken away meanwhile is gone. A role outlives even that on MariaDB, so it is compared. A connection on which anything
went wrong, or whose answer was not read to its end, is closed.
"""

import threading
import time
from typing import Final

import pymysql

from pegboard.ports.databases import SourceAway

from .connecting import Metered, Place, TooMuch, connect, role_of

DRIVER: Final = (pymysql.MySQLError, OSError)
_KEPT: Final = 4
_IDLE: Final = 30.0
"""Seconds. After them something on the way may have forgotten the connection without telling us."""
_LOST: Final = ((0,), (2006,), (2013,), (4031,))
"""What the driver says of a connection that the other side has closed."""
_SULK: Final = 60.0
"""Seconds for which nothing is kept, once a server would not let a user in again: it takes its time to say so."""


class Pool:
    """For threads: each takes one, and gives it back or closes it."""

    def __init__(self, where: Place) -> None:
        self._where = where
        self._resting: list[tuple[Metered, float]] = []
        self._keeps_from = 0.0
        self._is_closed = False
        self._lock = threading.Lock()

    def taken(self, seconds: float) -> Metered:
        """Raises `SourceAway`."""
        while (resting := self._last()) is not None:
            connection, since = resting
            try:
                if time.monotonic() - since < _IDLE:
                    connection.begin_anew(seconds)
                    return connection
            except (*DRIVER, TooMuch) as error:
                # Either it was lost, or the server cannot or will not let the user in again: a new one tells.
                if error.args[:1] not in _LOST:
                    self._keeps_from = time.monotonic() + _SULK
            connection.cut()
        connection = connect(self._where, seconds)
        try:
            connection.role = role_of(connection)
        except DRIVER as error:
            connection.cut()
            raise SourceAway(f"{self._where.told}: {error.args[-1]}") from error
        return connection

    def put_back(self, connection: Metered) -> None:
        """The server resets it at once; whether it did is read by whoever takes it."""
        if connection.is_spent or not self._has_room():
            connection.leave()
            return
        try:
            connection.ask_for_reset()
        except DRIVER:
            connection.cut()
            return
        with self._lock:
            if kept := self._has_room():
                self._resting.append((connection, time.monotonic()))
        if not kept:
            connection.cut()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            resting, self._resting = self._resting, []
        for connection, _ in resting:
            connection.cut()

    def _has_room(self) -> bool:
        return not self._is_closed and len(self._resting) < _KEPT and time.monotonic() >= self._keeps_from

    def _last(self) -> tuple[Metered, float] | None:
        """The one that rested the shortest; the others are let go of as they grow old."""
        with self._lock:
            if self._is_closed:
                raise SourceAway("The source was closed.")
            return self._resting.pop() if self._resting else None
