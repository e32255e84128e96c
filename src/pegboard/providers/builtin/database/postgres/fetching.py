"""Rows taken from a running statement until there are enough of them."""

import time
from dataclasses import replace
from typing import Any, Final

import asyncpg
from asyncpg.cursor import Cursor

from pegboard.core.database import Catch, Cut, Limits, Rows
from pegboard.core.database.answered import answered

from .connecting import ROW, Metered, TooMuch

_BATCH: Final = 512 * 1024
"""Bytes that are asked for at once, as far as the rows before tell."""
_MOST: Final = 1000

_TYPES: Final = {
    "bool": "boolean",
    "bpchar": "character",
    "float4": "real",
    "float8": "double precision",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "varchar": "character varying",
}


class Portal(Cursor):  # type: ignore[misc]  # the driver has no types
    """A cursor that is opened together with the request for its first rows. The driver's own takes a round trip to the
    server for each."""

    async def first(self, count: int) -> list[Any]:
        rows: list[Any] = await self._bind_exec(count, None)
        return rows


async def fetched(
    connection: Metered, prepared: Any, arguments: list[object], limits: Limits, begun: float, first: int
) -> Rows:
    """The first rows of a prepared statement, in the transaction that is open; to begin with, so many are asked for at
    once. Raises `TooMuch` for rows that are too large to be taken in together."""
    attributes = prepared.get_attributes()
    names, types = _described(attributes)
    ranged = any(
        "range" in one.type.kind or one.type.kind == "composite" or one.type.name.endswith("]") for one in attributes
    )
    catch = Catch(limits)
    before = connection.allow(ROW)
    try:
        portal = Portal(connection, prepared.get_query(), prepared._state, arguments, None)
        asked = wanted = min(first, limits.rows + 1)
        rows = await portal.first(asked)
        while True:
            if not catch.take([tuple(map(plain, row)) for row in rows] if ranged else rows) or len(rows) < asked:
                break
            received = connection.allow(ROW)
            size = max(1, (received - before) // len(rows))
            before = received
            wanted = max(1, min(_MOST, wanted * 16, _BATCH // size))
            # One more than is kept tells whether there are more.
            asked = min(wanted, limits.rows + 1 - len(catch.rows))
            rows = await portal.fetch(asked)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        if not connection.meter.overrun:
            raise
        if not catch.rows:
            raise TooMuch(asked) from None
        cells = catch.cut.cells if catch.cut else ()
        return replace(answered(names, types, catch, time.monotonic() - begun), cut=Cut(True, "bytes", cells))
    return answered(names, types, catch, time.monotonic() - begun)


async def changed(connection: Metered, prepared: Any, arguments: list[object], limits: Limits, begun: float) -> Rows:
    """What a statement that writes gives back, and how many rows it changed. It runs to its end, whatever is kept of
    what it returns. Raises `TooMuch`."""
    attributes = prepared.get_attributes()
    connection.allow(ROW)
    try:
        rows = await prepared.fetch(*arguments)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        if connection.meter.overrun:
            raise TooMuch from None
        raise
    catch = Catch(limits)
    catch.take([tuple(map(plain, row)) for row in rows])
    last = str(prepared.get_statusmsg() or "").rsplit(" ", 1)[-1]
    affected = int(last) if last.isdigit() else None
    return answered(*_described(attributes), catch, time.monotonic() - begun, affected)


def _described(attributes: Any) -> tuple[list[str], list[str]]:
    return [one.name for one in attributes], [type_name(one.type) for one in attributes]


def type_name(kind: Any) -> str:
    name: str = kind.name
    if name.endswith("[]"):
        return f"{_TYPES.get(name[:-2], name[:-2])}[]"
    return _TYPES.get(name, name)


def plain(value: object) -> object:
    """What the driver has classes of its own for, as the server writes it."""
    if isinstance(value, asyncpg.Record):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
