"""Since when tools wait for a person: seen, not decided, so it has no version."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final

from sqlalchemy import bindparam, delete, insert, select

from pegboard.core.ids import ToolId
from pegboard.core.tool import Fingerprint

from .async_engine import AsyncConnection
from .calls import from_microseconds, index_text, to_microseconds
from .database import StoreDatabase
from .schema import tool_waits as table
from .text import Row

MAX_ROWS: Final = 50_000
"""Rows. What waits beyond them waits since it was seen last."""


class SqlPendingSinceStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def record_pending(
        self, waiting: Mapping[ToolId, Fingerprint], settled: Collection[ToolId], at: datetime
    ) -> Mapping[ToolId, datetime]:
        async with self._database.read_transaction() as connection:
            known = await _load_known(connection)
        if not _new_entries(waiting, known) and not _settled_names(waiting, settled, known):
            return _since(waiting, known, at)
        async with self._database.write_transaction() as connection:
            # Of several gateways on one store the one that saw it first is believed.
            await self._database.lock_for_write(connection)
            known = await _load_known(connection)
            fresh = _new_entries(waiting, known)
            if gone := {*_settled_names(waiting, settled, known)} | {*fresh}:
                one = delete(table).where(table.c.tool == bindparam("gone"))
                await connection.execute(one, [{"gone": name} for name in sorted(gone)])
            room = MAX_ROWS - len(known.keys() - gone)
            rows = [*islice(_rows(fresh, at), max(0, room))]
            if rows:
                await connection.execute(insert(table), rows)
        return _since(waiting, known, at)


def _rows(fresh: Mapping[str, Fingerprint], at: datetime) -> Iterator[Row]:
    for name, fingerprint in sorted(fresh.items()):
        yield {"tool": name, "fingerprint": fingerprint, "since": to_microseconds(at)}


async def _load_known(connection: AsyncConnection) -> Mapping[str, tuple[str, datetime]]:
    rows = (await connection.execute(select(table))).all()
    return {row.tool: (row.fingerprint, from_microseconds(row.since)) for row in rows}


def _new_entries(
    waiting: Mapping[ToolId, Fingerprint], known: Mapping[str, tuple[str, datetime]]
) -> Mapping[str, Fingerprint]:
    named = {index_text(str(tool)): fingerprint for tool, fingerprint in waiting.items()}
    return {name: each for name, each in named.items() if name not in known or known[name][0] != each}


def _settled_names(
    waiting: Mapping[ToolId, Fingerprint], settled: Collection[ToolId], known: Mapping[str, tuple[str, datetime]]
) -> Collection[str]:
    if not known:
        return ()
    return {index_text(str(tool)) for tool in settled if tool not in waiting} & known.keys()


def _since(
    waiting: Mapping[ToolId, Fingerprint], known: Mapping[str, tuple[str, datetime]], at: datetime
) -> Mapping[ToolId, datetime]:
    found: dict[ToolId, datetime] = {}
    for tool, fingerprint in waiting.items():
        seen = known.get(index_text(str(tool)))
        found[tool] = seen[1] if seen is not None and seen[0] == fingerprint else at
    return found
