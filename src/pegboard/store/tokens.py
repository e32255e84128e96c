"""API tokens, to row and back; and when each was used last, which is no decision and has no version."""

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import delete, insert, select

from pegboard.core.api_token import ApiToken, Revocation
from pegboard.core.ids import PrincipalId
from pegboard.core.scope import TokenScope, sort_scopes
from pegboard.ports import Clock

from .calls import to_microseconds
from .database import StoreDatabase
from .records import last_uses
from .schema import token_requirement, token_uses
from .text import Row, check_texts, check_type, parse_instant, read_json


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
