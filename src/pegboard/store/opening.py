"""Opening a store by its URL: choose the engine, bring the tables up to date, start the audit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from pegboard.ports import Clock
from pegboard.ports.storage import StorageProbe

from .audit import AuditLimits, AuditLog
from .calls import ContentRetention
from .consents import SqlConsentStore
from .errors import StoreError, mask_passwords
from .health import storage_status
from .migrate import migrate
from .policy import SqlPolicyStore
from .postgres import PostgresDatabase
from .queries import SqlQueryStore
from .runs import SqlRunStore
from .secrets import KeyFor, SqlSecretStore, key_missing
from .sqlite import SqliteDatabase
from .tickets import SqlTicketStore
from .tokens import SqlTokenRequirement, SqlTokenUsageStore
from .vectors import SqlVectorStore
from .visits import SqlSessionStore
from .waits import SqlPendingSinceStore

_CLOSE_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True)
class Store:
    policy: SqlPolicyStore
    audit: AuditLog
    secrets: SqlSecretStore
    tickets: SqlTicketStore
    vectors: SqlVectorStore
    runs: SqlRunStore
    queries: SqlQueryStore
    token_uses: SqlTokenUsageStore
    pending_since: SqlPendingSinceStore
    sessions: SqlSessionStore
    consents: SqlConsentStore
    token_requirement: SqlTokenRequirement
    display_url: str
    """The URL as it may be shown: without a password."""
    storage: StorageProbe
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
    keeping: ContentRetention | None = None,
) -> AsyncIterator[Store]:
    """`sqlite:///path` or `postgresql://…`. Calls are kept for so many days and up to so many rows, `None` without
    limit. `patience` is how many seconds to wait for a database that others hold, `key` what secrets are encrypted
    with, `keeping` what of calls is recorded beside the fact."""
    database = _open_database(url, patience)
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
        async with audit.run_writer():
            yield Store(
                SqlPolicyStore(database),
                audit,
                SqlSecretStore(database, key),
                SqlTicketStore(database, key),
                SqlVectorStore(database),
                SqlRunStore(database, key),
                SqlQueryStore(database),
                SqlTokenUsageStore(database),
                SqlPendingSinceStore(database),
                SqlSessionStore(database),
                SqlConsentStore(database),
                SqlTokenRequirement(database, clock),
                database.display_url,
                partial(storage_status, database, keep_days, keep_rows, keeping or ContentRetention()),
            )
    finally:
        with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True):
            await database.engine.dispose()


def _open_database(url: str, patience: float) -> SqliteDatabase | PostgresDatabase:
    scheme, _, rest = url.partition("://")
    match scheme:
        case "sqlite" | "sqlite+aiosqlite":
            return SqliteDatabase(_file_path(url, rest), patience=patience)
        case "postgresql" | "postgres" | "postgresql+asyncpg":
            return PostgresDatabase(url, patience=patience)
        case _:
            raise StoreError(
                f"{mask_passwords(url)!r} is not a store that Pegboard knows. Write sqlite:///path/to/pegboard.db or "
                f"postgresql://USER:PASSWORD@HOST/DATABASE."
            )


def _file_path(url: str, rest: str) -> Path:
    """All that follows the third slash, as it stands: a path may hold `?`, `%` and `#`."""
    path = rest.removeprefix("/")
    if not rest.startswith("/") or path in ("", ":memory:") or "\0" in path:
        raise StoreError(
            f"{url!r} names no file, and decisions must outlive the process. Write sqlite:///relative/path.db or "
            f"sqlite:////absolute/path.db."
        )
    return (Path.home() / path[2:] if path.startswith("~/") else Path(path)).absolute()
