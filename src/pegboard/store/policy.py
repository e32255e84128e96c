"""The policy in the database: read whole, written as the difference of two, one version after the other."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import anyio.to_thread
from sqlalchemy import bindparam, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from pegboard.core.consent import revoked_consents
from pegboard.core.ids import PrincipalId
from pegboard.core.policy import PolicyDecisions, removed_principals, replaced_sources
from pegboard.ports import SavedVersion, StaleVersion

from .async_engine import AsyncConnection
from .database import StoreDatabase
from .decisions import SpecCache
from .errors import StoreError
from .raw_rows import delete_row, read_tables
from .records import TABLES as RECORDS
from .rows import ALL_TABLES, TableDifference, decided_from_rows, deleted_rows, differences
from .schema import policy_versions
from .text import TooDeepError
from .tickets import void_standing_approvals, void_tickets_at, void_tickets_of

_TABLES: Final = (*(kept.table for kept in ALL_TABLES), *RECORDS)


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One saved change, as the history tells it."""

    version: int
    at: datetime
    by: PrincipalId
    what: str


class SqlPolicyStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._saved_version = -1
        self._spec_cache = SpecCache()

    async def load(self) -> PolicyDecisions:
        """A row that cannot be read is no error: it is in `Decided.unreadable`, and locks what it is about."""
        async with self._database.read_transaction() as connection:
            version = await _current_version(connection)
            rows = await read_tables(connection, _TABLES)
        # Thousands of specs take a while to read, and the event loop has calls to serve.
        specs = SpecCache(self._spec_cache)
        loaded = await anyio.to_thread.run_sync(decided_from_rows, version, rows, specs)
        self._spec_cache = specs.drop_previous()
        return loaded

    async def save(
        self, before: PolicyDecisions, after: PolicyDecisions, *, by: PrincipalId, what: str, at: datetime
    ) -> SavedVersion | StaleVersion:
        if after.version <= before.version:
            raise ValueError(f"Version {after.version} cannot follow version {before.version}.")
        try:
            changes = await anyio.to_thread.run_sync(differences, before, after)
            async with self._database.write_transaction() as connection:
                await self._database.lock_for_write(connection)
                current = await _current_version(connection)
                if current != before.version:
                    return StaleVersion(current)
                row = {"version": after.version, "at": at.isoformat(), "by": by, "what": what}
                await connection.execute(insert(policy_versions), row)
                for gone in deleted_rows(before, after):
                    await delete_row(connection, gone)
                for change in changes:
                    await _apply_difference(connection, change)
                await void_standing_approvals(connection, revoked_consents(before.consents, after.consents, at), at)
                await void_tickets_of(connection, removed_principals(before, after), at)
                await void_tickets_at(connection, replaced_sources(before, after), at)
                await self._database.notify_change(connection)
        except TooDeepError as error:
            raise StoreError(
                f"Version {after.version} cannot be kept: {error}. Nothing of it was. Leave out the server or override "
                f"that brings it."
            ) from error
        except IntegrityError as error:
            raise StoreError(
                f"{self._database.display_url} refused version {after.version}: it contradicts itself or what is "
                "stored "
                f"({error.orig}). Nothing of it was kept. Load the policy again and repeat the change."
            ) from error
        self._saved_version = after.version
        return SavedVersion(after.version)

    async def changes(self) -> AsyncGenerator[None, None]:
        """Rings at once, then whenever another process may have saved, and after an outage. What this process saved
        itself does not ring: whoever saved it has it."""
        async with aclosing(self._database.watch_changes()) as rings:
            async for _ in rings:
                if await self._may_have_changed():
                    yield

    async def _may_have_changed(self) -> bool:
        try:
            async with self._database.read_transaction() as connection:
                return await _current_version(connection) != self._saved_version
        except StoreError:
            return True  # whoever asks again will hear what is wrong

    async def history(self, *, before: int | None = None, limit: int = 100) -> Sequence[PolicyChange]:
        """Newest first; `before` is a version, for paging."""
        told = select(policy_versions).order_by(policy_versions.c.version.desc()).limit(limit)
        if before is not None:
            told = told.where(policy_versions.c.version < before)
        async with self._database.read_transaction() as connection:
            rows = (await connection.execute(told)).all()
        return [
            PolicyChange(row.version, datetime.fromisoformat(row.at), PrincipalId(row.by), row.what) for row in rows
        ]


async def _current_version(connection: AsyncConnection) -> int:
    return (await connection.execute(select(func.max(policy_versions.c.version)))).scalar() or 0


async def _apply_difference(connection: AsyncConnection, change: TableDifference) -> None:
    if change.delete:
        keys = [column == bindparam(f"old_{column.name}", type_=column.type) for column in change.table.primary_key]
        gone = [{f"old_{name}": value for name, value in row.items()} for row in change.delete]
        await connection.execute(delete(change.table).where(*keys), gone)
    if change.insert:
        await connection.execute(insert(change.table), [dict(row) for row in change.insert])
