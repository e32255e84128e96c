"""Calls in numbers, from either engine: by stretch of time, by tool and by server."""

from datetime import timedelta

import pytest
from tests.store.calls import NOON, TOOL, record
from tests.store.engines import Engine, now
from tests.store.test_activity import ELSEWHERE, decision

from pegboard.core.calls.call import CallRecord, ProviderFailure, ToolFailure, ToolSuccess, UnknownTool
from pegboard.core.model.ids import BuiltinKey, CallId, PrincipalId, ServerId, ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.ports.audit import ActivityGroup, ActivitySummary, ActivityTotals, AuditQuery, TimeBuckets, TurnCount
from pegboard.store.audit import AuditLimits
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

MINUTES = TimeBuckets(NOON, timedelta(minutes=1), 3)


def timed(milliseconds: int, *, second: int = 0, tool: ToolId = TOOL, **changes: object) -> CallRecord:
    at, took = NOON + timedelta(seconds=second), timedelta(milliseconds=milliseconds)
    return record(at=at, took=took, tool=tool, **changes)  # type: ignore[arg-type]  # of `record`'s own


@pytest.mark.behaviour("audit.summary", "store.same_contract")
async def test_calls_are_summed_by_stretch_with_their_times_at_the_nearest_rank(store: Store) -> None:
    for number in range(1, 21):
        store.audit.record(timed(number, second=number))
    store.audit.record(record(ToolFailure(b'{"content":[],"isError":true}'), at=NOON + timedelta(minutes=2)))
    store.audit.record(record(UnknownTool("no"), at=NOON + timedelta(minutes=2), tool=None))
    store.audit.record(record(at=NOON + timedelta(minutes=3)))
    store.audit.record(record(at=NOON - timedelta(microseconds=1)))
    store.audit.record_decision(decision(minute=1))
    told = await store.audit.totals(AuditQuery(), MINUTES, ())
    first = ActivityTotals(
        outcomes={"returned": 20},
        calls=20,
        p50_us=10_000,
        p95_us=19_000,
        argument_bytes=40,
        result_bytes=280,
        argument_tokens=20,
        result_tokens=told.buckets[0].result_tokens,
    )
    last = ActivityTotals(
        outcomes={"tool_failed": 1, "unknown_tool": 1},
        calls=1,
        refusals=1,
        errors=1,
        p50_us=3_000,
        p95_us=3_000,
        argument_bytes=4,
        result_bytes=29,
        argument_tokens=2,
        result_tokens=told.buckets[2].result_tokens,
    )
    total = ActivityTotals(
        outcomes={"returned": 20, "tool_failed": 1, "unknown_tool": 1},
        calls=21,
        refusals=1,
        errors=1,
        p50_us=10_000,
        p95_us=19_000,
        argument_bytes=44,
        result_bytes=309,
        argument_tokens=22,
        result_tokens=first.result_tokens + last.result_tokens,
    )
    assert told == ActivitySummary([first, ActivityTotals(), last], total, {}, is_whole=True)
    assert first.result_tokens > 0


@pytest.mark.behaviour("audit.summary")
async def test_nothing_sums_up_to_nothing(store: Store) -> None:
    assert await store.audit.totals(AuditQuery(), MINUTES, ()) == ActivitySummary(
        [ActivityTotals()] * 3, ActivityTotals(), {}, is_whole=True
    )
    assert (await store.audit.breakdown(AuditQuery(), ActivityGroup.SERVER)).shares == []


@pytest.mark.behaviour("audit.summary")
async def test_what_narrows_a_list_narrows_its_summary(store: Store) -> None:
    store.audit.record(timed(5, principal=PrincipalId("ann")))
    store.audit.record(timed(50, name="Wri%te", tool=ELSEWHERE))
    for query, calls in {
        AuditQuery(principal="ann"): 1,
        AuditQuery(slower_us=5_000): 1,
        AuditQuery(slower_us=50_000): 0,
        AuditQuery(text="RI%T"): 1,
        AuditQuery(text="r%e"): 0,
        AuditQuery(text="DEV~FS"): 2,
        AuditQuery(server="dev~fs2"): 1,
    }.items():
        assert (await store.audit.totals(query, MINUTES, ())).total.calls == calls, query
        assert len(await store.audit.rows(query)) == calls, query


@pytest.mark.behaviour("audit.tokens_saved")
async def test_turns_are_counted_by_presentation_without_what_programs_called(store: Store) -> None:
    found = ToolSuccess(b'{"content":[{"type":"text","text":"many words about tools"}]}')
    store.audit.record(timed(1, presentation="search"))
    store.audit.record(record(found, name="retrieve_tools", tool=None, presentation="search"))
    store.audit.record(timed(1, presentation="code"))
    store.audit.record(timed(1, presentation="code", parent=CallId("p")))
    store.audit.record(timed(1))
    turns = (await store.audit.totals(AuditQuery(), MINUTES, ("retrieve_tools",))).turns
    cost = (await store.audit.rows(AuditQuery(name="retrieve_tools")))[0].result_tokens
    assert turns == {"code": TurnCount(1, 0), "search": TurnCount(2, cost or 0)}


@pytest.mark.behaviour("audit.shares", "store.same_contract")
async def test_each_tool_and_each_server_has_its_times_and_its_last_error(store: Store) -> None:
    own = ToolId(ToolsetKey(ToolsetId("notes")), "jot:down")
    builtin = ToolId(BuiltinKey(), "execute_sql")
    for number in (1, 2, 3):
        store.audit.record(timed(number, second=number))
    store.audit.record(timed(9, second=4, tool=ELSEWHERE))
    store.audit.record(record(ProviderFailure("gone", may_have_run=False), id="failed", tool=ELSEWHERE))
    for tool in (own, builtin):
        store.audit.record(timed(1, tool=tool))
    store.audit.record(record(UnknownTool("no"), tool=None))
    by_server = await store.audit.breakdown(AuditQuery(), ActivityGroup.SERVER)
    told = [
        (
            each.name,
            each.totals.calls,
            each.totals.errors,
            each.totals.p50_us,
            each.last_error and each.last_error.call_id,
        )
        for each in by_server.shares
    ]
    assert told == [
        ("dev~fs", 3, 0, 2_000, None),
        ("dev~fs2", 2, 1, 3_000, "failed"),
        ("execute_sql", 1, 0, 1_000, None),
        ("notes", 1, 0, 1_000, None),
    ]
    assert by_server.shares[0].last_at == NOON + timedelta(seconds=3)
    by_tool = await store.audit.breakdown(AuditQuery(limit=2), ActivityGroup.TOOL)
    assert ([each.name for each in by_tool.shares], by_tool.next_start) == ([str(TOOL), str(ELSEWHERE)], 2)
    rest = await store.audit.breakdown(AuditQuery(limit=2), ActivityGroup.TOOL, start=2)
    assert ([each.name for each in rest.shares], rest.next_start) == (["execute_sql", "notes:jot:down"], None)


async def test_an_id_that_was_too_long_to_keep_whole_is_a_share_of_its_own(store: Store) -> None:
    long = ToolId(ServerKey(ToolsetId("t" * 64), ServerId("s" * 64)), "n" * 700)
    store.audit.record(timed(1, tool=long))
    (share,) = (await store.audit.breakdown(AuditQuery(), ActivityGroup.SERVER)).shares
    assert (share.name[:10], share.totals.calls) == ("mcp:tttttt", 1)


@pytest.mark.behaviour("audit.summary")
async def test_a_summary_looks_at_so_many_rows_and_tells_when_there_are_more(engine: Engine) -> None:
    async with open_store(engine.url, clock=now, limits=AuditLimits(max_rows_walked=5)) as store:
        for second in range(9):
            store.audit.record(timed(1, second=second))
        told = await store.audit.totals(AuditQuery(), MINUTES, ())
        assert (told.total.calls, told.is_whole) == (5, False)
        later = TimeBuckets(NOON + timedelta(seconds=4), timedelta(minutes=1), 1)
        told = await store.audit.totals(AuditQuery(), later, ())
        assert (told.total.calls, told.is_whole) == (5, True)
