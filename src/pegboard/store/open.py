"""Opens a store by its URL: engine, migrations, audit."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, func, inspect, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable

from pegboard.ports.providers import Clock
from pegboard.ports.stores import Storage, StorageProbe
from pegboard.store.audit import AuditLimits, AuditLog
from pegboard.store.call_records import ContentRetention, from_microseconds
from pegboard.store.database import StoreDatabase, StoreError, driver_error, mask_passwords
from pegboard.store.policy import SqlPolicyStore
from pegboard.store.postgres import PostgresDatabase
from pegboard.store.runs import SqlRunStore
from pegboard.store.schema import REVISION, REVISION_TABLE, calls, metadata
from pegboard.store.search import SqlQueryStore, SqlVectorStore
from pegboard.store.secrets import KeyFor, SqlSecretStore, key_missing
from pegboard.store.sessions import SqlPendingSinceStore, SqlSessionStore, SqlTokenRequirement, SqlTokenUsageStore
from pegboard.store.sqlite import SqliteDatabase
from pegboard.store.tickets import SqlConsentStore, SqlTicketStore

# Bringing a database to the schema that this program writes, whoever else is opening it at the same moment.

MIGRATIONS_FOLDER: Final = Path(__file__).parent / "migrations"

_revision_table: Final = Table(
    REVISION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{REVISION_TABLE}_pkc"),
)
"""As Alembic makes it."""

# Alembic keeps the migration at work in module globals, so one process migrates one database at a time.
_MIGRATION_LOCK: Final = threading.Lock()


async def migrate(database: StoreDatabase) -> None:
    """A new database gets its tables at once, an older one by the migrations it lacks. Raises `StoreError` for one that
    no migration leads from, and leaves it as it is."""
    async with database.read_transaction() as connection:
        if await connection.run_sync(schema_revision) == REVISION:
            return
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(_MIGRATION_LOCK.acquire)
        try:
            async with database.write_transaction() as connection:
                await database.lock_for_write(connection)
                await connection.run_sync(_upgrade, database)
        finally:
            _MIGRATION_LOCK.release()


def schema_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(REVISION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {REVISION_TABLE}")).scalar()  # noqa: S608 - our own name
    return None if found is None else str(found)


def _upgrade(connection: Connection, database: StoreDatabase) -> None:
    """Looks again, because another process may have migrated while we waited for our turn."""
    found = schema_revision(connection)
    if found is None:
        _create_tables(connection, database.display_url)
    elif found != REVISION:
        _run_migrations(connection, database, found)


def _create_tables(connection: Connection, where: str) -> None:
    """The newest tables, by the same statements as the migrations end with: a test compares the two."""
    try:
        metadata.create_all(connection, checkfirst=False)
    except DBAPIError as error:
        said = str(driver_error(error))
        if "already exists" in said:
            raise StoreError(
                f"{where} holds a table of another program: {said}. Nothing was changed. "
                f"Give Pegboard a database of its own."
            ) from error
        raise
    connection.execute(CreateTable(_revision_table))
    connection.execute(_revision_table.insert().values(version_num=REVISION))


def _run_migrations(connection: Connection, database: StoreDatabase, found: str) -> None:
    # Alembic takes a tenth of a second to import and twelve megabytes to keep, and only an old database needs it.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = sorted(script.revision for script in ScriptDirectory.from_config(config).walk_revisions())
    if found < known[0]:
        raise StoreError(
            f"{database.display_url} was made by a Pegboard from before the first release (schema {found!r}; the "
            f"oldest that can be read is {known[0]!r}). Nothing was changed. Start with an empty store instead: "
            f"{database.start_anew_command}"
        )
    if found not in known:
        raise StoreError(
            f"{database.display_url} was written by a newer Pegboard (schema {found!r}; this one knows {REVISION!r}). "
            f"Upgrade Pegboard, or use another data directory."
        )
    command.upgrade(config, "head")


# How the database is, for whoever runs it: engine, size, and how much activity it holds.

QUERY_TIMEOUT_S: Final = 10.0
_SQLITE_QUERIES: Final = (
    "SELECT sqlite_version()",
    "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)",
)
_POSTGRESQL_QUERIES: Final = ("SHOW server_version", "SELECT pg_database_size(current_database())")


async def storage_status(
    database: StoreDatabase, keep_days: float | None, keep_rows: int | None, keeping: ContentRetention
) -> Storage:
    """Raises `StoreError`."""
    is_sqlite = database.engine.dialect.name == "sqlite"
    version, size = _SQLITE_QUERIES if is_sqlite else _POSTGRESQL_QUERIES
    try:
        with anyio.fail_after(QUERY_TIMEOUT_S):
            async with database.read_transaction() as connection:
                told = str((await connection.execute(text(version))).scalar_one())
                count, oldest = (await connection.execute(select(func.count(), func.min(calls.c.at)))).one()
                schema = await connection.run_sync(schema_revision)
                return Storage(
                    engine="SQLite" if is_sqlite else "PostgreSQL",
                    version=told.partition(" ")[0],
                    revision=schema or "",
                    size=int((await connection.execute(text(size))).scalar_one()),
                    calls=int(count),
                    oldest=None if oldest is None else from_microseconds(oldest),
                    keep_days=keep_days,
                    keep_rows=keep_rows,
                    arguments=keeping.arguments,
                    results=keeping.results,
                )
    except TimeoutError:
        raise StoreError(
            f"{database.display_url} did not answer within {QUERY_TIMEOUT_S:g} seconds. Try again."
        ) from None


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
