"""Every call leaves one record, taken at once and written soon, whatever the database does meanwhile."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, given, settings
from tests.store.calls import NOON, TOOL, record
from tests.store.engines import Engine, Sqlite, now
from tests.store.generated import LONE, texts
from tests.support.sentences import unknown_tool

from pegboard.core.calls.call import (
    BadArguments,
    CallCancellation,
    CallRecord,
    LockedToolRefusal,
    Outcome,
    ProviderFailure,
    Refusal,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
)
from pegboard.core.decision.status import NoApproval, SwitchedOff
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, PrincipalId, ToolId, ToolsetId, ToolsetKey
from pegboard.core.policy.policy import Switch
from pegboard.ports.audit import AuditQuery, AuditRow
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.audit import AuditLimits, AuditLog
from pegboard.store.database import StoreDatabase, StoreError
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

SECRET = "hunter2"


async def recorded(store: Store, *records: CallRecord) -> Sequence[AuditRow]:
    for each in records:
        store.audit.record(each)
    return await store.audit.rows(AuditQuery(limit=len(records)))


def ids(rows: Sequence[AuditRow]) -> list[str]:
    return [row.call_id for row in rows]


@pytest.mark.behaviour("audit.every_call", "store.same_contract")
async def test_a_call_leaves_one_record_of_who_when_what_and_how_it_ended(store: Store) -> None:
    (row,) = await recorded(
        store,
        record(
            ToolSuccess(b"x" * 1000),
            at=NOON + timedelta(microseconds=1),
            id="c1",
            parent=CallId("c0"),
            principal=PrincipalId("ann"),
            raw=b'{"path":"/etc"}',
            took=timedelta(seconds=2, microseconds=7),
            policy_version=17,
        ),
    )
    assert row == AuditRow(
        number=row.number,
        at=NOON + timedelta(microseconds=1),
        call_id="c1",
        parent_id="c0",
        principal="ann",
        client="claude",
        name="read_file",
        tool="mcp:dev~fs:read_file",
        outcome="returned",
        message="",
        duration_us=2_000_007,
        argument_bytes=15,
        result_bytes=1000,
        kind="call",
        policy_version=17,
        argument_tokens=5,
        result_tokens=210,
    )
    assert row.at.utcoffset() == timedelta(0)


@pytest.mark.behaviour("audit.refusals")
@pytest.mark.parametrize(
    ("ended", "told"),
    [
        (ToolSuccess(b"12345"), ("returned", "", 5)),
        (ToolFailure(b"123"), ("tool_failed", "", 3)),
        (
            ProviderFailure("The server went away.", may_have_run=True),
            ("provider_failed", "The server went away. The tool may have run.", 0),
        ),
        (ProviderFailure("No answer in 120 s.", may_have_run=False), ("provider_failed", "No answer in 120 s.", 0)),
        (CallCancellation(), ("cancelled", "", 0)),
        (
            UnknownTool("read_fiel", ("read_file",)),
            ("unknown_tool", unknown_tool("read_fiel", "read_file"), 0),
        ),
        (
            BadArguments(TOOL, (f"path: {SECRET!r} is not a path", "depth: missing")),
            ("bad_arguments", "The arguments did not fit the tool. Problems: 2.", 0),
        ),
        (
            LockedToolRefusal(TOOL, NoApproval(TOOL)),
            ("pending_approval", "mcp:dev~fs:read_file is waiting for a person's approval.", 0),
        ),
        (
            LockedToolRefusal(TOOL, SwitchedOff(TOOL, Switch(False, PrincipalId("ann"), NOON, "noisy"))),
            ("disabled_by_user", "mcp:dev~fs:read_file was switched off by ann on 2026-07-28 (noisy).", 0),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_each_way_to_end_has_its_word_and_its_sentence(
    store: Store, ended: Refusal | Outcome, told: tuple[str, str, int]
) -> None:
    (row,) = await recorded(store, record(ended))
    assert (row.outcome, row.message, row.result_bytes) == told


@pytest.mark.behaviour("audit.every_call")
async def test_arguments_and_results_are_never_kept(store: Store, engine: Engine) -> None:
    await recorded(
        store,
        record(ToolSuccess(SECRET.encode()), arguments={"password": SECRET}, raw=None),
        record(ToolFailure(SECRET.encode()), raw=f'{{"password":"{SECRET}"}}'.encode()),
        record(BadArguments(TOOL, (f"password: {SECRET!r} is too short",))),
    )
    kept = await engine.run("SELECT * FROM calls")
    assert len(kept) == 3
    assert SECRET not in repr(kept)


async def test_the_size_of_arguments_is_counted_with_and_without_their_bytes(store: Store) -> None:
    sizes = [
        (await recorded(store, record(arguments={"a": "é"}, raw=raw)))[0].argument_bytes
        for raw in (None, '{ "a": "é" }'.encode(), b"")
    ]
    assert sizes == [len('{"a":"é"}'.encode()), 13, 0]


@pytest.mark.behaviour("audit.every_call")
async def test_a_call_whose_arguments_are_no_json_is_recorded_without_a_size(store: Store) -> None:
    no_json: Any = object()
    (row,) = await recorded(store, record(arguments={"a": no_json}, raw=None))
    assert (row.name, row.argument_bytes) == ("read_file", 0)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=texts, client=texts, why=texts)
async def test_any_text_may_be_in_a_record_and_is_found_by_it(store: Store, name: str, client: str, why: str) -> None:
    tool, who = ToolId(ToolsetKey(ToolsetId("dev")), name), PrincipalId(client)
    store.audit.record(
        record(ProviderFailure(why, may_have_run=False), name=name, client=client, tool=tool, principal=who, id=why)
    )
    (row,) = await store.audit.rows(AuditQuery(tool=str(tool), principal=who, limit=1))
    if len(name + client + why) < 100:
        told = (row.name, row.client, row.principal, row.tool, row.call_id, row.message)
        assert told == (name, client, client, str(tool), why, why)


async def test_texts_that_a_client_made_endless_are_cut_and_still_found(store: Store) -> None:
    long = ToolId(ToolsetKey(ToolsetId("dev")), LONE * 100_000)
    broken = ProviderFailure("z" * 10**6, may_have_run=False)
    store.audit.record(record(broken, name="x" * 10**6, client="y" * 10**6, tool=long))
    store.audit.record(record())
    (row,) = await store.audit.rows(AuditQuery(tool=str(long)))
    assert (len(row.name) < 700, len(row.client) < 700, row.message) == (True, True, "z" * 1999 + "…")


async def test_rows_are_told_in_the_order_of_writing_the_latest_first_and_every_filter_narrows(store: Store) -> None:
    ann, other = PrincipalId("ann"), ToolId(ToolsetKey(ToolsetId("dev")), "other")
    await recorded(
        store,
        record(id="0", at=NOON),
        record(id="1", at=NOON + timedelta(minutes=1), principal=ann),
        record(id="2", at=NOON + timedelta(minutes=2), tool=other),
        record(CallCancellation(), id="3", at=NOON + timedelta(minutes=3), principal=ann),
        # It was asked for before the last one, and took longer.
        record(id="4", at=NOON + timedelta(minutes=2, seconds=30)),
    )
    queries = {
        AuditQuery(): ["4", "3", "2", "1", "0"],
        AuditQuery(limit=2): ["4", "3"],
        AuditQuery(limit=0): [],
        AuditQuery(principal="ann"): ["3", "1"],
        AuditQuery(tool=str(other)): ["2"],
        AuditQuery(tool="nothing"): [],
        AuditQuery(outcome="cancelled"): ["3"],
        AuditQuery(since=NOON + timedelta(minutes=2)): ["4", "3", "2"],
        AuditQuery(until=NOON + timedelta(minutes=2)): ["1", "0"],
        AuditQuery(since=NOON + timedelta(minutes=1), until=NOON + timedelta(minutes=3)): ["4", "2", "1"],
        AuditQuery(principal="ann", outcome="returned", since=NOON): ["1"],
    }
    assert {query: ids(await store.audit.rows(query)) for query in queries} == queries


async def test_a_time_without_a_zone_is_the_time_of_this_machine(store: Store) -> None:
    here = NOON.astimezone().replace(tzinfo=None)
    await recorded(store, record(id="zoned", at=NOON), record(id="plain", at=here))
    for since, found in ((here, ["plain", "zoned"]), (here + timedelta(microseconds=1), [])):
        assert ids(await store.audit.rows(AuditQuery(since=since))) == found


async def test_pages_show_every_row_once_while_new_ones_come(store: Store) -> None:
    moments = [NOON + timedelta(seconds=number // 3) for number in range(20)]
    await recorded(store, *[record(id=str(number), at=at) for number, at in enumerate(moments)])
    pages: list[str] = []
    before: int | None = None
    while rows := await store.audit.rows(AuditQuery(limit=3, before=before, principal=LOCAL_PRINCIPAL)):
        pages += ids(rows)
        before = rows[-1].number
        store.audit.record(record(id="new", at=NOON + timedelta(hours=1)))
    assert pages == [str(number) for number in range(19, -1, -1)]


async def test_a_page_after_a_record_that_is_gone_goes_on_where_it_was(store: Store, engine: Engine) -> None:
    rows = await recorded(store, *[record(id=str(number), at=NOON + timedelta(seconds=number)) for number in range(5)])
    await engine.run("DELETE FROM calls WHERE call_id = '2'")
    gone = rows[2].number
    assert ids(await store.audit.rows(AuditQuery(before=gone))) == ["1", "0"]


@pytest.mark.behaviour("audit.batches")
async def test_recording_never_waits_and_a_batch_is_one_transaction(engine: Engine) -> None:
    async with open_store(engine.url, clock=now, limits=AuditLimits(batch_size=100, batch_delay_s=60)) as store:
        for _ in range(99):
            store.audit.record(record())
        await anyio.wait_all_tasks_blocked()
        assert await engine.run("SELECT count(*) FROM calls") == [(0,)]
        store.audit.record(record())
        with anyio.fail_after(30):
            while await engine.run("SELECT count(*) FROM calls") != [(100,)]:
                assert await engine.run("SELECT count(*) FROM calls") in ([(0,)], [(100,)])
        assert store.audit.dropped_count == 0


@pytest.mark.behaviour("audit.batches")
async def test_a_lone_record_is_written_soon_without_being_asked_for(store: Store, engine: Engine) -> None:
    store.audit.record(record())
    with anyio.fail_after(30):
        while await engine.run("SELECT count(*) FROM calls") == [(0,)]:
            await anyio.lowlevel.checkpoint()


async def test_closing_writes_what_is_left(engine: Engine) -> None:
    async with open_store(engine.url, clock=now, limits=AuditLimits(batch_delay_s=60)) as store:
        for _ in range(1234):
            store.audit.record(record())
    assert await engine.run("SELECT count(*) FROM calls") == [(1234,)]
    store.audit.record(record())
    assert store.audit.dropped_count == 1


async def test_an_exception_of_the_one_who_opened_it_comes_out_as_it_is_and_loses_no_record(engine: Engine) -> None:
    async def fail() -> None:
        async with open_store(engine.url, clock=now) as store:
            store.audit.record(record())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await engine.run("SELECT count(*) FROM calls") == [(1,)]


async def test_a_cancelled_owner_still_writes_what_is_left(engine: Engine) -> None:
    with anyio.CancelScope() as scope:
        async with open_store(engine.url, clock=now, limits=AuditLimits(batch_delay_s=60)) as store:
            store.audit.record(record())
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    assert await engine.run("SELECT count(*) FROM calls") == [(1,)]


async def outage(engine: Engine, *, over: bool = False) -> None:
    """Any failure of the database looks the same from here: the table cannot be written."""
    here, there = ("elsewhere", "calls") if over else ("calls", "elsewhere")
    await engine.run(f"ALTER TABLE {here} RENAME TO {there}")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage().split(":")[0] for line in caplog.records if line.levelno == logging.WARNING]


@pytest.mark.behaviour("audit.bounded", "audit.every_call")
async def test_an_outage_loses_nothing_that_fits_the_queue_and_is_told_once(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(
        engine.url, clock=now, limits=AuditLimits(max_queued=50, batch_size=10, batch_delay_s=0)
    ) as store:
        await outage(engine)
        with anyio.fail_after(60):
            for number in range(50):
                store.audit.record(record(id=str(number), at=NOON + timedelta(seconds=number)))
            while len(warnings(caplog)) < 1:
                await anyio.lowlevel.checkpoint()
            for _ in range(7):
                store.audit.record(record(id="too many"))
            assert store.audit.dropped_count == 7
            await outage(engine, over=True)
            await store.audit.flush()
        assert ids(await store.audit.rows(AuditQuery())) == [str(number) for number in range(49, -1, -1)]
        assert warnings(caplog) == [
            "Calls cannot be recorded now, and wait in memory",
            "Calls are dropped from the audit",
            "Calls are recorded again. Dropped since the start",
        ]


class LosesAnAnswer:
    """A real database whose first commit succeeds without anybody hearing of it."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self.lost = anyio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @asynccontextmanager
    async def write_transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._database.write_transaction() as connection:
            yield connection
        if not self.lost.is_set():
            self.lost.set()
            raise StoreError("the connection was lost")


async def test_a_batch_that_was_committed_without_an_answer_is_not_written_twice(store: Store, engine: Engine) -> None:
    loses = LosesAnAnswer(store.policy._database)
    audit = AuditLog(
        cast("StoreDatabase", loses), clock=now, limits=AuditLimits(batch_delay_s=0), keep_days=None, keep_rows=None
    )
    with anyio.fail_after(60):
        async with audit.run_writer():
            for number in range(3):
                audit.record(record(id=str(number), at=NOON + timedelta(seconds=number)))
            await loses.lost.wait()
            # What comes before the next try must not become part of the batch that is in doubt.
            audit.record(record(id="3", at=NOON + timedelta(seconds=3)))
    assert await engine.run("SELECT call_id FROM calls ORDER BY number") == [("0",), ("1",), ("2",), ("3",)]


async def test_what_the_database_will_never_take_does_not_stand_in_the_way(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(engine.url, clock=now) as store:
        await engine.run(
            "CREATE TRIGGER never BEFORE INSERT ON calls WHEN NEW.name = 'poison' BEGIN SELECT RAISE(ABORT, 'no'); END"
            if isinstance(engine, Sqlite)
            else "ALTER TABLE calls ADD CHECK (name != 'poison')"
        )
        assert await recorded(store, record(name="poison")) == []
        assert ids(await recorded(store, record(id="fine"))) == ["fine"]
    assert store.audit.dropped_count == 1
    (told,) = [line for line in caplog.records if line.levelno == logging.ERROR]
    assert told.getMessage() == "1 calls were not recorded, because of a fault in Pegboard."
    assert told.exc_info


async def test_closing_during_an_outage_gives_up_in_time_and_counts_what_is_lost(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    with anyio.fail_after(60):
        async with open_store(engine.url, clock=now, limits=AuditLimits(batch_delay_s=0, close_timeout_s=0.3)) as store:
            await outage(engine)
            for _ in range(5):
                store.audit.record(record())
    assert store.audit.dropped_count == 5
    assert warnings(caplog)[-1].startswith("5 calls were not recorded")
