"""API tokens, to row and back; and when each was used last, which is no decision and has no version."""

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import delete, insert, select

from pegboard.core.api_token import ApiToken, Revoked
from pegboard.core.ids import PrincipalId
from pegboard.core.scope import Scope, in_order
from pegboard.ports import Clock

from .calls import microseconds
from .database import Database
from .records import last_uses
from .schema import token_requirement, token_uses
from .text import Row, checked, checked_texts, instant, read_json


def token_row(id: str, token: ApiToken) -> Row:
    revoked = token.revoked
    return {
        "id": id,
        "principal": token.principal,
        "name": token.name,
        "prefix": token.prefix,
        "sha256": token.digest.hex(),
        "scopes": json.dumps(in_order(token.scopes)),
        "made_by": token.by,
        "made_at": token.at.isoformat(),
        "expires_at": None if token.expires is None else token.expires.isoformat(),
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
        frozenset(Scope(scope) for scope in checked_texts(read_json(row["scopes"]))),
        PrincipalId(row["made_by"]),
        instant(row["made_at"]),
        None if expires is None else instant(expires),
        None if revoked_at is None else Revoked(PrincipalId(checked(row["revoked_by"], str)), instant(revoked_at)),
    )
    return token.id, token


class StoredRequirement:
    """That callers had to show tokens."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def is_recorded(self) -> bool:
        async with self._database.reading() as connection:
            return (await connection.execute(select(token_requirement))).first() is not None

    async def record(self) -> None:
        async with self._database.writing() as connection:
            await self._database.alone(connection)
            if (await connection.execute(select(token_requirement))).first() is None:
                row = {"name": "tokens", "since": microseconds(self._clock())}
                await connection.execute(insert(token_requirement), row)

    async def clear(self) -> None:
        async with self._database.writing() as connection:
            await connection.execute(delete(token_requirement))


class StoredUses:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, uses: Mapping[str, datetime]) -> None:
        """Of two gateways on one store the one that wrote last is believed: both times are the same to a person."""
        if not uses:
            return
        async with self._database.writing() as connection:
            await self._database.alone(connection)
            await connection.execute(delete(token_uses).where(token_uses.c.id.in_([*uses])))
            rows = [{"id": id, "used_at": microseconds(at)} for id, at in uses.items()]
            await connection.execute(insert(token_uses), rows)

    async def latest(self) -> Mapping[str, datetime]:
        async with self._database.reading() as connection:
            return await last_uses(connection, token_uses)
