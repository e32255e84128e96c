"""The audit does not grow without end, and however large it is, a question finds its rows by an index."""

from datetime import datetime, timedelta
from typing import Final

import anyio
import pytest
from sqlalchemy import text
from tests.store.calls import NOON, TOOL, record
from tests.store.engines import Engine, Postgres, Sqlite, now

from pegboard.core.calls.activity import DecisionRecord
from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.ports.audit import AuditQuery
from pegboard.store.audit import ROWS_PER_DELETE, AuditLimits
from pegboard.store.audit_queries import select_matching
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

DAY: Final = timedelta(days=1)


def noon() -> datetime:
    return NOON


async def left(store: Store) -> list[str]:
    return [row.call_id for row in await store.audit.rows(AuditQuery(limit=10**6))]


@pytest.mark.behaviour("audit.retention_by_age")
async def test_records_older_than_the_age_are_removed_and_the_others_stay(engine: Engine) -> None:
    async with open_store(engine.url, clock=noon, keep_days=7) as store:
        for days in range(10):
            store.audit.record(record(id=str(days), at=NOON - days * DAY))
        await store.audit.flush()
        assert await store.audit.prune() == 2
        assert await left(store) == ["7", "6", "5", "4", "3", "2", "1", "0"]
        assert await store.audit.prune() == 0


@pytest.mark.behaviour("audit.retention_by_age")
async def test_old_records_that_a_wrong_clock_left_behind_young_ones_are_found_by_a_thorough_look(
    engine: Engine,
) -> None:
    async with open_store(engine.url, clock=noon, keep_days=7) as store:
        for number in range(ROWS_PER_DELETE + 1):
            store.audit.record(
                record(
                    id="old" if number == ROWS_PER_DELETE else "young", at=NOON - 8 * DAY * (number == ROWS_PER_DELETE)
                )
            )
        store.audit.record_decision(DecisionRecord("switch", "dev", "switched off", LOCAL_PRINCIPAL, NOON - 9 * DAY, 1))
        await store.audit.flush()
        assert await store.audit.prune(thorough=False) == 0
        assert await store.audit.prune() == 2
        assert {*await left(store)} == {"young"}


@pytest.mark.behaviour("audit.retention_by_size")
async def test_the_oldest_beyond_the_number_of_rows_are_removed(engine: Engine) -> None:
    async with open_store(engine.url, clock=noon, keep_days=None, keep_rows=3) as store:
        for number, at in enumerate([5, 1, 4, 2, 3]):
            store.audit.record(record(id=str(at), at=NOON + at * DAY, name=f"tool{number}"))
        await store.audit.flush()
        assert await store.audit.prune() == 2
        assert await left(store) == ["3", "2", "4"]
        assert await store.audit.prune() == 0


async def test_rows_of_one_moment_are_counted_one_by_one(engine: Engine) -> None:
    async with open_store(engine.url, clock=noon, keep_days=None, keep_rows=4) as store:
        for number in range(10):
            store.audit.record(record(id=str(number)))
        await store.audit.flush()
        assert await store.audit.prune() == 6
        assert await left(store) == ["9", "8", "7", "6"]


async def test_many_rows_are_removed_in_small_steps_and_all_of_them(engine: Engine) -> None:
    async with open_store(engine.url, clock=noon, keep_days=1, keep_rows=10) as store:
        many = 2 * ROWS_PER_DELETE + 100
        for number in range(many):
            store.audit.record(record(at=NOON - (2 if number < many - 100 else 0) * DAY))
        await store.audit.flush()
        assert await store.audit.prune() == many - 10
        assert len(await left(store)) == 10


@pytest.mark.parametrize(("keep_days", "keep_rows"), [(None, None), (10**12, 10**12)])
async def test_without_limits_everything_stays(engine: Engine, keep_days: int | None, keep_rows: int | None) -> None:
    async with open_store(engine.url, clock=noon, keep_days=keep_days, keep_rows=keep_rows) as store:
        store.audit.record(record(at=datetime.fromtimestamp(0, NOON.tzinfo)))
        await store.audit.flush()
        assert (await store.audit.prune(), len(await left(store))) == (0, 1)


async def test_pruning_happens_by_itself_and_outlives_an_outage(engine: Engine) -> None:
    limits = AuditLimits(prune_interval_s=0.01)
    async with open_store(engine.url, clock=noon, keep_days=1, limits=limits) as store:
        await engine.run("ALTER TABLE calls RENAME TO elsewhere")
        await anyio.wait_all_tasks_blocked()
        await engine.run("ALTER TABLE elsewhere RENAME TO calls")
        store.audit.record(record(at=NOON - 2 * DAY))
        await store.audit.flush()
        with anyio.fail_after(60):
            while await left(store):
                pass


async def test_numbers_are_not_used_again_when_all_rows_are_gone(engine: Engine) -> None:
    async with open_store(engine.url, clock=noon, keep_days=None, keep_rows=0) as store:
        numbers = []
        for _ in range(3):
            store.audit.record(record())
            (row,) = await store.audit.rows(AuditQuery())
            numbers.append(row.number)
            assert await store.audit.prune() == 1
    assert numbers == sorted({*numbers})


QUERIES: Final = {
    AuditQuery(): "SCAN calls",
    AuditQuery(tool=str(TOOL)): "SCAN calls",
    AuditQuery(server="dev~fs"): "SCAN calls",
    AuditQuery(principal="local"): "SCAN calls",
    AuditQuery(outcome="returned"): "SCAN calls",
    AuditQuery(kind="call", client="claude", name="read_file"): "SCAN calls",
    AuditQuery(since=NOON - DAY, until=NOON): "SCAN calls",
    AuditQuery(before=5): "SEARCH calls USING INTEGER PRIMARY KEY (rowid<?)",
    AuditQuery(tool=str(TOOL), since=NOON, before=5): "SEARCH calls USING INTEGER PRIMARY KEY (rowid<?)",
    AuditQuery(outcome="cancelled"): "SEARCH calls USING INDEX ix_calls_ended (ended=?)",
    AuditQuery(outcome="cancelled", since=NOON - DAY): "SEARCH calls USING INDEX ix_calls_ended (ended=?)",
    AuditQuery(kind="refusal"): "SCAN calls USING INDEX ix_calls_kind",
    AuditQuery(kind="decision"): "SCAN calls USING INDEX ix_calls_kind",
    AuditQuery(kind="switch", before=5): "SEARCH calls USING INDEX ix_calls_kind (number<?)",
}
"""How SQLite goes about each: along the rows from the last one back, or along the index of the few."""


def told(query: AuditQuery) -> str:
    return ",".join(f"{name}={value}" for name, value in vars(query).items() if value != getattr(AuditQuery(), name))


@pytest.mark.behaviour("audit.indexed_queries")
@pytest.mark.parametrize(
    ("query", "step"), QUERIES.items(), ids=lambda value: value if isinstance(value, str) else told(value)
)
async def test_in_sqlite_a_question_walks_back_along_the_rows_or_an_index_and_sorts_nothing(
    tmp_path_factory: pytest.TempPathFactory, query: AuditQuery, step: str
) -> None:
    engine = Sqlite(tmp_path_factory.mktemp("plan") / "pegboard.db")
    async with open_store(engine.url, clock=now) as store:
        dialect = store.audit._database.engine.dialect
        asked = select_matching(query).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
        plan = [row[3] for row in await engine.run(f"EXPLAIN QUERY PLAN {asked}")]
    assert plan == [step]  # a second step would be the sort


@pytest.mark.slow
@pytest.mark.behaviour("audit.indexed_queries")
async def test_in_postgresql_a_question_goes_down_an_index_where_there_is_one_for_it(postgres: Postgres) -> None:
    """It knows how often a value occurs, and may rather sort a few rows, or read the table from end to end."""
    by_index = {
        AuditQuery(): "pk_calls",
        AuditQuery(before=500): "pk_calls",
        AuditQuery(outcome="cancelled"): "ix_calls_ended",
        AuditQuery(kind="switch"): "ix_calls_kind",
        AuditQuery(kind="decision"): "ix_calls_kind",
    }
    async with open_store(postgres.url, clock=now) as store:
        await postgres.run(
            "INSERT INTO calls (at, call_id, principal, client, name, tool, ended, said, took_us, argument_bytes,"
            " result_bytes) SELECT n * 1000000::bigint, n, 'p' || n % 100, '', '', 't' || n % 100,"
            " CASE WHEN n % 50 = 0 THEN 'cancelled' ELSE 'returned' END, '', 0, 0, 0"
            " FROM generate_series(1, 20000) AS n"
        )
        await postgres.run("ANALYZE calls")
        async with store.audit._database.read_transaction() as connection:
            for query, index in by_index.items():
                asked = select_matching(query).compile(
                    dialect=connection.dialect, compile_kwargs={"literal_binds": True}
                )
                plan = "\n".join((await connection.execute(text(f"EXPLAIN {asked}"))).scalars())
                assert ("Seq Scan" in plan, index in plan) == (False, True), plan
