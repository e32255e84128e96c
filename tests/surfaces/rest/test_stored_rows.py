"""A store with unreadable rows, at the API: the gateway starts, names them everywhere, and deletes them on request."""

import logging
from dataclasses import replace

import pytest
from tests.core.boards import ME, NOW
from tests.core.test_unreadable import row
from tests.support.doubles import MemoryStore
from tests.support.house import declared
from tests.surfaces.rest.desk import GITHUB, NOTES, TOOLS, at_desk, problem

from pegboard.core.model.server import Trust
from pegboard.core.policy.policy import PolicyDecisions, Switch
from pegboard.core.policy.unreadable_rows import LocksTools, repair_command

pytestmark = pytest.mark.anyio

READ, WRITE = (tool.id for tool in TOOLS[GITHUB])
BROKEN = row("approvals", LocksTools((READ,)), tool_id=str(READ), kind="mcp_tool")
NAMED, FIX = str(BROKEN.row), repair_command(BROKEN)


@pytest.mark.behaviour("store.unreadable_row_is_reported", "verdicts.unreadable_row_is_named")
async def test_a_gateway_with_an_unreadable_row_starts_and_names_it_everywhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore(PolicyDecisions(unreadable=(BROKEN,)))
    with caplog.at_level(logging.ERROR):
        async with at_desk(declared(GITHUB, NOTES, trust=Trust.STRICT), store=store) as desk:
            (listed,) = (await desk.get("/store/unreadable"))["rows"]
            (notice,) = (await desk.get("/status"))["notices"]
            findings = (await desk.get("/doctor"))["findings"]
            why = await desk.get("/why", tool=str(READ))
            tools = {tool["id"]: tool for tool in (await desk.get("/tools"))["tools"]}
    assert listed == {
        "id": BROKEN.row.id,
        "table": "approvals",
        "row": NAMED,
        "reason": BROKEN.why,
        "effect": "mcp:dev~github:read is locked until it is approved again, unless the trust of its server is open.",
        "fix": FIX,
        "alsoDeleted": [],
    }
    assert NAMED in notice["message"]
    assert [(one["message"].count(NAMED), one["fix"]) for one in findings if one["subject"] == "store approvals"] == [
        (1, FIX)
    ]
    assert (why["status"], NAMED in why["message"]) == ("disabled_unknown", True)
    assert tools[str(READ)]["status"] == "disabled_unknown"
    assert [record.getMessage() for record in caplog.records if NAMED in record.getMessage()] == [notice["message"]]


@pytest.mark.behaviour("store.unreadable_row_is_reported")
async def test_a_row_that_becomes_unreadable_is_noticed_by_the_doctor_and_closes_the_tool() -> None:
    async with at_desk() as desk:
        store, switched = desk.house.store, row("switches", LocksTools((WRITE,)), target=str(WRITE))
        assert not (await desk.get("/status"))["notices"]
        store.decided = replace(store.decided, unreadable=(switched,))
        findings = (await desk.get("/doctor"))["findings"]
        assert [one["subject"] for one in findings if one["subject"].startswith("store")] == ["store switches"]
        assert desk.house.statuses()[str(WRITE)] == "disabled_unknown"
        answer = await desk.ask("POST", "/tools/switch", json={"tool": str(WRITE), "enabled": True})
        assert answer.status_code == 200
        assert not (await desk.get("/status"))["notices"]


@pytest.mark.behaviour("store.unreadable_row_is_overwritten")
async def test_approving_again_takes_the_row_away() -> None:
    store = MemoryStore(PolicyDecisions(unreadable=(BROKEN,)))
    async with at_desk(declared(GITHUB, NOTES, trust=Trust.STRICT), store=store) as desk:
        spec = desk.house.board.catalogue.tools[READ].spec
        body = {"tools": [{"tool": str(READ), "fingerprint": spec.fingerprint}]}
        assert (await desk.ask("POST", "/approvals/approve", json=body)).status_code == 200
        assert (await desk.get("/store/unreadable"))["rows"] == []
        assert desk.house.statuses()[str(READ)] == "open"


async def test_rows_are_deleted_by_their_ids_and_only_those_that_are_there() -> None:
    switch = row("switches", LocksTools((WRITE,)), target=str(WRITE))
    store = MemoryStore(PolicyDecisions(unreadable=(BROKEN, switch), switches={NOTES: Switch(False, ME, NOW)}))
    async with at_desk(store=store) as desk:
        unknown = await desk.ask("POST", "/store/unreadable/delete", json={"rows": ["nothing"]})
        assert problem(unknown) == (404, "There is no unreadable row 'nothing'. Look again: pegboard store check")
        stale = await desk.ask("POST", "/store/unreadable/delete", json={"rows": [switch.row.id], "version": 7})
        assert stale.status_code == 412
        done = await desk.ask("POST", "/store/unreadable/delete", json={"rows": [switch.row.id], "version": 0})
        assert done.json() == {"deleted": [str(switch.row)], "policyVersion": 1}
        assert [one["id"] for one in (await desk.get("/store/unreadable"))["rows"]] == [BROKEN.row.id]
        assert desk.house.statuses()[str(WRITE)] == "open"


async def test_a_policy_with_an_unreadable_row_is_not_exported() -> None:
    """Another board would open what the row closes here."""
    async with at_desk(store=MemoryStore(PolicyDecisions(unreadable=(BROKEN,)))) as desk:
        for path in ("/policy/export", "/policy/export/file"):
            status, told = problem(await desk.ask("GET", path))
            assert (status, NAMED in told) == (409, True)
