"""DocSpace on the board: decided about like any other source, and told when it is misconfigured."""

import json
from pathlib import Path

import pytest
from tests.core.boards import ME, PERSON, key, server
from tests.docspace.boards import body, housed, listening, rooms, said_of, text_of
from tests.docspace.stand_in import stand_in
from tests.servers.peers import command
from tests.support.house import call_of
from tests.surfaces.mcp.places import MODES, http_client

from pegboard.bootstrap.application import Application
from pegboard.config.docspace_toolsets import TOOLSETS
from pegboard.core.calls.call import BadArguments, LockedToolRefusal, ToolFailure, refusal_text
from pegboard.core.commands.commands import AddServer, ApproveTool, SetSwitch
from pegboard.core.decision.resolve import LockedTool, OpenTool
from pegboard.core.decision.status import LockStatus, explain_reason, operator_detail
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.selection import View
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import Policy
from pegboard.gateway.doctor import diagnose

pytestmark = pytest.mark.anyio
ROOMS = ["Ada's forms", "Ada's team", "Ada's public room"]
EVERY = sorted(name for names in TOOLSETS.values() for name in names)


def tool(toolset: str, name: str) -> ToolId:
    return ToolId(ToolsetKey(ToolsetId(toolset)), name)


def names(house: Application) -> list[str]:
    resolution = house.gateway.board.resolution(View())
    return sorted(resolution.names[id] for id in resolution.open_ids)


@pytest.mark.behaviour("docspace.on_the_board")
@pytest.mark.parametrize("mode", MODES)
async def test_the_tools_are_listed_and_called_by_their_own_names_over_http(mode: str, tmp_path: Path) -> None:
    async with (
        stand_in() as docspace,
        housed(tmp_path, said_of(docspace)) as house,
        listening(house) as url,
        http_client(url, mode=mode) as client,
    ):
        listed = [each.name for each in (await client.list_tools()).tools]
        found = await rooms(client)
        renamed = await client.call_tool("update_file", {"fileId": 101, "title": "named anew"})
    assert listed == [name for names in TOOLSETS.values() for name in names]
    assert found == ROOMS
    assert json.loads(text_of(renamed)) == getattr(renamed, "structured_content", None)


@pytest.mark.behaviour("docspace.on_the_board")
@pytest.mark.parametrize("mode", MODES)
async def test_they_are_found_and_called_by_the_meta_tools_and_by_search(mode: str, tmp_path: Path) -> None:
    arguments = {"filters": {"fields": ["folders.title"]}}
    async with stand_in() as docspace, housed(tmp_path, said_of(docspace)) as house, listening(house) as url:
        async with http_client(f"{url}/meta", mode=mode) as meta:
            sets = body(await meta.call_tool("list_toolsets", {}))
            people = body(await meta.call_tool("list_tools", {"toolset": "people"}))
            schema = body(await meta.call_tool("get_tool_input_schema", {"tool": "get_rooms_folder"}))
            by_meta = await meta.call_tool("call_tool", {"tool": "get_rooms_folder", "input": arguments})
        async with http_client(f"{url}/search", mode=mode) as search:
            found = body(await search.call_tool("retrieve_tools", {"query": "the Rooms folder"}))
            by_search = await search.call_tool("call_tool", {"name": "get_rooms_folder", "arguments": arguments})
    assert [(each["name"], each["description"]) for each in sets["toolsets"]] == [
        ("files", "Operations for working with files."),
        ("folders", "Operations for working with folders."),
        ("people", "Operations for working with users."),
        ("rooms", "Operations for working with rooms."),
    ]
    assert [each["name"] for each in people["tools"]] == ["get_all_people"]
    assert schema["inputSchema"]["required"] == ["filters"]
    assert "get_rooms_folder" in [each["name"] for each in found["tools"]]
    assert [each["title"] for each in body(by_meta)["response"]["folders"]] == ROOMS
    assert text_of(by_search) == text_of(by_meta)


@pytest.mark.behaviour("docspace.misconfigured")
async def test_a_misconfigured_docspace_is_shown_unavailable_with_the_reason_and_the_rest_works(
    tmp_path: Path,
) -> None:
    program, *args = command("many", "1")
    other = {"three": {"command": program, "args": args, "trust": "open"}}
    said = {"base_url": "http://127.0.0.1:1", "username": "ada"}
    async with housed(tmp_path, said, servers=other) as house:
        board = house.gateway.board
        verdicts = board.resolution(View()).verdicts
        locked = {id: verdict for id, verdict in verdicts.items() if isinstance(verdict, LockedTool)}
        assert {verdict.status for verdict in locked.values()} == {LockStatus.SERVER_UNAVAILABLE}
        assert sorted(id.name for id in locked) == EVERY
        assert names(house) == ["tool_00000"]
        refused = await house.gateway.caller.call(call_of("delete_file", {"fileId": 1}), View())
        findings = [finding for finding in diagnose(board) if finding.severity == "error"]
    assert isinstance(refused, LockedToolRefusal)
    assert refusal_text(refused) == (
        "server_unavailable: Toolset files is down: DocSpace is misconfigured: No password. "
        "Ask the user to correct the settings of DocSpace; this says how: pegboard docspace check"
    )
    assert [(finding.subject, finding.message) for finding in findings] == [
        ("docspace", "DocSpace is misconfigured: No password. None of its tools can be called.")
    ]
    assert findings[0].fix == f"Correct it at {tmp_path / 'pegboard.yaml'}:1. pegboard docspace check"


@pytest.mark.behaviour("docspace.misconfigured")
async def test_a_key_that_is_not_there_is_told_once_where_it_is_referred_to(tmp_path: Path) -> None:
    said = {"api_key": "${NOT_THERE_AT_ALL}", "base_url": "http://127.0.0.1:1"}
    async with housed(tmp_path, said) as house:
        findings = [finding for finding in diagnose(house.gateway.board) if finding.severity == "error"]
        locked = house.gateway.board.resolution(View()).verdicts[tool("files", "delete_file")]
    assert isinstance(locked, LockedTool)
    why = (
        "DocSpace is misconfigured: ${NOT_THERE_AT_ALL} stands for nothing: the environment variable NOT_THERE_AT_ALL "
        "is not set. Set it before the gateway starts"
    )
    assert (explain_reason(locked.reason), operator_detail(locked.reason)) == (f"Toolset files is down: {why}.", None)
    (finding,) = findings
    assert finding.message.startswith(f"{why}. ")
    assert finding.fix == f"Correct it at {tmp_path / 'pegboard.yaml'}:2. pegboard docspace check"


@pytest.mark.behaviour("docspace.request_credentials")
async def test_the_doctor_tells_that_callers_may_bring_credentials_of_their_own(tmp_path: Path) -> None:
    async with stand_in() as docspace:
        for places, end in (([], "read what the gateway finds there."), ([docspace.url], f"for {docspace.url}.")):
            limits = {"request_base_urls": places} if places else {}
            async with housed(tmp_path, said_of(docspace, request_credentials=True, **limits)) as house:
                [told] = [each for each in diagnose(house.gateway.board) if each.subject == "docspace"]
            assert (told.severity, end in told.message) == ("warning", True)


@pytest.mark.behaviour("docspace.arguments_checked_there")
async def test_arguments_that_do_not_fit_are_refused_in_the_words_of_docspaces_tools(tmp_path: Path) -> None:
    async with stand_in() as docspace, housed(tmp_path, said_of(docspace)) as house:
        ended = await house.gateway.caller.call(call_of("delete_file", {"fileId": "x"}), View())
        assert docspace.seen == []
    assert isinstance(ended, ToolFailure)
    assert json.loads(ended.body)["content"][0]["text"] == (
        "Parsing input.\n\t\tfileId: invalid_type Invalid input: expected number, received string"
    )


@pytest.mark.behaviour("docspace.decided_like_any_other")
async def test_a_person_switches_a_tool_off_and_a_selection_leaves_a_toolset_out(tmp_path: Path) -> None:
    said = {"toolsets": ["files", "people"], "enabled_tools": ["create_folder"], "disabled_tools": "delete_file"}
    async with stand_in() as docspace, housed(tmp_path, said_of(docspace, **said)) as house:
        chosen = sorted({*TOOLSETS[ToolsetId("files")], "get_all_people", "create_folder"} - {"delete_file"})
        assert names(house) == chosen
        thrown = await house.gateway.operator.execute(
            SetSwitch(tool("files", "upload_file"), enabled=False, note=""), ME
        )
        assert isinstance(thrown, Policy)
        assert names(house) == [name for name in chosen if name != "upload_file"]
        ended = await house.gateway.caller.call(call_of("upload_file"), View())
    assert isinstance(ended, LockedToolRefusal)
    assert refusal_text(ended).startswith("disabled_by_user: files:upload_file was switched off by me")


@pytest.mark.behaviour("docspace.decided_like_any_other")
async def test_an_override_pins_an_argument_that_no_caller_is_told_of(tmp_path: Path) -> None:
    pinned = {"folders": {"folders:create_folder": {"arguments": {"parentId": {"pin": 10}}}}}
    async with stand_in() as docspace, housed(tmp_path, said_of(docspace), overrides=pinned) as house:
        shown = house.gateway.board.resolution(View()).verdicts[tool("folders", "create_folder")]
        given: JsonObject = {"title": "New", "filters": {"fields": ["title"]}}
        await house.gateway.caller.call(call_of("create_folder", given), View())
        barred = await house.gateway.caller.call(call_of("create_folder", {**given, "parentId": 1}), View())
        lines = docspace.lines()
    assert isinstance(shown, OpenTool)
    assert shown.visible_tool.spec.input_schema["required"] == ["title", "filters"]
    assert lines == ["POST /api/2.0/files/folder/10?fields=title"]
    assert isinstance(barred, BadArguments)


@pytest.mark.behaviour("docspace.decided_like_any_other")
async def test_with_strict_trust_each_tool_waits_for_a_person(tmp_path: Path) -> None:
    async with stand_in() as docspace, housed(tmp_path, said_of(docspace, trust="strict")) as house:
        verdicts = house.gateway.board.resolution(View()).verdicts
        assert {each.status for each in verdicts.values() if isinstance(each, LockedTool)} == {
            LockStatus.PENDING_APPROVAL
        }
        listed = verdicts[tool("people", "get_all_people")]
        done = await house.gateway.operator.execute(
            ApproveTool(listed.tool.id, listed.tool.spec, listed.tool.spec.fingerprint), ME
        )
        assert isinstance(done, Policy)
        assert names(house) == ["get_all_people"]


@pytest.mark.behaviour("docspace.decided_like_any_other")
async def test_a_server_that_somebody_added_to_a_toolset_of_that_name_is_told_by_the_doctor(tmp_path: Path) -> None:
    notes = server(key("files~notes"), origin=PERSON)
    async with housed(tmp_path, None) as house:
        await house.gateway.operator.execute(AddServer(notes, Toolset(ToolsetId("files"), PERSON)), ME)
    async with stand_in() as docspace, housed(tmp_path, said_of(docspace)) as house:
        [finding] = [each for each in diagnose(house.gateway.board) if "tools of DocSpace as well" in each.message]
    assert (finding.subject, finding.severity, finding.fix) == (
        str(notes.key),
        "warning",
        "pegboard toolset show files",
    )
