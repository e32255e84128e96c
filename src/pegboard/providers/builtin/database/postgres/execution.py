"""Rows taken from a running statement until there are enough of them."""

import time
from dataclasses import replace
from typing import Any, Final

from asyncpg.cursor import Cursor

from pegboard.core.database import Catch, Cut, Limits, Rows
from pegboard.core.database.answered import answered

from .connection import DRIVER_ERRORS, MAX_BATCH_BYTES, MeteredConnection, TooLargeError
from .values import type_name

_BATCH_BYTES: Final = 512 * 1024
"""Asked for at once, as far as the rows before tell."""
_MAX_ROWS: Final = 1000


class _Portal(Cursor):  # type: ignore[misc]  # the driver has no types
    """A cursor that is opened together with the request for its first row. The driver's own takes a round trip to the
    server for each."""

    async def first(self) -> list[Any]:
        rows: list[Any] = await self._bind_exec(1, None)
        return rows


async def fetch_rows(
    connection: MeteredConnection, prepared: Any, arguments: list[object], limits: Limits, begun: float
) -> Rows:
    """The first rows of a prepared statement, in the transaction that is open. Raises `TooLargeError`."""
    attributes = prepared.get_attributes()
    names, types = [one.name for one in attributes], [type_name(one.type) for one in attributes]
    catch = Catch(limits)
    before = connection.allow(MAX_BATCH_BYTES)
    try:
        portal = _Portal(connection, prepared.get_query(), prepared._state, arguments, None)
        asked = wanted = 1
        rows = await portal.first()
        while catch.take(rows) and len(rows) == asked:
            received = connection.allow(MAX_BATCH_BYTES)
            size = max(1, (received - before) // len(rows))
            before = received
            wanted = max(1, min(_MAX_ROWS, wanted * 50, _BATCH_BYTES // size))
            # One more than is kept shows whether there are more.
            asked = min(wanted, limits.rows + 1 - len(catch.rows))
            rows = await portal.fetch(asked)
    except DRIVER_ERRORS:
        if not connection.meter.is_overrun:
            raise
        if not catch.rows:
            raise TooLargeError from None
        cells = catch.cut.cells if catch.cut else ()
        return replace(answered(names, types, catch, time.monotonic() - begun), cut=Cut(True, "bytes", cells))
    return answered(names, types, catch, time.monotonic() - begun)


async def change_rows(
    connection: MeteredConnection, prepared: Any, arguments: list[object], limits: Limits, begun: float
) -> Rows:
    """What a statement that writes returns, and how many rows it changed. Raises `TooLargeError`."""
    attributes = prepared.get_attributes()
    connection.allow(MAX_BATCH_BYTES)
    try:
        rows = await prepared.fetch(*arguments)
    except DRIVER_ERRORS:
        if connection.meter.is_overrun:
            raise TooLargeError from None
        raise
    catch = Catch(limits)
    catch.take(rows)
    last = str(prepared.get_statusmsg() or "").rsplit(" ", 1)[-1]
    names, types = [one.name for one in attributes], [type_name(one.type) for one in attributes]
    return answered(names, types, catch, time.monotonic() - begun, int(last) if last.isdigit() else None)
