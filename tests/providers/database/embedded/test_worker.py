"""The workers of embedded engines: capped, stopped, killed with whoever started them, and never a reason to wait."""

import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import psutil
import pytest

from pegboard.core.databases.rows import QueryRows, StatementFailure, StatementFault
from pegboard.core.model.databases import (
    FULL_ACCESS,
    DatabaseAccess,
    Dialect,
    NamePattern,
    QueryLimits,
    parse_name_pattern,
)
from pegboard.providers.database.worker.engine import WorkerEngine, sqlite_engine
from pegboard.providers.database.worker.frames import WorkerSetup

pytestmark = pytest.mark.anyio
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
ONE_LONG_STEP = "SELECT printf('%.*c', 2000000000, 'x')"
"""Within one step, so that SQLite neither looks at its clock nor hears an interrupt."""


def shop(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    return str(path)


@asynccontextmanager
async def engine_of(path: str, *, writes: bool = False) -> AsyncIterator[WorkerEngine]:
    engine = sqlite_engine(path, FULL_ACCESS, writes=writes)
    try:
        with anyio.fail_after(60):
            yield engine
    finally:
        await engine.aclose()


def workers() -> set[int]:
    """Of this process, that are alive."""
    return {
        child.pid
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and any("database.worker.main" in word for word in _words(child))
    }


def _words(process: psutil.Process) -> Iterator[str]:
    try:
        yield from process.cmdline()
    except psutil.Error:
        return


async def gone(pids: set[int]) -> None:
    while any(map(_lives, pids)):  # noqa: ASYNC110 - no event tells the end of a process that is not our child
        await anyio.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.behaviour("databases.statements_stopped")
async def test_a_statement_that_takes_too_long_ends_and_the_source_goes_on(tmp_path: Path) -> None:
    async with engine_of(shop(tmp_path / "shop.db")) as engine:
        for statement in (ENDLESS, ONE_LONG_STEP):
            answer = await engine.run(statement, (), QueryLimits(seconds=0.2))
            assert isinstance(answer, StatementFailure)
            assert answer.fault is StatementFault.TIME
        last = await engine.run("SELECT count(*) FROM t", (), QueryLimits())
        assert isinstance(last, QueryRows)
        assert last.rows == ((2,),)


@pytest.mark.behaviour("databases.statements_stopped")
async def test_a_cancelled_statement_is_stopped_and_its_worker_gone(tmp_path: Path) -> None:
    async with engine_of(shop(tmp_path / "shop.db")) as engine:
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)
        running = workers()
        assert len(running) == 1
        with anyio.move_on_after(0.2) as scope:
            await engine.run(ENDLESS, (), QueryLimits(seconds=60))
        assert scope.cancelled_caught
        await gone(running)
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)


@pytest.mark.behaviour("databases.statements_stopped", "databases.writes")
async def test_a_cancelled_write_is_undone(tmp_path: Path) -> None:
    path = shop(tmp_path / "shop.db")
    fill = "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM c) SELECT x, x FROM c"
    async with engine_of(path, writes=True) as engine:
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)
        with anyio.move_on_after(0.5) as scope:
            await engine.run(fill, (), QueryLimits(seconds=60), write=True)
        assert scope.cancelled_caught
        with closing(sqlite3.connect(path, timeout=0.5, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            assert other.execute("SELECT count(*) FROM t").fetchone() == (2,)


async def test_statements_run_beside_each_other_and_none_holds_the_loop(tmp_path: Path) -> None:
    async def ask(engine: WorkerEngine, answers: list[object], statement: str) -> None:
        answers.append(await engine.run(statement, (), QueryLimits(seconds=60)))

    async with engine_of(shop(tmp_path / "shop.db")) as engine:
        long: list[object] = []
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask, engine, long, ENDLESS)
            assert isinstance(await engine.run("SELECT count(*) FROM t", (), QueryLimits(seconds=60)), QueryRows)
            group.cancel_scope.cancel()
        assert long == []
        short: list[object] = []
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(ask, engine, short, "SELECT count(*) FROM t")
        assert [type(each) for each in short] == [QueryRows] * 12
        assert len(workers()) <= 4


async def test_a_worker_that_is_killed_costs_its_own_statement_alone(tmp_path: Path) -> None:
    async with engine_of(shop(tmp_path / "shop.db")) as engine:
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)
        (worker,) = workers()
        os.kill(worker, 9)
        await gone({worker})
        first = await engine.run("SELECT 1", (), QueryLimits())
        assert isinstance(first, StatementFailure)
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)


async def test_what_needs_too_much_memory_ends_within_its_worker(tmp_path: Path) -> None:
    big = "SELECT group_concat(hex(zeroblob(4000000))) FROM t, t AS a, t AS b, t AS c, t AS d, t AS e"
    async with engine_of(shop(tmp_path / "shop.db")) as engine:
        answer = await engine.run(big, (), QueryLimits(seconds=20))
        assert isinstance(answer, StatementFailure)
        assert answer.fault is StatementFault.MEMORY
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)


async def test_a_worker_that_nobody_uses_is_ended_and_a_closed_engine_has_none(tmp_path: Path) -> None:
    path = shop(tmp_path / "shop.db")
    setup = WorkerSetup(Dialect.SQLITE, path, FULL_ACCESS, False, 768 * 1024 * 1024, 0)
    engine = WorkerEngine(setup, idle_seconds=0.05)
    with anyio.fail_after(60):
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)
        await gone(workers())
        assert isinstance(await engine.run("SELECT 1", (), QueryLimits()), QueryRows)
        await engine.aclose()
        assert workers() == set()
        closed = await engine.run("SELECT 1", (), QueryLimits())
        assert closed == StatementFailure("The source was closed.", fault=StatementFault.UNAVAILABLE)


async def test_statements_that_are_no_text_or_too_long_reach_no_worker() -> None:
    engine = sqlite_engine("nowhere.db", FULL_ACCESS)
    refused = [await engine.run(each, (), QueryLimits()) for each in ("SELECT '\ud800'", "SELECT\0 1", "x" * 100_001)]
    assert [type(each).__name__ for each in refused] == ["StatementRefusal"] * 3
    assert workers() == set()


def _worked(pid: int) -> float:
    """Seconds of the processor's time."""
    try:
        return psutil.Process(pid).cpu_times().user
    except psutil.NoSuchProcess:
        return 0.0


GATEWAY = """
import sys, anyio
from pegboard.core.model.databases import FULL_ACCESS, QueryLimits
from pegboard.providers.database.worker.engine import sqlite_engine

async def main():
    engine = sqlite_engine(sys.argv[1], FULL_ACCESS, writes=True)
    await engine.check()
    print("ready", flush=True)
    await engine.run(sys.argv[2], (), QueryLimits(seconds=300), write=True)

anyio.run(main)
"""


@pytest.mark.slow
@pytest.mark.behaviour("databases.no_lock_left")
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM c) SELECT x, x FROM c",
        ENDLESS,
    ],
)
async def test_a_killed_gateway_leaves_no_lock_no_rows_and_no_process(statement: str, tmp_path: Path) -> None:
    path = shop(tmp_path / "shop.db")
    with anyio.fail_after(120):
        words = [sys.executable, "-c", GATEWAY, path, statement]
        async with await anyio.open_process(words, stderr=None) as gateway:
            assert gateway.stdout is not None
            assert (await gateway.stdout.receive()).startswith(b"r")
            running = {child.pid for child in psutil.Process(gateway.pid).children(recursive=True)}
            # Until it has begun: a writer holds a lock, a reader takes time.
            while not any(_worked(pid) > 0.5 for pid in running):  # noqa: ASYNC110 - nothing else tells it
                await anyio.sleep(0.05)
            gateway.kill()
            await gateway.wait()
        await gone(running)
        with closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            assert other.execute("SELECT count(*) FROM t").fetchone() == (2,)


async def test_patterns_and_limits_reach_the_worker_as_they_are(tmp_path: Path) -> None:
    pattern = parse_name_pattern("t.b")
    assert isinstance(pattern, NamePattern)
    engine = sqlite_engine(shop(tmp_path / "shop.db"), DatabaseAccess(deny=(pattern,)))
    try:
        answer = await engine.run("SELECT * FROM t", (), QueryLimits(rows=1))
        assert isinstance(answer, QueryRows)
        assert (answer.rows, [each.name for each in answer.columns]) == (((1,),), ["a"])
    finally:
        await engine.aclose()
