"""Since when tools wait for a person: seen, not decided, so it has no version."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final

from sqlalchemy import bindparam, delete, insert, select

from pegboard.core.ids import ToolId
from pegboard.core.tool import Fingerprint

from .async_engine import AsyncConnection
from .calls import indexed, microseconds, moment
from .database import Database
from .schema import tool_waits as table
from .text import Row

MOST_KEPT: Final = 50_000
"""Rows. What waits beyond them waits since it was seen last."""


class StoredWaits:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def noted(
        self, waiting: Mapping[ToolId, Fingerprint], settled: Collection[ToolId], at: datetime
    ) -> Mapping[ToolId, datetime]:
        async with self._database.reading() as connection:
            known = await _known(connection)
        if not _new(waiting, known) and not _old(waiting, settled, known):
            return _since(waiting, known, at)
        async with self._database.writing() as connection:
            # Of several gateways on one store the one that saw it first is believed.
            await self._database.alone(connection)
            known = await _known(connection)
            fresh = _new(waiting, known)
            if gone := {*_old(waiting, settled, known)} | {*fresh}:
                one = delete(table).where(table.c.tool == bindparam("gone"))
                await connection.execute(one, [{"gone": name} for name in sorted(gone)])
            room = MOST_KEPT - len(known.keys() - gone)
            rows = [*islice(_rows(fresh, at), max(0, room))]
            if rows:
                await connection.execute(insert(table), rows)
        return _since(waiting, known, at)


def _rows(fresh: Mapping[str, Fingerprint], at: datetime) -> Iterator[Row]:
    for name, fingerprint in sorted(fresh.items()):
        yield {"tool": name, "fingerprint": fingerprint, "since": microseconds(at)}


async def _known(connection: AsyncConnection) -> Mapping[str, tuple[str, datetime]]:
    rows = (await connection.execute(select(table))).all()
    return {row.tool: (row.fingerprint, moment(row.since)) for row in rows}


def _new(waiting: Mapping[ToolId, Fingerprint], known: Mapping[str, tuple[str, datetime]]) -> Mapping[str, Fingerprint]:
    named = {indexed(str(tool)): fingerprint for tool, fingerprint in waiting.items()}
    return {name: each for name, each in named.items() if name not in known or known[name][0] != each}


def _old(
    waiting: Mapping[ToolId, Fingerprint], settled: Collection[ToolId], known: Mapping[str, tuple[str, datetime]]
) -> Collection[str]:
    if not known:
        return ()
    return {indexed(str(tool)) for tool in settled if tool not in waiting} & known.keys()


def _since(
    waiting: Mapping[ToolId, Fingerprint], known: Mapping[str, tuple[str, datetime]], at: datetime
) -> Mapping[ToolId, datetime]:
    found: dict[ToolId, datetime] = {}
    for tool, fingerprint in waiting.items():
        seen = known.get(indexed(str(tool)))
        found[tool] = seen[1] if seen is not None and seen[0] == fingerprint else at
    return found
