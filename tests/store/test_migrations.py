"""A database comes up to date when it is opened, whoever else opens it, and never by losing anything."""

import shutil
import sqlite3
from pathlib import Path

import anyio
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect
from sqlalchemy.engine.interfaces import ReflectedIndex
from tests.store.engines import Engine, Postgres, Sqlite, now
from tests.store.processes import finished
from tests.store.saver import version

from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.policy.policy import PolicyDecisions
from pegboard.ports.stores import SavedVersion
from pegboard.store.database import StoreDatabase, StoreError, mask_passwords
from pegboard.store.open import MIGRATIONS_FOLDER, migrate, open_store, schema_revision
from pegboard.store.postgres import PostgresDatabase
from pegboard.store.schema import REVISION, REVISION_TABLE, metadata
from pegboard.store.sqlite import SqliteDatabase

pytestmark = pytest.mark.anyio

SEED_TABLES = {"toolsets", "toolset_mcp_servers", "tool_overrides"}


async def opened(engine: Engine) -> StoreDatabase:
    """The database below the store, before any table is made."""
    database = SqliteDatabase(engine.path) if isinstance(engine, Sqlite) else PostgresDatabase(engine.url)
    await database.prepare()
    return database


def described(connection: Connection) -> object:
    """All that the engine says of its tables."""
    seen = inspect(connection)
    return {
        table: (
            [{**column, "type": str(column["type"])} for column in seen.get_columns(table)],
            seen.get_pk_constraint(table),
            seen.get_foreign_keys(table),
            sorted((_told(index) for index in seen.get_indexes(table)), key=str),
        )
        for table in sorted(seen.get_table_names())
        if table != REVISION_TABLE
    }


def _told(index: ReflectedIndex) -> object:
    """A condition of an index is an object of its own each time it is read; its words are what counts."""
    options = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return index["name"], index["column_names"], index["unique"], options


@pytest.mark.behaviour("store.migrations", "store.same_contract")
async def test_migrating_an_empty_database_makes_the_tables_that_the_program_knows(engine: Engine) -> None:
    database = await opened(engine)
    await upgraded(database)
    async with database.read_transaction() as connection:
        drift = await connection.run_sync(
            lambda sync: compare_metadata(
                MigrationContext.configure(sync, opts={"version_table": REVISION_TABLE}), metadata
            )
        )
        by_migration = await connection.run_sync(described)
    async with database.write_transaction() as connection:
        await connection.run_sync(metadata.drop_all)
        await connection.exec_driver_sql(f"DROP TABLE {REVISION_TABLE}")
    await migrate(database)
    async with database.read_transaction() as connection:
        at_once, revision = await connection.run_sync(described), await connection.run_sync(schema_revision)
    await database.engine.dispose()
    assert drift == []
    assert (at_once, revision) == (by_migration, REVISION)


async def test_in_sqlite_the_migrated_tables_are_the_programs_to_the_letter(tmp_path: Path) -> None:
    schemas = []
    for create in (upgraded, migrate):
        engine = Sqlite(tmp_path / f"{create.__name__}.db")
        database = await opened(engine)
        await create(database)
        await database.engine.dispose()
        tables = await engine.run("SELECT name, sql FROM sqlite_master ORDER BY name")
        rows = await engine.run(f"SELECT * FROM {REVISION_TABLE}")
        schemas.append(({name: "".join((sql or "").split()) for name, sql in tables}, rows))
    assert schemas[0] == schemas[1]


async def test_the_newest_migration_is_the_one_the_program_asks_for() -> None:
    assert ScriptDirectory.from_config(_config()).get_heads() == [REVISION]


@pytest.mark.behaviour("store.table_names")
async def test_what_people_install_is_in_the_tables_that_are_named_for_it(engine: Engine) -> None:
    async with open_store(engine.url, clock=now):
        catalogue = "sqlite_master WHERE type = 'table'" if isinstance(engine, Sqlite) else "pg_tables"
        column = "name" if isinstance(engine, Sqlite) else "tablename"
        tables = {name for (name,) in await engine.run(f"SELECT {column} FROM {catalogue}")}
    assert tables >= SEED_TABLES | {"switches", "approvals", "baselines", "trust", "grants", "policy_versions", "calls"}


@pytest.mark.behaviour("store.migrations")
async def test_opening_again_changes_nothing_and_loses_nothing(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        await store.policy.save(PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now())
    for _ in range(2):
        async with open_store(engine.url, clock=now) as store:
            assert await store.policy.load() == version(1)


async def test_many_who_open_a_new_database_at_once_in_one_process_all_succeed(engine: Engine) -> None:
    async def use() -> None:
        async with open_store(engine.url, clock=now) as store:
            assert await store.policy.load() == PolicyDecisions()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(use)


async def test_a_new_file_that_another_is_just_making_is_waited_for(tmp_path: Path) -> None:
    engine = Sqlite(tmp_path / "pegboard.db")
    holder = sqlite3.connect(engine.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    async def use() -> None:
        async with open_store(engine.url, clock=now) as store:
            assert await store.policy.load() == PolicyDecisions()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(use)
            # By the time that three others have given up, the patient one has been turned away too.
            for _ in range(3):
                with pytest.raises(StoreError, match="is held by another process: database is locked"):
                    await SqliteDatabase(engine.path, patience=0).prepare()
            holder.close()


@pytest.mark.slow
@pytest.mark.behaviour("store.migrations")
async def test_processes_that_open_a_new_database_at_once_all_succeed(engine: Engine) -> None:
    with anyio.fail_after(90):
        async with anyio.create_task_group() as tasks:
            for name in "abcd":
                tasks.start_soon(finished, engine.url, "share", name, "2")
    async with open_store(engine.url, clock=now) as store:
        assert (await store.policy.load()).version == 8


async def test_a_database_of_a_newer_program_is_refused_and_left_alone(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.save(
            PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now()
        ) == SavedVersion(1)
    await engine.run(f"UPDATE {REVISION_TABLE} SET version_num = '9999'")
    with pytest.raises(StoreError, match=r"was written by a newer Pegboard \(schema '9999'.*Upgrade Pegboard, or use"):
        async with open_store(engine.url, clock=now):
            pytest.fail("it was opened")
    await engine.run(f"UPDATE {REVISION_TABLE} SET version_num = '{REVISION}'")
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.load() == version(1)


async def test_a_database_with_a_table_of_another_program_is_refused_and_left_alone(engine: Engine) -> None:
    await engine.run("CREATE TABLE trust (company TEXT)")
    await engine.run("INSERT INTO trust VALUES ('ours')")
    with pytest.raises(StoreError, match=r"holds a table of another program: .*trust.*Give Pegboard a database"):
        async with open_store(engine.url, clock=now):
            pytest.fail("it was opened")
    assert await engine.run("SELECT * FROM trust") == [("ours",)]
    database = await opened(engine)
    async with database.read_transaction() as connection:
        tables = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
        assert (tables, await connection.run_sync(schema_revision)) == (["trust"], None)
    await database.engine.dispose()


@pytest.mark.slow
async def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Postgres) -> None:
    await postgres.outside(f"DROP DATABASE {postgres.name}")
    await postgres.outside(f"CREATE DATABASE {postgres.name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match=r"stores text as LATIN1.*createdb --encoding=UTF8"):
        async with open_store(postgres.url, clock=now):
            pytest.fail("it was opened")


@pytest.mark.behaviour("store.migrations")
async def test_a_database_from_before_the_first_migration_is_refused_and_left_alone(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        await store.policy.save(PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now())
    await engine.run(f"UPDATE {REVISION_TABLE} SET version_num = '0019'")
    await engine.run("DROP TABLE token_requirement")
    before = await contents(engine)
    with pytest.raises(StoreError) as refusal:
        async with open_store(engine.url, clock=now):
            pytest.fail("it was opened")
    assert await contents(engine) == before
    where = f"sqlite:///{engine.path}" if isinstance(engine, Sqlite) else mask_passwords(engine.url)
    assert str(refusal.value) == (
        f"{where} was made by a Pegboard from before the first release (schema '0019'; the oldest that can be read is "
        f"'{REVISION}'). Nothing was changed. Start with an empty store instead: "
        + (
            f"mv {engine.path} {engine.path}.old"
            if isinstance(engine, Sqlite)
            else "createdb --encoding=UTF8 pegboard_new, and name that database under `store:`"
        )
    )


async def test_the_command_of_a_refused_file_keeps_it_aside_and_makes_room_for_an_empty_store(tmp_path: Path) -> None:
    engine = Sqlite(tmp_path / "it's mine" / "pegboard.db")
    async with open_store(engine.url, clock=now) as store:
        await store.policy.save(PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now())
    await engine.run(f"UPDATE {REVISION_TABLE} SET version_num = '0001'")
    with pytest.raises(StoreError) as refusal:
        async with open_store(engine.url, clock=now):
            pytest.fail("it was opened")
    await anyio.run_process(str(refusal.value).rpartition(": ")[2])
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.load() == PolicyDecisions()
    kept = Sqlite(engine.path.with_name("pegboard.db.old"))
    assert await kept.run("SELECT version FROM policy_versions") == [(1,)]


async def contents(engine: Engine) -> object:
    """All that is in a database: of a file its bytes, and what lies beside it."""
    if isinstance(engine, Sqlite):
        return {path.name: path.read_bytes() for path in engine.path.parent.iterdir()}
    database = await opened(engine)
    async with database.read_transaction() as connection:
        rows = {
            table: (await connection.exec_driver_sql(f"SELECT * FROM {table}")).all()
            for table in await connection.run_sync(lambda sync: inspect(sync).get_table_names())
        }
        shown = await connection.run_sync(described)
    await database.engine.dispose()
    return shown, rows


@pytest.mark.behaviour("store.migrations")
async def test_a_database_of_the_first_migration_gets_those_that_follow_and_keeps_the_rest(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(engine.url, clock=now) as store:
        await store.policy.save(PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now())
    following = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS_FOLDER, following)
    (following / "versions" / "v0025_notes.py").write_text(
        "import sqlalchemy as sa\n"
        "from alembic import op\n"
        f"revision, down_revision = '0025', '{REVISION}'\n"
        "def upgrade():\n"
        "    op.add_column('policy_versions', sa.Column('note', sa.Text))\n"
    )
    monkeypatch.setattr("pegboard.store.open.MIGRATIONS_FOLDER", following)
    monkeypatch.setattr("pegboard.store.open.REVISION", "0025")
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.load() == version(1)
    assert await engine.run(f"SELECT version_num FROM {REVISION_TABLE}") == [("0025",)]
    assert await engine.run("SELECT version, note FROM policy_versions") == [(1, None)]


async def upgraded(database: StoreDatabase) -> None:
    """By Alembic, through every migration."""
    async with database.write_transaction() as connection:
        await connection.run_sync(lambda sync: command.upgrade(_config(sync), "head"))


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
