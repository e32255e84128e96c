"""All that a page about one tool shows: both its faces, its history, an edit before it is saved, and a trial."""

from pathlib import Path
from typing import Any

import pytest
from tests.core.boards import ME, NOW
from tests.store.calls import record
from tests.store.test_activity import decision
from tests.support.doubles import MemoryStore
from tests.surfaces.rest.desk import GITHUB, Desk, at_desk, problem
from tests.surfaces.rest.recorded import at_recorded_desk
from tests.surfaces.rest.test_overrides import desk_with_arguments, said

from pegboard.core.calls.call import ToolFailure, ToolSuccess
from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import ToolSpec
from pegboard.core.policy.policy import Approval, PolicyDecisions, Switch

pytestmark = pytest.mark.anyio

READ = ToolId(GITHUB, "read")
BODY = b'{"content":[{"type":"text","text":"two words"}]}'


async def preview(desk: Desk, **body: Any) -> Any:
    answer = await desk.ask("POST", "/overrides/preview", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


# Faces


@pytest.mark.behaviour("tools.both_faces")
async def test_a_tool_is_told_as_offered_as_overridden_and_what_differs() -> None:
    async with desk_with_arguments() as desk:
        before = await desk.get("/tools/show", tool=str(READ))
        await said(desk, str(READ), set={"name_override": "Look", "description_override": "Reads one file."})
        told = await desk.get("/tools/show", tool=str(READ))
    offered, overridden = told["asOffered"], told["asOverridden"]
    assert offered == before["asOffered"]
    assert (offered["title"], offered["description"]) == (None, "")
    assert (overridden["title"], overridden["description"]) == ("Look", "Reads one file.")
    assert [*offered["inputSchema"]["properties"]] == ["path", "limit"]
    assert [*overridden["inputSchema"]["properties"]] == ["limit"]
    assert overridden["tokens"] != offered["tokens"]
    assert [section["section"] for section in told["difference"]] == ["title", "description", "inputSchema"]
    assert "s3cret" not in str(told)


@pytest.mark.behaviour("tools.both_faces")
async def test_without_an_override_both_faces_are_the_same() -> None:
    async with at_desk() as desk:
        told = await desk.get("/tools/show", tool=str(READ))
    assert (told["asOffered"], told["difference"]) == (told["asOverridden"], [])


# History


@pytest.mark.behaviour("tools.history")
async def test_a_history_has_decisions_specs_and_the_latest_calls(tmp_path: Path) -> None:
    old = ToolSpec("read", description="Read it.")
    before = MemoryStore(PolicyDecisions(version=1, approvals={READ: Approval(old, ME, NOW)}))
    async with at_recorded_desk(tmp_path, store=before) as (desk, store):
        for said_of in (str(READ), str(GITHUB), "docs~notes"):
            store.audit.record_decision(decision("switch", said_of, said=f"about {said_of}"))
        for number in range(3):
            store.audit.record(record(id=str(number), tool=READ))
        store.audit.record(record(id="other"))
        told = await desk.get("/tools/history", tool=str(READ), limit=2)
    assert [each["message"] for each in told["decisions"]] == [f"about {READ}"]
    assert [each["message"] for each in told["providerDecisions"]] == [f"about {GITHUB}"]
    assert [(each["kind"], each["spec"]["description"], each["by"]) for each in told["specs"]] == [
        ("offered", "", None),
        ("approved", "Read it.", ME),
    ]
    assert [section["section"] for section in told["difference"]] == ["description"]
    assert [each["callId"] for each in told["calls"]] == ["2", "1"]
    assert told["next"] == told["calls"][-1]["id"]


@pytest.mark.behaviour("tools.history", "wall.gone")
async def test_the_history_of_a_tool_that_is_no_longer_offered_is_what_is_kept(tmp_path: Path) -> None:
    left = ToolId(GITHUB, "delete")
    old = ToolSpec("delete", description="Delete it.")
    off = Switch(False, ME, NOW)
    before = MemoryStore(PolicyDecisions(version=1, approvals={left: Approval(old, ME, NOW)}, switches={left: off}))
    async with at_recorded_desk(tmp_path, store=before) as (desk, store):
        store.audit.record_decision(decision("approve", str(left), said="approved it"))
        store.audit.record(record(id="1", tool=left))
        told = await desk.get("/tools/history", tool=str(left))
    assert [each["message"] for each in told["decisions"]] == ["approved it"]
    assert [(each["kind"], each["spec"]["description"], each["by"]) for each in told["specs"]] == [
        ("approved", "Delete it.", ME)
    ]
    assert (told["difference"], [each["callId"] for each in told["calls"]]) == ([], ["1"])


async def test_the_history_of_what_is_not_there_is_told_as_such() -> None:
    async with at_desk() as desk:
        status, _ = problem(await desk.ask("GET", "/tools/history", params={"tool": "nothing"}))
        assert status == 404


# An edit before it is saved


@pytest.mark.behaviour("overrides.preview")
async def test_an_edit_is_shown_before_it_is_saved_and_nothing_is_saved() -> None:
    async with desk_with_arguments() as desk:
        arguments = {"limit": {"default": 5}}
        told = await preview(desk, target=str(READ), set={"description_override": "One file.", "arguments": arguments})
        assert desk.house.store.saves == []
        now = await desk.get("/tools/show", tool=str(READ))
        await said(desk, str(READ), set={"description_override": "One file.", "arguments": arguments})
        saved = await desk.get("/tools/show", tool=str(READ))
    (tool,) = told["tools"]
    assert (tool["before"], tool["after"]) == (now["asOverridden"], saved["asOverridden"])
    assert [section["section"] for section in tool["difference"]] == ["description", "inputSchema"]
    assert (told["problems"], told["affected"], told["policyVersion"]) == ([], 1, 0)
    assert tool["verdict"]["verdict"] == "open"


@pytest.mark.behaviour("overrides.preview")
@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({"set": {}}, ["Nothing is said: name a field to set or to clear."]),
        ({"clear": "all"}, [f"No person has overridden {READ} in toolset 'dev'. See: pegboard overrides list"]),
        ({"set": {"arguments": {"nothing": {"default": 5}}}}, None),
        ({"set": {"descripton_override": "x"}}, None),
        ({"set": {"requires_confirmation": "perhaps"}}, None),
        ({"clear": ["renderer"]}, None),
    ],
)
async def test_what_would_be_refused_is_told_as_a_problem_of_the_edit(
    body: dict[str, Any], problems: list[str] | None
) -> None:
    async with desk_with_arguments() as desk:
        told = await preview(desk, target=str(READ), **body)
        refused = await desk.ask("POST", "/overrides", json={"target": str(READ), **body})
        assert desk.house.store.saves == []
    assert refused.status_code in (409, 422)
    assert told["problems"]
    assert problems is None or told["problems"] == problems


@pytest.mark.behaviour("overrides.preview")
async def test_a_pin_of_the_wrong_kind_is_told_before_it_locks_the_tool() -> None:
    async with desk_with_arguments() as desk:
        told = await preview(desk, target=str(READ), set={"arguments": {"limit": {"pin": "five"}}})
    (tool,) = told["tools"]
    assert tool["verdict"]["verdict"] == "locked"
    assert [misfit["field"] for misfit in told["mismatches"]] == ["arguments.limit"]


@pytest.mark.behaviour("overrides.preview")
async def test_an_edit_of_a_pattern_tells_every_tool_that_it_touches() -> None:
    async with at_desk() as desk:
        told = await preview(desk, target="github:*", toolset="dev", set={"enabled": False})
    assert [(each["id"], each["verdict"]["status"]) for each in told["tools"]] == [
        ("mcp:dev~github:read", "disabled_by_user"),
        ("mcp:dev~github:write", "disabled_by_user"),
    ]
    assert told["affected"] == 2


async def test_a_place_that_is_not_there_is_refused_as_an_edit_of_it_is() -> None:
    async with at_desk() as desk:
        body = {"target": "nothing", "set": {"enabled": False}}
        first = await desk.ask("POST", "/overrides/preview", json=body)
        second = await desk.ask("POST", "/overrides", json=body)
    assert problem(first) == problem(second)


# Trials


@pytest.mark.behaviour("tools.trial")
async def test_a_trial_is_marked_and_told_in_every_form_with_its_cost(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, _):
        desk.house.provider(GITHUB).answers["read"] = ToolSuccess(BODY)
        await said(desk, str(READ), set={"renderer": "json"})
        body = {"tool": str(READ), "trial": True, "as": "ann"}
        told = (await desk.ask("POST", "/call", json=body)).json()
        plain = (await desk.ask("POST", "/call", json={"tool": str(READ)})).json()
        rows = (await desk.get("/activity"))["activity"]
    assert told["raw"] == {"text": BODY.decode(), "tokens": told["raw"]["tokens"]}
    assert told["asModel"] == {"text": "two words", "tokens": 2}
    assert told["raw"]["tokens"] > told["asModel"]["tokens"]
    assert (told["rendered"]["renderer"], told["renderedTokens"] > 0) == ("json", True)
    assert {"trial", "raw", "asModel"}.isdisjoint(plain)
    assert [(row["trial"], row["principal"], row["presentation"]) for row in rows] == [
        (False, "local", None),
        (True, "ann", None),
    ]
    assert told["callId"] == rows[1]["callId"]


@pytest.mark.behaviour("tools.trial")
async def test_a_trial_goes_through_the_same_gate(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, _):
        await desk.house.does(SetSwitch(READ, enabled=False))
        told = (await desk.ask("POST", "/call", json={"tool": str(READ), "trial": True})).json()
        (row,) = (await desk.get("/activity"))["activity"]
        assert desk.house.provider(GITHUB).calls == []
    assert (told["outcome"], "raw" in told, row["trial"]) == ("disabled_by_user", False, True)
    assert told["asModel"]["text"] == told["message"]


@pytest.mark.behaviour("tools.trial")
async def test_a_trial_that_fails_is_told_as_the_model_would_read_it() -> None:
    async with at_desk() as desk:
        failed = b'{"content":[{"type":"text","text":"no such file"}],"isError":true}'
        desk.house.provider(GITHUB).answers["read"] = ToolFailure(failed)
        told = (await desk.ask("POST", "/call", json={"tool": str(READ), "trial": True})).json()
    assert (told["outcome"], told["asModel"]["text"]) == ("tool_failed", "no such file")


async def test_a_trial_is_said_by_true_and_nothing_else() -> None:
    async with at_desk() as desk:
        for odd in ("yes", 1, None):
            answer = await desk.ask("POST", "/call", json={"tool": str(READ), "trial": odd})
            assert problem(answer)[0] == 422
        assert desk.house.audit.records == []


@pytest.mark.behaviour("audit.several_by_owner")
async def test_a_history_has_what_was_decided_of_several_tools_at_once_and_of_the_toolset(tmp_path: Path) -> None:
    async with at_recorded_desk(tmp_path) as (desk, store):
        body = {"tools": [str(READ), "mcp:docs~notes:jot"], "enabled": False, "note": "noisy"}
        assert (await desk.ask("POST", "/tools/switches", json=body)).status_code == 200
        assert (await desk.ask("PUT", "/toolsets/dev/choice", json={"excludes": ["w*"]})).status_code == 200
        for each in desk.house.audit.decisions:
            store.audit.record_decision(each)
        history = await desk.get("/tools/history", tool=str(READ))
    assert [(each["subject"], each["message"]) for each in history["providerDecisions"]][:2] == [
        ("dev", "excludes *:w*"),
        ("dev~github", f"1 tool switched off: noisy ({READ})"),
    ]
