"""A database comes up to date when it is opened, whoever else opens it, and never by losing anything."""

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
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

from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import InstalledBy
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import PolicyDecisions
from pegboard.ports.audit import AuditQuery
from pegboard.ports.stores import SavedVersion
from pegboard.store.database import StoreDatabase, StoreError
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
    migrated = await opened(engine)
    await migrate(migrated, step_by_step=True)
    async with migrated.read_transaction() as connection:
        drift = await connection.run_sync(
            lambda sync: compare_metadata(
                MigrationContext.configure(sync, opts={"version_table": REVISION_TABLE}), metadata
            )
        )
        by_migration = await connection.run_sync(described)
    async with migrated.write_transaction() as connection:
        await connection.run_sync(metadata.drop_all)
    async with migrated.write_transaction() as connection:
        await connection.run_sync(metadata.create_all)
    async with migrated.read_transaction() as connection:
        by_program = await connection.run_sync(described)
    await migrated.engine.dispose()
    assert drift == []
    assert by_migration == by_program


async def test_in_sqlite_the_migrated_tables_are_the_programs_to_the_letter(tmp_path: Path) -> None:
    schemas = []
    for step_by_step in (True, False):
        engine = Sqlite(tmp_path / f"{step_by_step}.db")
        database = await opened(engine)
        await migrate(database, step_by_step=step_by_step)
        await database.engine.dispose()
        tables = await engine.run("SELECT name, sql FROM sqlite_master ORDER BY name")
        rows = await engine.run(f"SELECT * FROM {REVISION_TABLE}")
        schemas.append(({name: "".join((sql or "").split()) for name, sql in tables}, rows))
    assert schemas[0] == schemas[1]


async def test_a_new_database_is_like_one_that_went_through_every_migration(engine: Engine) -> None:
    database = await opened(engine)
    await migrate(database, step_by_step=True)
    async with database.read_transaction() as connection:
        by_steps = await connection.run_sync(described)
    async with database.write_transaction() as connection:
        await connection.run_sync(metadata.drop_all)
        await connection.exec_driver_sql(f"DROP TABLE {REVISION_TABLE}")
    await migrate(database)
    async with database.read_transaction() as connection:
        at_once, told = await connection.run_sync(described), await connection.run_sync(schema_revision)
    await database.engine.dispose()
    assert (at_once, told) == (by_steps, REVISION)


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


async def aged(engine: Engine, reached: str) -> None:
    """A database as an older program left it."""
    database = await opened(engine)
    async with database.write_transaction() as connection:
        await connection.run_sync(lambda sync: command.upgrade(_config(sync), reached))
    await database.engine.dispose()
    await engine.run(f"INSERT INTO policy_versions VALUES (1, '{now().isoformat()}', 'local', 'test')")


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@pytest.mark.behaviour("store.migrations", "store.secrets")
async def test_a_database_without_the_table_of_secrets_gets_it_and_keeps_the_rest(engine: Engine) -> None:
    await aged(engine, "0001")
    async with open_store(engine.url, clock=now, key=lambda _: bytes(32)) as store:
        assert await store.policy.load() == PolicyDecisions(version=1)
        await store.secrets.save("a", b"kept")
        assert await store.secrets.load("a") == b"kept"
        assert await store.tickets.list_tickets() == []
    assert await engine.run(f"SELECT version_num FROM {REVISION_TABLE}") == [(REVISION,)]


@pytest.mark.behaviour("store.migrations", "audit.one_stream")
async def test_calls_of_an_older_program_are_part_of_the_activity(engine: Engine) -> None:
    await aged(engine, "0002")
    for number, ended in enumerate(("returned", "pending_approval", "bad_arguments", "cancelled")):
        await engine.run(
            "INSERT INTO calls (at, call_id, principal, client, name, ended, said, took_us, argument_bytes,"
            f" result_bytes) VALUES ({number}, '{number}', 'ann', '', 'read', '{ended}', '', 1, 2, 3)"
        )
    async with open_store(engine.url, clock=now, keep_days=None) as store:
        rows = await store.audit.rows(AuditQuery())
    assert [(row.kind, row.policy_version, row.argument_tokens) for row in rows] == [
        ("call", None, None),
        ("refusal", None, None),
        ("refusal", None, None),
        ("call", None, None),
    ]


@pytest.mark.behaviour("store.migrations", "confirmation.standing_ends")
async def test_standing_permissions_from_before_they_had_an_end_end_30_days_after_they_were_given(
    engine: Engine,
) -> None:
    await aged(engine, "0019")
    await engine.run(
        "INSERT INTO consents (id, tool_id, kind, fingerprint, principal, by, at)"
        " VALUES ('c1', 'mcp:dev~github:write', 'mcp_tool', 'f', 'ann', 'local', '2026-01-02T03:04:05+00:00')"
    )
    async with open_store(engine.url, clock=now) as store:
        decided = await store.policy.load()
    assert decided.consents["c1"].until == datetime(2026, 2, 1, 3, 4, 5, tzinfo=UTC)
    assert await engine.run("SELECT until FROM consents") == [("2026-02-01T03:04:05+00:00",)]


@pytest.mark.behaviour("store.migrations", "overrides.arguments")
async def test_overrides_from_before_there_were_arguments_are_kept_and_take_them(engine: Engine) -> None:
    await aged(engine, "0006")
    await engine.run(
        "INSERT INTO tool_overrides (toolset_id, tool_id, kind, place, renderer, enabled, declared)"
        " VALUES ('dev', '*:*', 'pattern', 0, 'code', FALSE, FALSE)"
    )
    row = Override(ToolsetId("dev"), Pattern("*", "*"), renderer="code", enabled=False)
    before = PolicyDecisions(version=1, overrides=(row,))
    said = {
        "path": ArgumentOverride(pin=freeze_json({"a": [None, 1, "${X}"]})),
        "b": ArgumentOverride(hide=False, description="ä"),
    }
    now_said = replace(row, arguments=said, origins={"renderer": InstalledBy(LOCAL_PRINCIPAL, now())})
    after = PolicyDecisions(version=2, overrides=(now_said,))
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.load() == before
        await store.policy.save(before, after, by=LOCAL_PRINCIPAL, what="test", at=now())
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.load() == after
    assert await engine.run(f"SELECT version_num FROM {REVISION_TABLE}") == [(REVISION,)]
