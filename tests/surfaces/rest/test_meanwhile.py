"""What was decided since the version that somebody looked at."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.calls import NOON, record
from tests.surfaces.rest.desk import GITHUB, at_desk, problem
from tests.surfaces.rest.recorded import at_recorded_desk

from pegboard.core.calls.activity import STALE, DecisionRecord
from pegboard.core.model.ids import PrincipalId

pytestmark = pytest.mark.anyio

PAT = PrincipalId("pat")


def decision(version: int, said: str) -> DecisionRecord:
    return DecisionRecord("switch", str(GITHUB), said, PAT, NOON, version)


@pytest.mark.behaviour("rest.decided_meanwhile")
async def test_what_was_decided_since_a_version_is_told_with_its_author_the_latest_first(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        for version in (3, 4, 5):
            store.audit.record_decision(decision(version, f"switched at {version}"))
        store.audit.record_decision(replace(decision(5, "came too late"), outcome=STALE))
        store.audit.record(record(at=NOON))
        told = await desk.get("/policy/decisions", after=3)
        nothing = await desk.get("/policy/decisions", after=5)
    expected = [
        {
            "id": version - 2,
            "by": "pat",
            "at": NOON.isoformat(),
            "kind": "switch",
            "subject": str(GITHUB),
            "message": f"switched at {version}",
            "policyVersion": version,
        }
        for version in (5, 4)
    ]
    assert told == {"decisions": expected, "hasMore": False, "policyVersion": 0}
    assert nothing == {"decisions": [], "hasMore": False, "policyVersion": 0}


@pytest.mark.behaviour("rest.decided_meanwhile")
async def test_of_many_the_latest_twenty_are_told_and_that_there_are_more(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        for version in range(1, 31):
            store.audit.record_decision(decision(version, "switched"))
        told = await desk.get("/policy/decisions", after=0)
    assert ([each["policyVersion"] for each in told["decisions"]], told["hasMore"]) == ([*range(30, 10, -1)], True)


@pytest.mark.behaviour("rest.decided_meanwhile")
@pytest.mark.parametrize("after", ["", "x", "-1", "1.5", str(2**63), "9" * 50])
async def test_what_is_no_version_is_told(after: str) -> None:
    async with at_desk() as desk:
        status, why = problem(await desk.ask("GET", "/policy/decisions", params={"after": after}))
        assert (status, "after" in why) == (422, True)
