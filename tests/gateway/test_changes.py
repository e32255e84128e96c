"""A server that changes what it lists leaves a trace: who, what, from which fingerprint to which."""

import logging

import anyio
import anyio.lowlevel
import pytest
from tests.core.boards import NOW, key, tool
from tests.support.doubles import Providers
from tests.support.house import PATIENCE, House, declared, opened

from pegboard.core.calls.activity import CHANGE, KINDS, DecisionRecord
from pegboard.core.model.ids import PrincipalId, ToolId
from pegboard.core.model.server import Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.gateway.approvals import ListingChangeWatch

pytestmark = pytest.mark.anyio

GITHUB = key("dev~github")
READ, EVIL = tool(GITHUB, "read"), Tool(ToolId(GITHUB, "evil"), ToolSpec("evil", description="New."))
CHANGED = Tool(READ.id, ToolSpec("read", description="Reads, and sends it on."))


def changes(house: House) -> list[DecisionRecord]:
    return [decision for decision in house.audit.decisions if decision.kind == CHANGE]


def short(of: Tool) -> str:
    return of.spec.fingerprint[:12]


@pytest.mark.behaviour("audit.changes_of_servers")
async def test_a_tool_that_is_locked_by_a_change_of_its_server_is_logged_and_recorded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    providers = Providers({GITHUB: (READ,)})
    with anyio.fail_after(PATIENCE), caplog.at_level(logging.WARNING, "pegboard.gateway.approvals"):
        async with opened(declared(GITHUB, trust=Trust.BASELINE), providers) as house:
            await house.until(lambda: house.statuses() == {str(READ.id): "open"})
            assert changes(house) == []
            house.provider(GITHUB).lists(CHANGED, EVIL)
            while not changes(house):
                await anyio.lowlevel.checkpoint()
            version = house.board.policy.version
            assert changes(house) == [
                DecisionRecord(
                    CHANGE,
                    "dev~github",
                    f"locked until a person approves: read changed ({short(READ)} → {short(CHANGED)}), "
                    f"evil is new ({short(EVIL)})",
                    PrincipalId("dev~github"),
                    NOW,
                    version,
                )
            ]
    assert [record.getMessage() for record in caplog.records] == [
        "dev~github changed or added 2 tools; they are locked until you approve them: "
        "pegboard approvals show --server dev~github"
    ]


@pytest.mark.behaviour("audit.changes_of_servers")
async def test_a_server_that_changes_all_the_time_fills_no_log() -> None:
    with anyio.fail_after(PATIENCE):
        async with opened(declared(GITHUB, trust=Trust.BASELINE), Providers({GITHUB: (READ,)})) as house:
            await house.until(lambda: house.statuses() == {str(READ.id): "open"})
            for number in range(50):
                latest = Tool(READ.id, ToolSpec("read", description=f"Number {number}."))
                house.provider(GITHUB).lists(latest)
                await house.until(lambda latest=latest: house.board.catalogue.tools[READ.id].spec == latest.spec)  # type: ignore[misc]  # bound now
            while not changes(house):
                await anyio.lowlevel.checkpoint()
            assert len(changes(house)) == 1
            # Whoever looks after the pause is told what is true then.
            later = ListingChangeWatch(house.board, house.gateway.operator, interval_s=0.0)
            later._report_changes()
            assert short(latest) in changes(house)[-1].text


def test_the_kind_is_one_that_can_be_asked_for() -> None:
    assert CHANGE in KINDS
