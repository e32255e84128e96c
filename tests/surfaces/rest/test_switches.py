"""Several tools switched by one request: all of them, or none."""

import anyio
import pytest
from tests.core.boards import tool
from tests.surfaces.rest.desk import GITHUB, NOTES, Desk, at_desk, problem

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import ToolId

pytestmark = pytest.mark.anyio

READ, WRITE, JOT = ToolId(GITHUB, "read"), ToolId(GITHUB, "write"), ToolId(NOTES, "jot")
PATH = "/tools/switches"


async def verdicts(desk: Desk) -> dict[str, str]:
    return {each["id"]: each["verdict"] for each in (await desk.get("/tools"))["tools"]}


def off(desk: Desk) -> set[object]:
    return {what for what, switch in desk.house.board.policy.decisions.switches.items() if not switch.is_on}


@pytest.mark.behaviour("rest.switches_together")
async def test_several_tools_are_locked_and_opened_in_one_version_each() -> None:
    async with at_desk() as desk:
        before = await verdicts(desk)
        body = {"tools": [str(READ), str(JOT), str(READ)], "enabled": False, "note": "too loud"}
        locked = await desk.ask("POST", PATH, json=body, headers={"If-Match": "0"})
        assert (locked.status_code, locked.json()) == (200, {"switched": 2, "policyVersion": 1})
        assert await verdicts(desk) == {**before, str(READ): "locked", str(JOT): "locked"}
        assert "too loud" in (await desk.get("/tools/show", tool=str(JOT)))["message"]
        opened = await desk.ask("POST", PATH, json={"tools": [str(READ), str(JOT)], "enabled": True})
        assert (opened.status_code, opened.json()) == (200, {"switched": 2, "policyVersion": 2})
        assert await verdicts(desk) == before


@pytest.mark.behaviour("rest.switches_together")
async def test_who_looked_before_someone_else_decided_switches_none() -> None:
    async with at_desk() as desk:
        await desk.house.does(SetSwitch(WRITE, False))
        body = {"tools": [str(READ), str(JOT)], "enabled": False}
        stale = await desk.ask("POST", PATH, json=body, headers={"If-Match": "0"})
        assert (problem(stale)[0], stale.json()["policyVersion"]) == (412, 1)
        assert off(desk) == {WRITE}


@pytest.mark.behaviour("rest.switches_together")
async def test_of_two_who_switch_at_the_same_time_on_one_version_one_is_told() -> None:
    async with at_desk() as desk:
        answers: dict[ToolId, int] = {}

        async def throw(what: ToolId) -> None:
            body = {"tools": [str(what), str(JOT)], "enabled": False}
            answers[what] = (await desk.ask("POST", PATH, json=body, headers={"If-Match": "0"})).status_code

        async with anyio.create_task_group() as both:
            both.start_soon(throw, READ)
            both.start_soon(throw, WRITE)
        assert sorted(answers.values()) == [200, 412]
        assert off(desk) == {JOT, *(what for what, status in answers.items() if status == 200)}


@pytest.mark.behaviour("rest.switches_together")
async def test_an_id_that_no_tool_has_keeps_all_from_being_switched() -> None:
    async with at_desk() as desk:
        body = {"tools": [str(READ), "mcp:dev~github:raed", "日本", *"abcdefg"], "enabled": False}
        told = (
            "No tool has the id 'mcp:dev~github:raed', '日本', 'a', 'b', 'c' and 4 more. None was switched. "
            "See: pegboard tools list"
        )
        assert problem(await desk.ask("POST", PATH, json=body)) == (404, told)
        assert (off(desk), desk.house.board.policy.version) == (set(), 0)


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [], "enabled": False},
        {"tools": ["x"] * 5_001, "enabled": False},
        {"tools": [str(READ)]},
        {"tools": str(READ), "enabled": False},
        {"tools": [7], "enabled": False},
        {"tools": [str(READ)], "enabled": False, "note": "x" * 501},
        {"tools": [str(READ)], "enabled": False, "until": "tomorrow"},
    ],
)
async def test_what_makes_no_sense_switches_none(body: dict[str, object]) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("POST", PATH, json=body))[0] == 422
        assert (off(desk), desk.house.board.policy.version) == (set(), 0)


@pytest.mark.behaviour("rest.switches_together")
async def test_as_many_as_may_be_named_are_switched_at_once() -> None:
    async with at_desk() as desk:
        many = [tool(GITHUB, f"read_{at}") for at in range(5_000)]
        desk.house.provider(GITHUB).lists(*many)
        await desk.house.until(lambda: many[-1].id in desk.house.board.catalogue.tools)
        answer = await desk.ask("POST", PATH, json={"tools": [str(each.id) for each in many], "enabled": False})
        assert answer.json() == {"switched": 5_000, "policyVersion": desk.house.board.policy.version}
        assert off(desk) == {each.id for each in many}
