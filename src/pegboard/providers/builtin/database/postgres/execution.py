"""Rows taken from a running statement until there are enough of them."""

import time
from dataclasses import replace
from typing import Any, Final

import anyio
from asyncpg.cursor import Cursor

from pegboard.core.database import Catch, Cut, Failed, Limits, Refused, Rows
from pegboard.core.database.answered import answered
from pegboard.ports.databases import Parameters
from pegboard.providers.builtin.database.unreadable import WAITS

from .connection import DRIVER_ERRORS, MAX_BATCH_BYTES, MeteredConnection, TooLargeError
from .statement import Statement
from .values import bound, type_name

_BATCH_BYTES: Final = 512 * 1024
"""Asked for at once, as far as the rows before tell."""
_MAX_ROWS: Final = 1000


class _Portal(Cursor):  # type: ignore[misc]  # the driver has no types
    """A cursor that is opened together with the request for its first row. The driver's own takes a round trip to the
    server for each."""

    async def first(self) -> list[Any]:
        rows: list[Any] = await self._bind_exec(1, None)
        return rows


async def execute(
    connection: MeteredConnection, statement: Statement, parameters: Parameters, limits: Limits, *, is_tried: bool
) -> Rows | Refused | Failed:
    """The first rows of a statement, or how many it changed, in an open transaction; one that is only tried is planned.
    Raises `TooLargeError`."""
    begun = time.monotonic()
    # Without a name it makes room for the next by itself.
    prepared = await connection.prepare(statement.text, name="")
    arguments = bound(parameters, prepared.get_parameters())
    if isinstance(arguments, Failed):
        return arguments
    if is_tried:
        await connection.fetch(f"EXPLAIN {statement.text}", *arguments)
        return WAITS
    attributes = prepared.get_attributes()
    types = [type_name(one.type) for one in attributes]
    catch = Catch(limits)
    connection.allow(MAX_BATCH_BYTES)
    affected = None
    try:
        if statement.writes:
            catch.take(await prepared.fetch(*arguments))
            affected = int(prepared.get_statusmsg().rsplit(" ", 1)[-1])
            # Once the server was asked to commit, not to wait would leave the caller without knowing what happened.
            with anyio.CancelScope(shield=True):
                await connection.execute("COMMIT")
        else:
            await _fetch(connection, _Portal(connection, statement.text, prepared._state, arguments, None), catch)
    except DRIVER_ERRORS:
        if not connection.meter.is_overrun:
            raise
        if not catch.rows:
            raise TooLargeError from None
    rows = answered((one.name for one in attributes), types, catch, time.monotonic() - begun, affected)
    if connection.meter.is_overrun:
        return replace(rows, cut=Cut(True, "bytes", catch.cut.cells if catch.cut else ()))
    return rows


async def _fetch(connection: MeteredConnection, portal: _Portal, catch: Catch) -> None:
    asked = wanted = 1
    before = connection.allow(MAX_BATCH_BYTES)
    rows = await portal.first()
    while catch.take(rows) and len(rows) == asked:
        received = connection.allow(MAX_BATCH_BYTES)
        size = max(1, (received - before) // len(rows))
        before = received
        wanted = max(1, min(_MAX_ROWS, wanted * 50, _BATCH_BYTES // size))
        # One more than is kept shows whether there are more.
        asked = min(wanted, catch.limits.rows + 1 - len(catch.rows))
        rows = await portal.fetch(asked)
