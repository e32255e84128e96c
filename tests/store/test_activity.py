"""One stream of calls and decisions: asked by any part of it, followed without a gap, kept without secrets."""

import json
from collections.abc import Sequence
from datetime import timedelta

import anyio
import pytest
from tests.store.calls import NOON, TOOL, record
from tests.store.engines import Engine, now
from tests.store.processes import finished
from tests.support.sentences import unknown_tool

from pegboard.core.calls.activity import DecisionRecord
from pegboard.core.calls.call import BadArguments, ToolFailure, ToolSuccess, UnknownTool
from pegboard.core.model.ids import PrincipalId, ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.redaction import Redaction
from pegboard.ports.audit import AuditQuery, AuditRow, NewerPage
from pegboard.store.audit import AuditLimits
from pegboard.store.call_records import MAX_KEPT_CHARS, ContentRetention, redact_content
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

ANN = PrincipalId("ann")
SECRET = "hunter2 and more"
ELSEWHERE = ToolId(ServerKey(ToolsetId("dev"), ServerId("fs2")), "read_file")


def decision(kind: str = "switch", about: str | None = "dev~fs", *, minute: int = 0, said: str = "") -> DecisionRecord:
    return DecisionRecord(kind, about, said or f"{kind} at {minute}", ANN, NOON + timedelta(minutes=minute), 7)


def told(rows: Sequence[AuditRow]) -> list[str]:
    return [row.message or row.call_id for row in rows]


@pytest.mark.behaviour("audit.one_stream", "audit.decisions", "store.same_contract")
async def test_a_decision_is_a_record_among_the_calls(store: Store) -> None:
    store.audit.record(record(id="before", at=NOON))
    store.audit.record_decision(decision(minute=1, said="switched off: too\x1b[2J noisy"))
    store.audit.record(record(id="after", at=NOON + timedelta(minutes=2)))
    after, row, before = await store.audit.rows(AuditQuery())
    assert (after.call_id, before.call_id) == ("after", "before")
    assert row == AuditRow(
        number=row.number,
        at=NOON + timedelta(minutes=1),
        call_id=row.call_id,
        parent_id=None,
        principal="ann",
        client="",
        name="",
        tool="dev~fs",
        outcome="done",
        message="switched off: too\\x1b[2J noisy",
        duration_us=0,
        argument_bytes=0,
        result_bytes=0,
        kind="switch",
        policy_version=7,
    )
    assert await store.audit.row(row.number) == row
    assert await store.audit.row(row.number + 100) is None


@pytest.mark.behaviour("audit.one_stream")
async def test_each_part_of_a_record_narrows_what_is_asked_for(store: Store) -> None:
    store.audit.record(record(id="0", at=NOON))
    store.audit.record(record(id="1", at=NOON + timedelta(minutes=1), tool=ELSEWHERE, name="other", client="cursor"))
    store.audit.record(record(UnknownTool("no"), id="2", at=NOON + timedelta(minutes=2), tool=None, name="no"))
    store.audit.record_decision(decision("switch", "dev~fs", minute=3))
    store.audit.record_decision(decision("approval", str(TOOL), minute=4))
    store.audit.record_decision(decision("config", None, minute=5))
    refused = unknown_tool("no")
    queries = {
        AuditQuery(): ["config at 5", "approval at 4", "switch at 3", refused, "1", "0"],
        AuditQuery(kind="call"): ["1", "0"],
        AuditQuery(kind="refusal"): [refused],
        AuditQuery(kind="decision"): ["config at 5", "approval at 4", "switch at 3"],
        AuditQuery(kind="approval"): ["approval at 4"],
        AuditQuery(kind="nothing"): [],
        AuditQuery(server="dev~fs"): ["approval at 4", "switch at 3", "0"],
        AuditQuery(server="dev~fs2"): ["1"],
        AuditQuery(server="dev~f"): [],
        AuditQuery(tool=str(TOOL)): ["approval at 4", "0"],
        AuditQuery(name="other"): ["1"],
        AuditQuery(client="cursor"): ["1"],
        AuditQuery(principal="ann", kind="decision", until=NOON + timedelta(minutes=5)): [
            "approval at 4",
            "switch at 3",
        ],
        AuditQuery(outcome="done", server="dev~fs"): ["approval at 4", "switch at 3"],
        AuditQuery(outcome="unknown_tool"): [refused],
    }
    assert {query: told(await store.audit.rows(query)) for query in queries} == queries
    forward = {query: told((await store.audit.page_after(query, 0)).rows) for query in queries}
    assert forward == {query: found[::-1] for query, found in queries.items()}


@pytest.mark.behaviour("audit.bounded", "audit.decisions")
async def test_a_flood_of_calls_does_not_crowd_out_a_decision(engine: Engine) -> None:
    limits = AuditLimits(max_queued=10, spare_for_decisions=2, batch_delay_s=60)
    async with open_store(engine.url, clock=now, limits=limits) as store:
        for _ in range(50):
            store.audit.record(record())
        for minute in range(3):
            store.audit.record_decision(decision(minute=minute))
        assert store.audit.dropped_count == 41
        assert told(await store.audit.rows(AuditQuery(kind="decision"))) == ["switch at 1", "switch at 0"]


# Following


async def all_of(store: Store, query: AuditQuery, after: int = 0) -> tuple[list[str], list[int]]:
    """Page by page to the end, and where each page ended."""
    found: list[str] = []
    ends: list[int] = []
    while (page := await store.audit.page_after(query, after)).after != after:
        found += told(page.rows)
        after = page.after
        ends.append(after)
    return found, ends


@pytest.mark.behaviour("audit.follow_without_a_gap")
async def test_pages_go_on_in_the_order_of_writing_and_pass_over_what_is_not_asked_for(store: Store) -> None:
    for number in range(10):
        # Asked for in another order than they ended in.
        store.audit.record(
            record(id=str(number), at=NOON - timedelta(seconds=number), client="even" * (number % 2 == 0))
        )
    latest = await store.audit.latest_number()
    found, ends = await all_of(store, AuditQuery(client="even", limit=2))
    assert found == ["0", "2", "4", "6", "8"]
    assert (ends == sorted({*ends}), ends[-1]) == (True, latest)
    assert await store.audit.page_after(AuditQuery(client="even"), latest) == NewerPage((), latest)
    assert await store.audit.page_after(AuditQuery(limit=0), 0) == NewerPage((), 0)


@pytest.mark.behaviour("audit.follow_without_a_gap")
async def test_whoever_waits_is_told_as_soon_as_something_is_written(engine: Engine) -> None:
    async with open_store(engine.url, clock=now, limits=AuditLimits(batch_delay_s=0, poll_interval_s=600)) as store:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(store.audit.flush)
                waited: list[NewerPage] = []

                async def wait() -> None:
                    waited.append(await store.audit.page_after(AuditQuery(kind="switch"), 0, wait=500))

                tasks.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                store.audit.record(record())
                await store.audit.flush()
                store.audit.record_decision(decision())
    (page,) = waited
    assert told(page.rows) == ["switch at 0"]


async def test_waiting_in_vain_ends_and_does_not_look_at_the_same_again(store: Store) -> None:
    store.audit.record(record())
    latest = await store.audit.latest_number()
    assert await store.audit.page_after(AuditQuery(kind="switch"), 0, wait=0.01) == NewerPage((), latest)


@pytest.mark.slow
@pytest.mark.behaviour("audit.follow_without_a_gap")
async def test_what_two_other_processes_write_at_once_is_met_once_each_and_nothing_is_missed(engine: Engine) -> None:
    each = 3000
    met: list[str] = []
    async with open_store(engine.url, clock=now, limits=AuditLimits(poll_interval_s=0.01)) as store:
        with anyio.fail_after(90):
            async with anyio.create_task_group() as tasks:
                for name in ("a", "b"):
                    tasks.start_soon(finished, engine.url, "record", name, str(each))
                after = 0
                while len(met) < 2 * each:
                    page = await store.audit.page_after(AuditQuery(limit=170), after, wait=5)
                    met += told(page.rows)
                    after = page.after
        assert (await store.audit.page_after(AuditQuery(), after)).rows == ()
    assert len(met) == 2 * each
    assert {*met} == {f"{name}{number}" for name in ("a", "b") for number in range(each)}
    assert [one for one in met if one.startswith("a")] == [f"a{number}" for number in range(each)]


# What is kept of arguments and results


@pytest.mark.behaviour("audit.content_by_choice", "audit.content_redacted")
async def test_arguments_and_results_are_kept_by_choice_and_redacted(engine: Engine) -> None:
    nested = json.dumps({"token": SECRET, "rows": 3})
    result = {"content": [{"type": "text", "text": nested}], "structuredContent": {"api_key": SECRET, "own": "iban"}}
    raw = json.dumps({"password": SECRET, "path": "/etc/hosts", "iban": SECRET}).encode()
    keeping = ContentRetention(arguments=True, results=True, redaction=Redaction(("iban",)))
    async with open_store(engine.url, clock=now, keeping=keeping) as store:
        store.audit.record(record(ToolSuccess(json.dumps(result).encode()), raw=raw, id="0", at=NOON))
        later = NOON + timedelta(minutes=1)
        store.audit.record(record(BadArguments(TOOL, (f"{SECRET!r} is bad",)), raw=raw, id="1", at=later))
        refused, row = await store.audit.rows(AuditQuery())
    shown = {"password": "[hidden: 16 characters]", "path": "/etc/hosts", "iban": "[hidden: 16 characters]"}
    assert (json.loads(row.arguments or ""), json.loads(refused.arguments or "")) == (shown, shown)
    assert refused.result is None
    assert json.loads(row.result or "") == {
        "content": [{"type": "text", "text": {"token": "[hidden: 16 characters]", "rows": 3}}],
        "structuredContent": {"api_key": "[hidden: 16 characters]", "own": "iban"},
    }
    assert SECRET not in repr(await engine.run("SELECT * FROM calls"))


@pytest.mark.behaviour("audit.content_redacted")
async def test_a_rule_that_changes_while_the_gateway_runs_holds_for_what_is_written_next(engine: Engine) -> None:
    rules = [Redaction(), Redaction(("iban",))]
    async with open_store(engine.url, clock=now, keeping=ContentRetention(arguments=True)) as store:
        for rule in rules:
            store.audit.redaction = lambda rule=rule: rule  # type: ignore[misc]  # bound now, not when it is asked
            store.audit.record(record(raw=b'{"iban":"DE1"}'))
            await store.audit.flush()
        rows = await store.audit.rows(AuditQuery())
    assert [row.arguments for row in rows] == ['{"iban": "[hidden: 3 characters]"}', '{"iban": "DE1"}']


@pytest.mark.behaviour("audit.content_by_choice")
@pytest.mark.parametrize(("arguments", "results"), [(True, False), (False, True)])
async def test_each_of_the_two_is_a_choice_of_its_own(engine: Engine, arguments: bool, results: bool) -> None:
    async with open_store(engine.url, clock=now, keeping=ContentRetention(arguments, results)) as store:
        store.audit.record(record(ToolFailure(b'{"b":2}'), raw=b'{"a":1}'))
        (row,) = await store.audit.rows(AuditQuery())
    assert (row.arguments, row.result) == ('{"a": 1}' if arguments else None, '{"b": 2}' if results else None)


@pytest.mark.behaviour("audit.content_by_choice", "databases.audited")
@pytest.mark.parametrize(
    ("keeping", "kept"),
    [
        (ContentRetention(), {"sql": "SELECT [hidden: 26 characters]"}),
        (ContentRetention(results=True), {"sql": "SELECT [hidden: 26 characters]"}),
        (ContentRetention(redaction=Redaction(("sql",))), {"sql": "[hidden: 33 characters]"}),
        (ContentRetention(arguments=True), {"a": 1}),
    ],
)
async def test_what_a_record_itself_tells_is_kept_redacted_where_arguments_are_not(
    engine: Engine, keeping: ContentRetention, kept: object
) -> None:
    told = b'{"sql":"SELECT sk-12345678901234567890abc"}'
    async with open_store(engine.url, clock=now, keeping=keeping) as store:
        store.audit.record(record(raw=b'{"a":1}')._replace(recorded_arguments=told))
        store.audit.record(record(raw=b'{"a":1}'))
        other, first = await store.audit.rows(AuditQuery())
    assert json.loads(first.arguments or "") == kept
    assert other.arguments == ('{"a": 1}' if keeping.arguments else None)
    assert (first.argument_bytes, other.argument_bytes) == (7, 7)


@pytest.mark.behaviour("audit.content_bounded")
async def test_what_is_endless_is_cut_and_its_tokens_are_estimated_from_its_beginning(engine: Engine) -> None:
    long = json.dumps({"text": "word " * 1_000_000}).encode()
    async with open_store(engine.url, clock=now, keeping=ContentRetention(True, True)) as store:
        store.audit.record(record(ToolSuccess(long), raw=long))
        (row,) = await store.audit.rows(AuditQuery())
    assert (row.argument_bytes, row.result_bytes) == (len(long), len(long))
    assert len(row.arguments or "") < 2 * MAX_KEPT_CHARS + 100
    assert 800_000 < (row.result_tokens or 0) < 1_200_000


async def test_while_many_wait_their_contents_are_not_held(engine: Engine) -> None:
    limits = AuditLimits(batch_delay_s=60, max_with_content=2)
    raw = json.dumps({"text": "x" * 3000}).encode()
    async with open_store(engine.url, clock=now, keeping=ContentRetention(arguments=True), limits=limits) as store:
        for number in range(4):
            store.audit.record(record(raw=raw, id=str(number)))
        held = [len(row[14] or b"") for row in store.audit._queue]
        rows = await store.audit.rows(AuditQuery())
    assert held == [len(raw), len(raw), 1024, 1024]
    assert all(row.arguments for row in rows)


@pytest.mark.behaviour("audit.content_redacted")
@pytest.mark.parametrize(
    "text",
    [
        '{"password": "hunter2 and more", "rest": "' + "x" * 100,
        '{"content":[{"type":"text","text":"{\\"password\\": \\"hunter2 and more\\", \\"rest\\": 1',
        '{"password": "hunter2 and more',
        '{"content":[{"type":"text","text":"{\\"password\\":\\"hunter2 and \\\\\\"more',
        '{"authorization": "Bearer hunter2-and-more-of-it", "x',
        "not JSON at all: password=hunter2",
    ],
)
def test_what_breaks_off_is_redacted_all_the_same(text: str) -> None:
    shown = redact_content(text.encode(), len(text) + 1, Redaction())
    assert shown is not None
    assert ("hunter2" in shown, "more" in shown, "[hidden: " in shown) == (False, False, True)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"n": ' + b"9" * 10_000 + b"}",
        b"\xff\xfe\x00",
        b'{"a": "\\ud800", "b": NaN, "\\u0000": "\\u202e"}',
        b'"' * 16_000,
        b'{"' + b"\\" * 16_000,
    ],
    ids=range(8),
)
async def test_whatever_a_tool_sends_is_kept_as_some_text_and_stands_in_nobodys_way(
    engine: Engine, text: bytes
) -> None:
    async with open_store(engine.url, clock=now, keeping=ContentRetention(True, True)) as store:
        with anyio.fail_after(30):
            store.audit.record(record(ToolSuccess(text), raw=text))
            (row,) = await store.audit.rows(AuditQuery())
        assert (store.audit.dropped_count, row.result_bytes) == (0, len(text))
        assert "\u202e" not in (row.arguments or "")
