"""Bringing a database to the schema that this program writes, whoever else is opening it at the same moment."""

import threading
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable

from .database import StoreDatabase
from .errors import StoreError, driver_error
from .schema import REVISION, REVISION_TABLE, metadata

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


async def migrate(database: StoreDatabase, *, step_by_step: bool = False) -> None:
    """A new database gets its tables at once; `step_by_step` makes it go through every migration like an old one."""
    async with database.read_transaction() as connection:
        if await connection.run_sync(schema_revision) == REVISION:
            return
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(_MIGRATION_LOCK.acquire)
        try:
            async with database.write_transaction() as connection:
                await database.lock_for_write(connection)
                await connection.run_sync(_upgrade, database.display_url, step_by_step)
        finally:
            _MIGRATION_LOCK.release()


def schema_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(REVISION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {REVISION_TABLE}")).scalar()  # noqa: S608 - our own name
    return None if found is None else str(found)


def _upgrade(connection: Connection, where: str, step_by_step: bool) -> None:
    """Looks again, because another process may have migrated while we waited for our turn."""
    found = schema_revision(connection)
    if found == REVISION:
        return
    try:
        if found is None and not step_by_step:
            _create_tables(connection)
        else:
            _run_migrations(connection, where, found)
    except DBAPIError as error:
        said = str(driver_error(error))
        if "already exists" in said:
            raise StoreError(
                f"{where} holds a table of another program: {said}. Nothing was changed. "
                f"Give Pegboard a database of its own."
            ) from error
        raise


def _create_tables(connection: Connection) -> None:
    """The newest tables, by the same statements as the migrations end with: a test compares the two."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(CreateTable(_revision_table))
    connection.execute(_revision_table.insert().values(version_num=REVISION))


def _run_migrations(connection: Connection, where: str, found: str | None) -> None:
    # Alembic takes a tenth of a second to import and twelve megabytes to keep, and only an old database needs it.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise StoreError(
            f"{where} was written by a newer Pegboard (schema {found!r}; this one knows {REVISION!r}). "
            f"Upgrade Pegboard, or use another data directory."
        )
    command.upgrade(config, "head")
