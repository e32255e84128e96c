"""What happened, by the API: pages, one record, and what comes."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.surfaces.rest.desk import at_desk, problem

pytestmark = pytest.mark.anyio

CALL = {"tool": "mcp:dev~github:read", "arguments": {}}


def ids(body: Any) -> list[int]:
    return [record["id"] for record in body["activity"]]


@pytest.mark.behaviour("audit.one_stream")
async def test_records_are_told_in_pages_one_by_one_and_as_they_come() -> None:
    async with at_desk() as desk:
        for _ in range(5):
            await desk.ask("POST", "/call", json=CALL)
        first = await desk.get("/activity", limit=2)
        second = await desk.get("/activity", limit=2, before=first["next"])
        last = await desk.get("/activity", limit=2, before=second["next"])
        assert (ids(first), ids(second), ids(last), last["next"]) == ([5, 4], [3, 2], [1], None)
        full = await desk.get("/activity/3")
        assert full == second["activity"][0] | {key: full[key] for key in ("timeline", "children", "currentVerdict")}
        assert await desk.get("/activity/latest") == {"latest": 5}
        onward = await desk.get("/activity/after", after=2, limit=2)
        assert (ids(onward), onward["after"]) == ([3, 4], 4)
        assert second["activity"][0] == {
            "id": 3,
            "at": desk.house.clock().isoformat(),
            "kind": "call",
            "principal": "local",
            "client": "operator",
            "name": "read",
            "subject": "mcp:dev~github:read",
            "outcome": "ToolSuccess",
            "state": "locked",
            "message": "",
            "policyVersion": 0,
            "durationMs": second["activity"][0]["durationMs"],
            "argumentBytes": 0,
            "resultBytes": 0,
            "argumentTokens": None,
            "resultTokens": None,
            "arguments": None,
            "result": None,
            "callId": second["activity"][0]["callId"],
            "parentId": None,
            "presentation": None,
            "trial": False,
        }


async def test_what_is_asked_for_reaches_the_audit_as_it_was_meant() -> None:
    async with at_desk() as desk:
        await desk.get(
            "/activity",
            tool="mcp:dev~github:read",
            server="github",
            principal="ann",
            client="cursor",
            kind="call",
            outcome="returned",
            since="2026-07-28T12:00:00+02:00",
            until="2026-07-28T12:00:00Z",
            before=9,
            limit=7,
            slowerThan=1.5,
            q="Read",
            call="c1",
        )
        await desk.get("/activity", tool="read", server="gone~server")
        await desk.get("/activity/after", wait=0.1, after=5)
        asked, by_name, _ = desk.house.audit.asked
    assert (asked.tool, asked.name, asked.server) == ("mcp:dev~github:read", None, "dev~github")
    assert (asked.principal, asked.client, asked.kind, asked.outcome) == ("ann", "cursor", "call", "returned")
    assert (asked.since, asked.until) == (
        datetime(2026, 7, 28, 10, tzinfo=UTC),
        datetime(2026, 7, 28, 12, tzinfo=UTC),
    )
    assert (asked.before, asked.limit, asked.slower_us, asked.text) == (9, 7, 1_500, "Read")
    assert asked.call == "c1"
    assert (by_name.tool, by_name.name, by_name.server) == (None, "read", "gone~server")


@pytest.mark.parametrize(
    ("path", "params", "said"),
    [
        (
            "/activity/99",
            {},
            (404, "There is no record 99. It may have been removed by age. See: pegboard activity list"),
        ),
        (
            "/activity/-1",
            {},
            (404, "There is no record -1. It may have been removed by age. See: pegboard activity list"),
        ),
        ("/activity", {"server": "gone"}, (404, "There is no server 'gone'. See: pegboard servers list")),
        (
            "/activity",
            {"since": "2026-07-28T12:00:00Z", "until": "2026-07-28T12:00:00Z"},
            (400, "Nothing is since 2026-07-28T12:00:00+00:00 and before 2026-07-28T12:00:00+00:00."),
        ),
    ],
)
async def test_what_cannot_be_found_is_told(path: str, params: dict[str, str], said: tuple[int, str]) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("GET", path, params=params)) == said


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0},
        {"limit": 1001},
        {"since": "yesterday"},
        {"since": "2026-07-28T12:00:00"},
        {"tol": "x"},
        {"slowerThan": -1},
        {"q": ""},
        {"q": "x" * 201},
    ],
)
async def test_what_does_not_fit_is_refused(params: dict[str, str]) -> None:
    async with at_desk() as desk:
        status, said = problem(await desk.ask("GET", "/activity", params=params))
        assert (status, next(iter(params)) in said) == (422, True)
