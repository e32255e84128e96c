"""What happened, in numbers and in full: summaries, exports, and one record beside what is true now."""

import csv
import io
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.store.calls import NOON, TOOL, record
from tests.support.house import declared
from tests.surfaces.rest.desk import GITHUB, at_desk, problem
from tests.surfaces.rest.recorded import at_recorded_desk

from pegboard.core.calls.call import CallRecord, ProviderFailure, UnknownTool
from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import CallId, PrincipalId, ToolId
from pegboard.core.model.principals import Principal
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.settings import PresentationMode
from pegboard.core.presentations.costs import PresentationCost, PresentationTokenSavings, TotalSavings, compute_savings
from pegboard.store.database import StoreError

pytestmark = pytest.mark.anyio

READ = ToolId(GITHUB, "read")
HOUR = {"since": NOON.isoformat(), "until": (NOON + timedelta(hours=1)).isoformat()}


def numbered(body: Any) -> dict[str, Any]:
    return {key: body[key] for key in ("calls", "refusals", "errors", "outcomes", "p50Ms", "p95Ms")}


@pytest.mark.behaviour("audit.summary", "audit.tokens_saved")
async def test_a_summary_tells_each_bucket_the_whole_and_what_was_saved_with_the_parts_of_the_sum(
    tmp_path: Path,
) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        store.audit.record(record(at=NOON, took=timedelta(milliseconds=4), presentation="search"))
        store.audit.record(record(UnknownTool("no"), at=NOON + timedelta(minutes=59), tool=None))
        told = await desk.get("/activity/summary", buckets=4, **HOUR)
        shown = {each["name"]: each["tokens"] for each in (await desk.get("/presentations"))["presentations"]}
    first, *between, last = told["buckets"]
    assert [each["at"] for each in told["buckets"]] == [
        (NOON + timedelta(minutes=15 * place)).isoformat() for place in range(4)
    ]
    nothing = {"calls": 0, "refusals": 0, "errors": 0, "outcomes": {}, "p50Ms": None, "p95Ms": None}
    one = {**nothing, "calls": 1, "outcomes": {"returned": 1}, "p50Ms": 4.0, "p95Ms": 4.0}
    refused = {**nothing, "refusals": 1, "outcomes": {"unknown_tool": 1}}
    assert [numbered(each) for each in (first, *between, last)] == [one, nothing, nothing, refused]
    both = {"returned": 1, "unknown_tool": 1}
    assert numbered(told["total"]) == {**one, "refusals": 1, "outcomes": both}
    saved = shown["direct"] - shown["search"]
    part = {"presentation": "search", "turns": 1, "shownTokens": shown["search"], "foundTokens": 0}
    assert told["savings"] == {
        "tokens": saved,
        "allToolsTokens": shown["direct"],
        "parts": [{**part, "savedTokens": saved}],
        "formula": told["savings"]["formula"],
    }
    assert told["savings"]["formula"].startswith("saved = turns * (all tools - shown) - found")
    assert (told["bucketSeconds"], told["complete"]) == (900.0, True)


@pytest.mark.behaviour("audit.tokens_saved")
def test_savings_are_the_turns_without_all_tools_less_what_finding_cost() -> None:
    costs = [
        PresentationCost(PresentationMode.DIRECT, 50, 10_000),
        PresentationCost(PresentationMode.SEARCH, 4, 1_000),
        PresentationCost(PresentationMode.CODE, 2, 600),
    ]
    found = compute_savings(costs, {"search": (3, 2_000), "trial": (9, 9), "code": (1, 0)})
    parts = [
        PresentationTokenSavings("search", 3, 1_000, 2_000, 25_000),
        PresentationTokenSavings("code", 1, 600, 0, 9_400),
    ]
    assert (found, found.saved_tokens) == (TotalSavings(10_000, parts), 34_400)
    assert compute_savings(costs[1:], {}).saved_tokens == 0


@pytest.mark.behaviour("audit.shares")
async def test_servers_and_tools_are_told_with_times_and_the_last_error(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        store.audit.record(record(at=NOON, took=timedelta(milliseconds=4)))
        store.audit.record(record(ProviderFailure("gone away", may_have_run=False), at=NOON))
        (server,) = (await desk.get("/activity/servers"))["shares"]
        (tool,) = (await desk.get("/activity/tools", slowerThan=2))["shares"]
        desk.house.clock.now = NOON + timedelta(hours=1)
        empty = await desk.get("/activity/tools", window=60)
    assert (server["id"], server["calls"], server["errors"], server["p95Ms"]) == ("dev~fs", 2, 1, 4.0)
    assert server["lastError"] == {
        "id": 2,
        "at": NOON.isoformat(),
        "outcome": "provider_failed",
        "message": "gone away",
    }
    assert tool["id"] == str(TOOL)
    assert empty == {"shares": [], "next": None, "complete": True}


async def test_since_and_window_together_are_refused() -> None:
    async with at_desk() as desk:
        answer = await desk.ask("GET", "/activity/summary", params={"window": 60, **HOUR})
    assert problem(answer) == (422, "since and window say the same: send one of them.")


@pytest.mark.parametrize(
    "params", [{"buckets": 0}, {"buckets": 289}, {"window": 0}, {"window": "inf"}, {"window": "nan"}]
)
async def test_a_summary_is_bounded(params: dict[str, str]) -> None:
    async with at_desk() as desk:
        status, said = problem(await desk.ask("GET", "/activity/summary", params=params))
        assert (status, next(iter(params)) in said) == (422, True)


# Exports


def hostile(number: int) -> CallRecord:
    names = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", '"quoted", and\nbroken', "half \ud800", "read")
    return record(name=names[number % len(names)], client=names[number % len(names)])


@pytest.mark.behaviour("audit.export_by_api")
@pytest.mark.parametrize("count", [3, 1203])
async def test_an_export_has_every_record_that_fits_once_the_newest_first(tmp_path: Path, count: int) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        for number in range(count):
            store.audit.record(hostile(number))
        listed = [*(await desk.get("/activity", limit=3))["activity"]]
        lines = (await desk.ask("GET", "/activity/export")).text.splitlines()
        fewer = (await desk.ask("GET", "/activity/export", params={"limit": 2, "q": "read"})).text.splitlines()
        answer = await desk.ask("GET", "/activity/export", params={"format": "csv"})
    records = [json.loads(line) for line in lines]
    assert [each["id"] for each in records] == [*range(count, 0, -1)]
    assert records[:3] == listed
    assert len(fewer) == min(2, count)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    head, *rows = csv.reader(io.StringIO(answer.text))
    assert head == [*listed[0]]
    assert [int(row[0]) for row in rows] == [*range(count, 0, -1)]


@pytest.mark.behaviour("audit.export_by_api")
async def test_no_cell_of_a_csv_begins_as_a_formula_does(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        for number in range(8):
            store.audit.record(hostile(number))
        text = (await desk.ask("GET", "/activity/export", params={"format": "csv"})).text
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
    assert "'=1+1" in cells


async def test_a_store_that_is_away_is_told_before_an_export_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):

        async def away(query: object) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(store.audit, "page_before", away)
        assert problem(await desk.ask("GET", "/activity/export")) == (503, "the disk is full")


# One record


@pytest.mark.behaviour("audit.hindsight")
async def test_a_record_tells_where_its_time_went_what_it_called_and_what_would_be_decided_now(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        store.audit.record(record(id="child", parent=CallId("program"), tool=READ))
        store.audit.record(record(id="other", parent=CallId("another"), tool=READ))
        store.audit.record(record(id="program", tool=READ, policy_version=0)._replace(gate_us=1_000))
        before = await desk.get(f"/activity/{await store.audit.latest_number()}")
        await desk.house.does(SetSwitch(READ, enabled=False, note="too noisy"))
        after = await desk.get("/activity/3")
        unmeasured = await desk.get("/activity/1")
    assert before["timeline"] == [
        {"part": "gate", "durationMs": 1.0, "message": ""},
        {"part": "provider", "durationMs": 2.0, "message": ""},
        {
            "part": "render",
            "durationMs": None,
            "message": "The gateway passes a result on as it is; a page renders it when it shows it.",
        },
    ]
    assert [each["callId"] for each in before["children"]] == ["child"]
    assert before["currentVerdict"] == {
        "verdict": "open",
        "status": None,
        "message": "",
        "remedy": "",
        "policyVersion": 0,
        "samePolicy": True,
    }
    assert (after["currentVerdict"]["verdict"], after["currentVerdict"]["status"]) == ("locked", "disabled_by_user")
    assert after["currentVerdict"]["remedy"].startswith("Switch the tool on again: ")
    assert (after["currentVerdict"]["samePolicy"], "too noisy" in after["currentVerdict"]["message"]) == (False, True)
    assert [each["durationMs"] for each in unmeasured["timeline"]] == [None, 3.0, None]


@pytest.mark.behaviour("audit.hindsight")
async def test_a_record_of_what_is_gone_says_so(tmp_path: Path) -> None:
    bob = Principal(PrincipalId("bob"), DeclaredAt("pegboard.yaml", 1))
    board = replace(declared(GITHUB), principals={bob.id: bob})
    async with at_recorded_desk(tmp_path, board) as (desk, store):
        store.audit.record(record())
        store.audit.record(record(tool=READ, principal=PrincipalId("nobody")))
        store.audit.record(record(UnknownTool("no"), tool=None))
        assert await store.audit.latest_number() == 3
        gone, nobody, unknown = [(await desk.get(f"/activity/{number}"))["currentVerdict"] for number in (1, 2, 3)]
    assert (gone["verdict"], gone["message"]) == ("missing", f"There is no tool {TOOL} on the board now.")
    assert (nobody["verdict"], nobody["message"]) == ("hidden", "There is no caller 'nobody' any more.")
    assert unknown is None


async def test_an_export_that_nobody_reads_on_ends(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        for number in range(600):
            store.audit.record(hostile(number))
        with anyio.fail_after(30):
            async with desk.client.stream("GET", "/api/v1/activity/export") as answer:
                assert isinstance(answer, httpx2.Response)
                async for _ in answer.aiter_bytes():
                    break
