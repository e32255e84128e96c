"""What is in a toolset by the API: two lists, the set that would come of them, and one write."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.house import declared
from tests.support.sentences import locked_verdict
from tests.surfaces.rest.desk import GITHUB, NOTES, Desk, at_desk, problem

from pegboard.core.decision.status import SwitchedOff
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt
from pegboard.core.overrides.model import Override
from pegboard.gateway.toolsets.reader import ImportConflictError

pytestmark = pytest.mark.anyio

CHOICE = "/toolsets/dev/choice"


def changes(body: Any) -> dict[str, str]:
    return {each["name"]: each["change"] for each in body["tools"]}


async def saved(desk: Desk, version: int | None = None, **lists: list[str]) -> Any:
    headers = {} if version is None else {"if-match": f'"{version}"'}
    answer = await desk.ask("PUT", CHOICE, json=lists, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def previewed(desk: Desk, **lists: list[str]) -> Any:
    answer = await desk.ask("POST", f"{CHOICE}/preview", json=lists)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.behaviour("toolsets.chosen_by_lists")
async def test_the_set_is_told_before_it_is_saved_and_saved_in_one_write() -> None:
    async with at_desk() as desk:
        assert changes(await desk.get(CHOICE)) == {"read": "in", "write": "in"}
        told = await previewed(desk, includes=["r*"], excludes=["*:*"])
        assert changes(told) == {"read": "in", "write": "removed"}
        assert told["counts"] == {"all": 2, "included": 1, "added": 0, "removed": 1}
        assert told["tools"][1] == {
            "id": "mcp:dev~github:write",
            "name": "write",
            "change": "removed",
            "state": "locked",
            "target": "*:*",
            "author": "person",
            "verdict": locked_verdict(SwitchedOff(ToolId(GITHUB, "write"), None)),
        }
        assert desk.house.store.saves == []
        now = await saved(desk, told["policyVersion"], includes=["r*"], excludes=["*:*"])
        assert changes(now) == {"read": "in", "write": "out"}
        assert [(each["target"], each["matchCount"], each["decidedCount"]) for each in now["includes"]] == [
            ("*:r*", 1, 1)
        ]
        assert [(each["target"], each["matchCount"], each["decidedCount"]) for each in now["excludes"]] == [
            ("*:*", 2, 1)
        ]
        assert len(desk.house.store.saves) == 1
        assert (await desk.get("/why", tool="mcp:dev~github:write"))["status"] == "disabled_by_user"
        assert changes(await previewed(desk)) == {"read": "in", "write": "added"}


@pytest.mark.behaviour("toolsets.chosen_by_lists")
async def test_whoever_looked_at_an_older_policy_is_told_the_current_version() -> None:
    async with at_desk() as desk:
        await saved(desk, excludes=["write"])
        answer = await desk.ask("PUT", CHOICE, json={}, headers={"if-match": '"0"'})
        assert problem(answer) == (412, str(ImportConflictError(1)))
        assert changes(await desk.get(CHOICE)) == {"read": "in", "write": "out"}


@pytest.mark.behaviour("toolsets.chosen_by_lists")
async def test_what_cannot_be_read_is_told_line_by_line_and_saves_nothing() -> None:
    wrong = [
        "Toolset 'dev' lists no tool 'raed'. Did you mean 'read'? For every tool of that name, now and later, "
        "write '*:raed'.",
        "'mcp:docs~notes:jot' is a tool of toolset 'docs'. Write the override there.",
    ]
    async with at_desk() as desk:
        told = await previewed(desk, includes=["raed"], excludes=["mcp:docs~notes:jot"])
        assert told["problems"] == wrong
        answer = await desk.ask("PUT", CHOICE, json={"includes": ["raed"], "excludes": ["mcp:docs~notes:jot"]})
        assert (answer.status_code, answer.json()["errors"]) == (422, wrong)
        both = await previewed(desk, includes=["*"], excludes=["*:*"])
        assert both["problems"] == ["*:* is among what to include and what to exclude. Name it once."]
        assert changes(both) == {"read": "in", "write": "in"}
        assert desk.house.store.saves == []
        assert problem(await desk.ask("GET", "/toolsets/dve/choice"))[0] == 404


@pytest.mark.behaviour("toolsets.chosen_by_lists")
async def test_what_the_file_keeps_out_stays_out_and_says_where() -> None:
    row = Override(
        ToolsetId("dev"),
        Pattern("*", "write"),
        enabled=False,
        is_declared=True,
        origins={"enabled": DeclaredAt("pegboard.yaml", 4)},
    )
    async with at_desk(replace(declared(GITHUB, NOTES), overrides=(row,))) as desk:
        told = await previewed(desk, includes=["write"])
        assert changes(told) == {"read": "in", "write": "out"}
        assert told["tools"][1]["verdict"]["status"] == "disabled_by_config"
        assert [
            (each["target"], each["includes"], each["author"], each["from"]["line"]) for each in told["declared"]
        ] == [("*:write", False, "file", 4)]


@pytest.mark.behaviour("toolsets.chosen_by_lists")
async def test_what_is_said_of_a_tool_that_has_gone_can_still_be_kept() -> None:
    async with at_desk() as desk:
        await saved(desk, excludes=["mcp:dev~github:gone", "write"])
        kept = [each["target"] for each in (await desk.get(CHOICE))["excludes"]]
        assert [(e["target"], e["matchCount"]) for e in (await saved(desk, excludes=kept))["excludes"]] == [
            ("mcp:dev~github:gone", 0),
            ("mcp:dev~github:write", 1),
        ]
