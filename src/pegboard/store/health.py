"""How the database is, for whoever runs it: engine, size, and how much activity it holds."""

from typing import Final

import anyio
from sqlalchemy import func, select, text

from pegboard.ports.storage import Storage

from .calls import ContentRetention, from_microseconds
from .database import StoreDatabase
from .errors import StoreError
from .migrate import schema_revision
from .schema import calls

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
