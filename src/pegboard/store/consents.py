"""Standing permissions, to row and back; one of them as it is now; and when each was used last."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, insert, select

from pegboard.core.consent import DEFAULT_CONSENT_DAYS, Consent
from pegboard.core.ids import PrincipalId
from pegboard.core.tool import Fingerprint
from pegboard.core.whose import parse_identity

from .calls import to_microseconds
from .database import StoreDatabase
from .errors import StoreError
from .records import last_uses
from .schema import consent_uses, consents
from .targets import kind_and_text, tool_of
from .text import Row, parse_instant

NO_END: Final = "never"
"""The end of a standing permission without one. Written out, so that a missing end is not read as none."""


def consent_row(id: str, consent: Consent) -> Row:
    kind, text = kind_and_text(consent.tool)
    return {
        "id": id,
        "tool_id": text,
        "kind": kind,
        "fingerprint": consent.fingerprint,
        "principal": consent.principal,
        "client": consent.client,
        "by": consent.by,
        "at": consent.at.isoformat(),
        "until": NO_END if consent.until is None else consent.until.isoformat(),
        "whose": None if consent.identity is None else str(consent.identity),
    }


def consent_of(row: Row) -> tuple[str, Consent]:
    consent = Consent(
        row["id"],
        tool_of(row["kind"], row["tool_id"]),
        Fingerprint(row["fingerprint"]),
        PrincipalId(row["principal"]),
        row["client"],
        PrincipalId(row["by"]),
        parse_instant(row["at"]),
        _parse_end(row["until"], parse_instant(row["at"])),
        parse_identity(row["whose"]),
    )
    return consent.id, consent


def _parse_end(until: str | None, given: datetime) -> datetime | None:
    """An older Pegboard writes no end: it counts from when the permission was given, and is never unlimited."""
    if until is None:
        return given + timedelta(days=DEFAULT_CONSENT_DAYS)
    return None if until == NO_END else parse_instant(until)


class SqlConsentStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def find(self, id: str) -> Consent | None:
        async with self._database.read_transaction() as connection:
            row = (await connection.execute(select(consents).where(consents.c.id == id))).mappings().first()
        try:
            return None if row is None else consent_of(dict(row))[1]
        except (ValueError, TypeError, AssertionError) as error:
            raise StoreError(
                f"{self._database.display_url} holds a standing permission {id!r} that cannot be read: {error}"
            ) from error

    async def save_uses(self, uses: Mapping[str, datetime]) -> None:
        """Of two gateways on one store the one that wrote last is believed, as with tokens. The uses of permissions
        that are gone are removed."""
        if not uses:
            return
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            kept = {row.id for row in (await connection.execute(select(consents.c.id))).all()}
            replaced = consent_uses.c.id.in_([*uses]) | consent_uses.c.id.not_in(select(consents.c.id))
            await connection.execute(delete(consent_uses).where(replaced))
            rows = [{"id": id, "used_at": to_microseconds(at)} for id, at in uses.items() if id in kept]
            if rows:
                await connection.execute(insert(consent_uses), rows)

    async def last_uses(self) -> Mapping[str, datetime]:
        async with self._database.read_transaction() as connection:
            return await last_uses(connection, consent_uses)
