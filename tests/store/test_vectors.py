"""Vectors are kept by digest, for every replica, and go when nobody has used them for long."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from tests.store.engines import Engine, Sqlite, now

from pegboard.ports.models import VectorsUnavailable
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def some(count: int) -> dict[bytes, bytes]:
    return {number.to_bytes(32, "big"): bytes([number % 256]) * 768 for number in range(count)}


@pytest.mark.behaviour("semantic.vectors_kept", "store.same_contract")
async def test_what_was_kept_is_read_again_by_its_digest_and_nothing_else(engine: Engine) -> None:
    vectors = some(1_201)
    async with open_store(engine.url, clock=now) as store:
        await store.vectors.save(vectors, NOON)
    async with open_store(engine.url, clock=now) as store:
        assert await store.vectors.count() == 1_201
        assert await store.vectors.load([*vectors, b"unknown"], NOON) == vectors
        assert await store.vectors.load([], NOON) == {}


async def test_keeping_again_changes_nothing(store: Store) -> None:
    await store.vectors.save(some(2), NOON)
    await store.vectors.save({**some(3), some(1).popitem()[0]: b"another"}, NOON)
    await store.vectors.save({}, NOON)
    assert await store.vectors.load([*some(3)], NOON) == some(3)


async def test_replicas_that_keep_the_same_at_once_do_not_hinder_each_other(engine: Engine) -> None:
    vectors = some(300)

    async def keep(turned: bool) -> None:
        async with open_store(engine.url, clock=now) as store:
            await store.vectors.save(dict(reversed(vectors.items())) if turned else vectors, NOON)

    with anyio.fail_after(60):
        async with open_store(engine.url, clock=now) as store, anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(keep, number % 2 == 0)
        async with open_store(engine.url, clock=now) as store:
            assert await store.vectors.count() == 300


@pytest.mark.behaviour("semantic.vectors_swept")
async def test_vectors_that_nobody_uses_are_swept_and_used_ones_stay(store: Store) -> None:
    used, unused = [*some(700)][:600], [*some(700)][600:]
    await store.vectors.save(some(700), NOON)
    await store.vectors.load(used, NOON + timedelta(days=40))
    assert await store.vectors.delete_unused(NOON + timedelta(days=10)) == 100
    assert set(await store.vectors.load([*used, *unused], NOON)) == set(used)
    assert await store.vectors.delete_unused(NOON) == 0


async def test_a_store_that_is_away_says_so(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        await engine.run("DROP TABLE vectors")
        for asking in (
            store.vectors.count(),
            store.vectors.load([b"a"], NOON),
            store.vectors.save(some(1), NOON),
            store.vectors.delete_unused(NOON),
        ):
            with pytest.raises(VectorsUnavailable):
                await asking


async def test_reading_again_on_the_same_day_writes_nothing(tmp_path: Path) -> None:
    engine = Sqlite(tmp_path / "pegboard.db")
    async with open_store(engine.url, clock=now) as store:
        await store.vectors.save(some(2), NOON)
        holder = sqlite3.connect(engine.path)
        (before,) = holder.execute("PRAGMA data_version").fetchone()
        assert await store.vectors.load([*some(2)], NOON + timedelta(hours=3)) == some(2)
        (same_day,) = holder.execute("PRAGMA data_version").fetchone()
        assert await store.vectors.load([*some(2)], NOON + timedelta(days=1)) == some(2)
        (next_day,) = holder.execute("PRAGMA data_version").fetchone()
        holder.close()
    assert same_day == before
    assert next_day != before
