"""How the database is, for whoever runs it: engine, size, and how much activity it holds."""

from typing import Final

import anyio
from sqlalchemy import func, select, text

from pegboard.ports.storage import Storage

from .calls import Keeping, moment
from .database import Database
from .errors import StoreError
from .migrate import revision
from .schema import calls

DEADLINE: Final = 10.0
_SQLITE: Final = (
    "SELECT sqlite_version()",
    "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)",
)
_POSTGRESQL: Final = ("SHOW server_version", "SELECT pg_database_size(current_database())")


async def storage(database: Database, keep_days: float | None, keep_rows: int | None, keeping: Keeping) -> Storage:
    """Raises `StoreError`."""
    is_sqlite = database.engine.dialect.name == "sqlite"
    version, size = _SQLITE if is_sqlite else _POSTGRESQL
    try:
        with anyio.fail_after(DEADLINE):
            async with database.reading() as connection:
                told = str((await connection.execute(text(version))).scalar_one())
                count, oldest = (await connection.execute(select(func.count(), func.min(calls.c.at)))).one()
                schema = await connection.run_sync(revision)
                return Storage(
                    engine="SQLite" if is_sqlite else "PostgreSQL",
                    version=told.partition(" ")[0],
                    revision=schema or "",
                    size=int((await connection.execute(text(size))).scalar_one()),
                    calls=int(count),
                    oldest=None if oldest is None else moment(oldest),
                    keep_days=keep_days,
                    keep_rows=keep_rows,
                    arguments=keeping.arguments,
                    results=keeping.results,
                )
    except TimeoutError:
        raise StoreError(f"{database.where} did not answer within {DEADLINE:g} seconds. Try again.") from None
