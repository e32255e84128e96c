"""Opening a store by its URL: choose the engine, bring the tables up to date, start the audit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from pegboard.ports import Clock
from pegboard.ports.storage import StorageNow

from .audit import AuditLimits, AuditLog
from .calls import Keeping
from .consents import StoredConsents
from .errors import StoreError, masked
from .health import storage
from .migrate import migrate
from .policy import StoredPolicy
from .postgres import PostgresDatabase
from .queries import StoredQueries
from .runs import StoredRuns
from .secrets import KeyFor, StoredSecrets, key_missing
from .sqlite import SqliteDatabase
from .tickets import StoredTickets
from .tokens import StoredRequirement, StoredUses
from .vectors import StoredVectors
from .visits import StoredVisits
from .waits import StoredWaits

_CLOSING: Final = 5.0


@dataclass(frozen=True)
class Store:
    policy: StoredPolicy
    audit: AuditLog
    secrets: StoredSecrets
    tickets: StoredTickets
    vectors: StoredVectors
    runs: StoredRuns
    queries: StoredQueries
    uses: StoredUses
    waits: StoredWaits
    visits: StoredVisits
    consents: StoredConsents
    requirement: StoredRequirement
    where: str
    """The URL as it may be shown: without a password."""
    storage: StorageNow
    """How it is now."""


@asynccontextmanager
async def open_store(
    url: str,
    *,
    clock: Clock,
    keep_days: float | None = 90,
    keep_rows: int | None = 1_000_000,
    limits: AuditLimits | None = None,
    patience: float = 10.0,
    key: KeyFor = key_missing,
    keeping: Keeping | None = None,
) -> AsyncIterator[Store]:
    """`sqlite:///path` or `postgresql://…`. Calls are kept for so many days and up to so many rows, `None` without
    limit. `patience` is how many seconds to wait for a database that others hold, `key` what secrets are encrypted
    with, `keeping` what of calls is recorded beside the fact."""
    database = _database(url, patience)
    try:
        await database.prepare()
        await migrate(database)
        audit = AuditLog(
            database,
            clock=clock,
            limits=limits or AuditLimits(),
            keep_days=keep_days,
            keep_rows=keep_rows,
            keeping=keeping,
        )
        async with audit.running():
            yield Store(
                StoredPolicy(database),
                audit,
                StoredSecrets(database, key),
                StoredTickets(database, key),
                StoredVectors(database),
                StoredRuns(database, key),
                StoredQueries(database),
                StoredUses(database),
                StoredWaits(database),
                StoredVisits(database),
                StoredConsents(database),
                StoredRequirement(database, clock),
                database.where,
                partial(storage, database, keep_days, keep_rows, keeping or Keeping()),
            )
    finally:
        with anyio.move_on_after(_CLOSING, shield=True):
            await database.engine.dispose()


def _database(url: str, patience: float) -> SqliteDatabase | PostgresDatabase:
    scheme, _, rest = url.partition("://")
    match scheme:
        case "sqlite" | "sqlite+aiosqlite":
            return SqliteDatabase(_path(url, rest), patience=patience)
        case "postgresql" | "postgres" | "postgresql+asyncpg":
            return PostgresDatabase(url, patience=patience)
        case _:
            raise StoreError(
                f"{masked(url)!r} is not a store that Pegboard knows. Write sqlite:///path/to/pegboard.db or "
                f"postgresql://USER:PASSWORD@HOST/DATABASE."
            )


def _path(url: str, rest: str) -> Path:
    """All that follows the third slash, as it stands: a path may hold `?`, `%` and `#`."""
    path = rest.removeprefix("/")
    if not rest.startswith("/") or path in ("", ":memory:") or "\0" in path:
        raise StoreError(
            f"{url!r} names no file, and decisions must outlive the process. Write sqlite:///relative/path.db or "
            f"sqlite:////absolute/path.db."
        )
    return (Path.home() / path[2:] if path.startswith("~/") else Path(path)).absolute()
