"""Browser sessions, API tokens and their last use as rows."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from sqlalchemy import bindparam, delete, insert, select

from pegboard.core.model.ids import PrincipalId, ToolId
from pegboard.core.model.principals import ApiToken, Revocation, TokenScope, sort_scopes
from pegboard.core.model.tool import Fingerprint
from pegboard.ports.providers import Clock
from pegboard.ports.stores import StoredSession
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.call_records import from_microseconds, index_text, to_microseconds
from pegboard.store.database import StoreDatabase
from pegboard.store.schema import token_requirement, token_uses
from pegboard.store.schema import tool_waits as table_waits
from pegboard.store.schema import visits as table
from pegboard.store.text import Row, check_texts, check_type, parse_instant, read_json
from pegboard.store.tickets import last_uses

# Visits of browsers: marks of secrets and of tokens, and two times. No decision, so it has no version.


class SqlSessionStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def load(self, place: str) -> Sequence[StoredSession]:
        chosen = select(table).where(table.c.place == place).order_by(table.c.seen_at, table.c.secret)
        async with self._database.read_transaction() as connection:
            rows = (await connection.execute(chosen)).all()
        return [
            StoredSession(row.secret, row.token, from_microseconds(row.began_at), from_microseconds(row.seen_at))
            for row in rows
        ]

    async def save(
        self, place: str, visits: Sequence[StoredSession], ended: Collection[str], seen_after: datetime
    ) -> None:
        gone = sorted({*ended, *(visit.secret for visit in visits)})
        rows = [
            {
                "place": place,
                "secret": visit.secret,
                "token": visit.token,
                "began_at": to_microseconds(visit.began_at),
                "seen_at": to_microseconds(visit.last_seen_at),
            }
            for visit in visits
        ]
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            await connection.execute(delete(table).where(table.c.seen_at < to_microseconds(seen_after)))
            if gone:
                one = delete(table).where(table.c.place == place, table.c.secret == bindparam("gone"))
                await connection.execute(one, [{"gone": secret} for secret in gone])
            if rows:
                await connection.execute(insert(table), rows)

    async def end_all(self) -> None:
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            await connection.execute(delete(table))


def token_row(id: str, token: ApiToken) -> Row:
    revoked = token.revocation
    return {
        "id": id,
        "principal": token.principal,
        "name": token.name,
        "prefix": token.prefix,
        "sha256": token.digest.hex(),
        "scopes": json.dumps(sort_scopes(token.scopes)),
        "made_by": token.by,
        "made_at": token.at.isoformat(),
        "expires_at": None if token.expires_at is None else token.expires_at.isoformat(),
        "revoked_by": None if revoked is None else revoked.by,
        "revoked_at": None if revoked is None else revoked.at.isoformat(),
    }


def token_of(row: Row) -> tuple[str, ApiToken]:
    revoked_at, expires = row["revoked_at"], row["expires_at"]
    token = ApiToken(
        row["id"],
        PrincipalId(row["principal"]),
        row["name"],
        row["prefix"],
        bytes.fromhex(row["sha256"]),
        frozenset(TokenScope(scope) for scope in check_texts(read_json(row["scopes"]))),
        PrincipalId(row["made_by"]),
        parse_instant(row["made_at"]),
        None if expires is None else parse_instant(expires),
        None
        if revoked_at is None
        else Revocation(PrincipalId(check_type(row["revoked_by"], str)), parse_instant(revoked_at)),
    )
    return token.id, token


class SqlTokenRequirement:
    """That callers had to show tokens."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def is_recorded(self) -> bool:
        async with self._database.read_transaction() as connection:
            return (await connection.execute(select(token_requirement))).first() is not None

    async def record(self) -> None:
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            if (await connection.execute(select(token_requirement))).first() is None:
                row = {"name": "tokens", "since": to_microseconds(self._clock())}
                await connection.execute(insert(token_requirement), row)

    async def clear(self) -> None:
        async with self._database.write_transaction() as connection:
            await connection.execute(delete(token_requirement))


class SqlTokenUsageStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def save_uses(self, uses: Mapping[str, datetime]) -> None:
        """Of two gateways on one store the one that wrote last is believed: both times are the same to a person."""
        if not uses:
            return
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            await connection.execute(delete(token_uses).where(token_uses.c.id.in_([*uses])))
            rows = [{"id": id, "used_at": to_microseconds(at)} for id, at in uses.items()]
            await connection.execute(insert(token_uses), rows)

    async def last_uses(self) -> Mapping[str, datetime]:
        async with self._database.read_transaction() as connection:
            return await last_uses(connection, token_uses)


# Since when tools wait for a person: seen, not decided, so it has no version.

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
                one = delete(table_waits).where(table_waits.c.tool == bindparam("gone"))
                await connection.execute(one, [{"gone": name} for name in sorted(gone)])
            room = MAX_ROWS - len(known.keys() - gone)
            rows = [*islice(_rows(fresh, at), max(0, room))]
            if rows:
                await connection.execute(insert(table_waits), rows)
        return _since(waiting, known, at)


def _rows(fresh: Mapping[str, Fingerprint], at: datetime) -> Iterator[Row]:
    for name, fingerprint in sorted(fresh.items()):
        yield {"tool": name, "fingerprint": fingerprint, "since": to_microseconds(at)}


async def _load_known(connection: AsyncConnection) -> Mapping[str, tuple[str, datetime]]:
    rows = (await connection.execute(select(table_waits))).all()
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
