"""Whoever shares a store hears that the policy changed, and hears it again after an outage."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry
from tests.store.calls import record
from tests.store.engines import Engine, Postgres, now
from tests.store.saver import version

from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.policy.policy import PolicyDecisions
from pegboard.ports.audit import AuditQuery
from pegboard.ports.stores import SavedVersion
from pegboard.store.database import StoreDatabase
from pegboard.store.open import Store, open_store
from pegboard.store.policy import SqlPolicyStore
from pegboard.store.postgres import PostgresDatabase
from pegboard.store.sqlite import SqliteDatabase

pytestmark = pytest.mark.anyio


async def save(store: Store, number: int) -> None:
    before = await store.policy.load()
    assert await store.policy.save(before, version(number), by=LOCAL_PRINCIPAL, what="test", at=now()) == SavedVersion(
        number
    )


@asynccontextmanager
async def listening(policy: SqlPolicyStore) -> AsyncIterator[AsyncGenerator[None, None]]:
    """The rings that follow the first, which comes at once."""
    async with aclosing(policy.changes()) as rings:
        with anyio.fail_after(30):
            await anext(rings)
        yield rings


@pytest.mark.behaviour("store.change_bell", "store.same_contract")
async def test_a_save_by_another_rings_and_loading_then_shows_it(store: Store, engine: Engine) -> None:
    async with listening(store.policy) as rings, open_store(engine.url, clock=now) as other:
        for number in (1, 2, 3):
            await save(other, number)
            with anyio.fail_after(30):
                await anext(rings)
            assert await store.policy.load() == version(number)


@pytest.mark.behaviour("store.change_bell")
async def test_what_was_saved_before_anyone_listened_rings_at_once(store: Store, engine: Engine) -> None:
    assert await store.policy.load() == PolicyDecisions()
    async with open_store(engine.url, clock=now) as other:
        await save(other, 1)
    async with listening(store.policy):
        assert await store.policy.load() == version(1)


@pytest.mark.behaviour("gateway.bells_carry_nothing")
async def test_many_saves_may_ring_once_and_loading_then_shows_the_last(store: Store, engine: Engine) -> None:
    async with listening(store.policy) as rings, open_store(engine.url, clock=now) as other:
        for number in range(1, 6):
            await save(other, number)
        with anyio.fail_after(30):
            while await store.policy.load() != version(5):
                await anext(rings)


async def test_neither_our_own_save_nor_a_recorded_call_rings(store: Store, engine: Engine) -> None:
    heard = 0

    async def count() -> None:
        nonlocal heard
        async for _ in rings:
            heard += 1
            done.set()

    async with listening(store.policy) as rings, anyio.create_task_group() as tasks:
        done = anyio.Event()
        tasks.start_soon(count)
        await save(store, 1)
        store.audit.record(record())
        assert len(await store.audit.rows(AuditQuery())) == 1
        # The ring of another comes after those two would have.
        async with open_store(engine.url, clock=now) as other:
            await save(other, 2)
        with anyio.fail_after(30):
            await done.wait()
        tasks.cancel_scope.cancel()
    assert heard == 1


@pytest.mark.slow
async def test_a_listener_whose_connection_dies_reconnects_and_rings_for_what_it_missed(postgres: Postgres) -> None:
    async with open_store(postgres.url, clock=now) as store, listening(store.policy) as rings:
        with anyio.fail_after(30):
            await postgres.outside(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{postgres.name}'"
            )
            await anext(rings)
            async with open_store(postgres.url, clock=now) as other:
                await save(other, 1)
            while await store.policy.load() != version(1):
                await anext(rings)


@pytest.mark.slow
async def test_a_listener_outlives_a_server_that_takes_nobody_in(postgres: Postgres) -> None:
    database: StoreDatabase = PostgresDatabase(postgres.url, backoff=(0.01, 0.02), pulse=0.02)
    async with open_store(postgres.url, clock=now), aclosing(database.watch_changes()) as rings:
        with anyio.fail_after(30):
            await anext(rings)
            await postgres.outside(f"ALTER DATABASE {postgres.name} ALLOW_CONNECTIONS false")
            await postgres.outside(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{postgres.name}'"
            )
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anext, rings)
                await anyio.wait_all_tasks_blocked()
                await postgres.outside(f"ALTER DATABASE {postgres.name} ALLOW_CONNECTIONS true")
    await database.engine.dispose()


async def test_a_listener_that_is_cancelled_leaves_nothing_running(store: Store) -> None:
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                async for _ in store.policy.changes():
                    heard.set()

            heard = anyio.Event()
            tasks.start_soon(listen)
            await heard.wait()
            tasks.cancel_scope.cancel()
    assert await store.policy.load() == PolicyDecisions()


async def test_a_listener_that_is_cancelled_in_the_middle_of_a_statement_waits_for_its_end(tmp_path: Path) -> None:
    """A statement that is cut off has its connection closed by a task that nobody owns, and that may never end."""
    loop = asyncio.get_running_loop()
    asking, answer = anyio.Event(), threading.Event()

    def hold(statement: str) -> None:
        """In the thread of the connection."""
        if "data_version" in statement:
            loop.call_soon_threadsafe(asking.set)
            answer.wait(30)

    def watched(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.driver_connection._conn.set_trace_callback(hold)

    async def listen() -> None:
        with scope:
            async for _ in database.watch_changes():
                pass

    database = SqliteDatabase(tmp_path / "pegboard.db")
    await database.prepare()
    event.listen(database.engine.sync_engine, "connect", watched)
    before, scope = asyncio.all_tasks(), anyio.CancelScope()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await asking.wait()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            answer.set()
        await database.engine.dispose()
    assert scope.cancelled_caught
    assert asyncio.all_tasks() == before
