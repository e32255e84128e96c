"""Overrides by the API: said and cleared field by field, told with whose word they are, and calls rendered by them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.core.boards import tool
from tests.support.doubles import Providers
from tests.support.house import declared, opened
from tests.surfaces.rest.desk import GITHUB, NOTES, TOOLS, Desk, at_desk, desk_over, problem

from pegboard.core.commands.commands import SetOverride
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.renderers.catalogue import RENDERER_NAMES

pytestmark = pytest.mark.anyio

DEV = ToolsetId("dev")
READ = ToolId(GITHUB, "read")
BOARD = replace(
    declared(GITHUB, NOTES),
    overrides=(
        Override(
            DEV,
            Pattern("github", "*"),
            renderer="json",
            arguments={"path": ArgumentOverride(pin=freeze_json("s3cret"))},
            is_declared=True,
            origins={"renderer": DeclaredAt("pegboard.yaml", 4), "arguments.path": DeclaredAt("pegboard.yaml", 6)},
        ),
    ),
)
WITH_PATH = ToolSpec("read", input_schema={"properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}})
SHELVES = {**TOOLS, GITHUB: (replace(tool(GITHUB, "read"), spec=WITH_PATH), tool(GITHUB, "write"))}


@asynccontextmanager
async def desk_with_arguments() -> AsyncIterator[Desk]:
    async with opened(BOARD, Providers(SHELVES)) as house, desk_over(house) as desk:
        yield desk


async def said(desk: Desk, target: str, **body: Any) -> Any:
    answer = await desk.ask("POST", "/overrides", json={"target": target, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def fields(row: Any) -> dict[str, Any]:
    return {field["field"]: field["value"] for field in row["fields"]}


@pytest.mark.behaviour("overrides.by_every_road", "overrides.clearable", "overrides.whose_word")
async def test_fields_are_said_and_cleared_one_by_one() -> None:
    async with at_desk() as desk:
        row = await said(desk, "read", set={"name_override": "Look", "requires_confirmation": True})
        assert {**row, "fields": fields(row)} == {
            "toolset": "dev",
            "target": str(READ),
            "kind": "tool",
            "declared": False,
            "fields": {"name_override": "Look", "requires_confirmation": True},
            "mismatches": [],
            "withoutEffect": [],
            "policyVersion": 1,
        }
        assert all(field["from"]["kind"] == "installed" and field["from"]["by"] == "local" for field in row["fields"])
        row = await said(desk, "read", set={"renderer": "markdown"}, clear=["name_override"])
        assert fields(row) == {"renderer": "document", "requires_confirmation": True}
        assert (await desk.get("/tools/show", tool="read"))["title"] is None
        assert fields(await said(desk, "read", clear="all")) == {}
        assert (await desk.get("/overrides"))["overrides"] == []
        again = await desk.ask("POST", "/overrides", json={"target": "read", "clear": "all"})
        assert problem(again) == (
            409,
            f"No person has overridden {READ} in toolset 'dev'. See: pegboard overrides list",
        )


@pytest.mark.behaviour("overrides.empty_config_is_a_value")
async def test_an_empty_renderer_config_is_kept_and_lies_on_what_a_file_declares() -> None:
    async with desk_with_arguments() as desk:
        await said(desk, "read", set={"renderer": "code", "renderer_config": {"language": "python"}})
        row = await said(desk, "read", set={"renderer": "markdown", "renderer_config": {}})
        assert fields(row) == {"renderer": "document", "renderer_config": {}}
        assert row["mismatches"] == []
        row = await said(desk, "read", set={"renderer": "json"})
        assert fields(row) == {"renderer": "json", "renderer_config": {}}


@pytest.mark.behaviour("overrides.whose_word", "overrides.person_on_top_of_declared")
async def test_why_tells_which_override_set_which_field() -> None:
    async with desk_with_arguments() as desk:
        await said(desk, str(READ), set={"renderer": "code", "arguments": {"limit": {"default": 3}}})
        why = await desk.get("/why", tool="read")
        told = why["overrides"]
        assert why["policyVersion"] == desk.house.board.policy.version
        assert [(f["field"], f["value"], f["target"], f["declared"], f["from"]["kind"]) for f in told] == [
            ("renderer", "code", str(READ), False, "installed"),
            ("arguments.path.pin", "***", "github:*", True, "declared"),
            ("arguments.limit.default", 3, str(READ), False, "installed"),
        ]
        assert told[1]["from"] == {"kind": "declared", "file": "pegboard.yaml", "line": 6}
        shown = await desk.get("/overrides/show", tool="read")
        assert shown["inputSchema"] == {"properties": {"limit": {"type": "integer", "default": 3}}}


@pytest.mark.behaviour("overrides.pin_does_not_evaporate", "overrides.misfit_is_shown")
async def test_why_and_show_tell_what_comes_of_a_pin_that_the_tool_does_not_name() -> None:
    async with desk_with_arguments() as desk:
        await said(desk, "github:*", set={"arguments": {"tenant": {"pin": "ours"}}})
        sent = "sent, although the tool does not name it; callers cannot send it"
        for path, key in (("/why", "overrides"), ("/overrides/show", "fields")):
            told = (await desk.get(path, tool="read"))[key]
            assert {field["field"]: field["effect"] for field in told} == {
                "renderer": None,
                "arguments.path.pin": None,
                "arguments.tenant.pin": sent,
            }
        found = (await desk.get("/doctor"))["findings"]
        assert [finding["message"].partition(": ")[2] for finding in found if "tenant" in finding["message"]] == [
            "none of the tools that 'github:*' fits takes an argument 'tenant'. It is sent to 2 of 2 all the same."
        ]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"target": "github:*"}, ("dev", "github:*")),
        ({"target": "dev:re*"}, ("dev", "dev:re*")),
        ({"target": "mcp:dev~github:re*"}, ("dev", "dev~github:re*")),
        ({"target": "mcp:dev~github"}, ("dev", "dev~github:*")),
        ({"target": "toolset:docs"}, ("docs", "*:*")),
        ({"target": "*:re*", "toolset": "dev"}, ("dev", "*:re*")),
        ({"target": "mcp:github:read", "toolset": "dev"}, ("dev", str(READ))),
        ({"target": "read", "toolset": "dev"}, ("dev", str(READ))),
        ({"target": "mcp:dev~github:not_there_yet"}, ("dev", "mcp:dev~github:not_there_yet")),
        ({"target": "jot"}, ("docs", "mcp:docs~notes:jot")),
    ],
)
async def test_an_override_finds_its_toolset_where_its_target_tells_it(body: Any, place: tuple[str, str]) -> None:
    async with at_desk() as desk:
        row = await said(desk, **body, set={"enabled": True})
        assert (row["toolset"], row["target"]) == place


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ({"target": "*:re*"}, 400, "An override belongs to one toolset, and '*:re*' does not tell which. Name it"),
        ({"target": "*:re*", "toolset": "dve"}, 404, "There is no toolset 'dve'. Did you mean 'dev'?"),
        ({"target": "raed"}, 404, "Unknown tool 'raed'"),
        ({"target": "mcp:docs~notes:jot", "toolset": "dev"}, 400, "is a tool of toolset 'docs'"),
        (
            {"target": "raed", "toolset": "dev"},
            404,
            "lists no tool 'raed'. Did you mean 'read'? For every tool of",
        ),
        ({"target": "read"}, 422, "Nothing is said"),
        ({"target": "read", "set": {"rendrer": "code"}}, 422, "rendrer: unknown key. Did you mean 'renderer' or"),
        ({"target": "read", "set": {"renderer": "x"}}, 422, "renderer: this must be one of code, document"),
        (
            {"target": "read", "set": {"renderer": "json", "renderer_config": {"x": 1}}},
            422,
            "renderer_config.x: the renderer json does not take this. It takes: value.",
        ),
        ({"target": "read", "clear": ["x"]}, 422, "There is no field 'x'. There are: renderer"),
        ({"target": "read", "clear": ["renderer"]}, 409, "says renderer. See: pegboard overrides list"),
        (
            {"target": "read", "set": {"arguments": {"nope": {"pin": 1}}}},
            422,
            f"{READ}: arguments.nope: the tool takes no such argument.",
        ),
    ],
)
async def test_what_cannot_be_is_refused_with_what_to_do(body: Any, status: int, what: str) -> None:
    async with at_desk() as desk:
        refused = await desk.ask("POST", "/overrides", json=body)
        assert problem(refused)[0] == status
        assert what in problem(refused)[1]
        assert (await desk.get("/overrides"))["overrides"] == []


@pytest.mark.behaviour("overrides.no_secret_in_the_store")
async def test_a_pinned_secret_is_refused_and_a_reference_is_kept_as_one() -> None:
    async with desk_with_arguments() as desk:
        for target in ("read", "github:*"):
            body = {"target": target, "set": {"arguments": {"limit": {"pin": "sk-" + "a1" * 20}}}}
            status, why = problem(await desk.ask("POST", "/overrides", json=body))
            assert status == 422
            assert why.startswith("arguments.limit.pin: this looks like a secret")
            assert "Pin a reference instead" in why
            assert "a1a1" not in why
        assert [row.target for row in desk.house.board.policy.decisions.overrides] == []
        await said(desk, "write", set={"renderer": "json"})
        await said(desk, "github:r*", set={"arguments": {"limit": {"pin": "${LIMIT_TOKEN}"}}})
        kept = desk.house.board.policy.decisions.overrides[-1]
        assert kept.arguments == {"limit": ArgumentOverride(pin=freeze_json("${LIMIT_TOKEN}"))}


@pytest.mark.behaviour("overrides.no_secret_in_the_store")
async def test_the_doctor_tells_of_a_secret_that_was_pinned_before() -> None:
    async with desk_with_arguments() as desk:
        row = Override(DEV, READ, arguments={"api_key": ArgumentOverride(pin=freeze_json("hunter2"))})
        await desk.house.does(SetOverride(row))
        told = [each for each in (await desk.get("/doctor"))["findings"] if "looks like a secret" in each["message"]]
    assert [(each["subject"], each["severity"]) for each in told] == [(str(READ), "error")]
    assert "hunter2" not in str(told)
    assert told[0]["fix"] == f"pegboard overrides clear '{READ}' arguments.api_key --toolset dev   Then pin it again"


@pytest.mark.behaviour("overrides.same_target_set_and_cleared")
async def test_what_is_set_without_a_toolset_is_cleared_with_one() -> None:
    async with at_desk() as desk:
        await said(desk, "read", set={"name_override": "Look"})
        assert fields(await said(desk, "read", toolset="dev", clear="all")) == {}


@pytest.mark.behaviour("overrides.without_effect_is_told")
async def test_an_edit_that_has_no_effect_says_so_and_is_not_shown_as_in_force() -> None:
    async with desk_with_arguments() as desk:
        row = await said(desk, "read", set={"arguments": {"path": {"default": "mine"}}})
        assert row["withoutEffect"] == [
            {"tool": str(READ), "field": "arguments.path.default", "reason": "the argument is pinned"}
        ]
        shown = (await desk.get("/overrides/show", tool="read"))["fields"]
        assert {f["field"]: f["effective"] for f in shown} == {
            "renderer": True,
            "arguments.path.pin": True,
            "arguments.path.default": False,
        }


async def test_an_edit_on_an_outdated_version_is_refused() -> None:
    async with at_desk() as desk:
        await said(desk, "read", set={"enabled": True})
        late = await desk.ask(
            "POST", "/overrides", json={"target": "read", "set": {"enabled": False}}, headers={"If-Match": "0"}
        )
        assert problem(late)[0] == 412


@pytest.mark.behaviour("overrides.misfit_is_shown")
async def test_what_does_not_fit_is_told_in_the_list_and_by_the_doctor() -> None:
    async with desk_with_arguments() as desk:
        await said(desk, "mcp:dev~github:gone", set={"renderer": "code"})
        await said(desk, str(READ), set={"arguments": {"limit": {"pin": "many"}}})
        rows = (await desk.get("/overrides"))["overrides"]
        assert [[misfit["message"] for misfit in row["mismatches"]] for row in rows] == [
            [],
            ["dev~github lists no tool 'gone'."],
            [
                "'limit' cannot be overridden so: the pinned value does not fit what the tool takes there. "
                "Until it is corrected, nobody can call the tool.",
            ],
        ]
        found = (await desk.get("/doctor"))["findings"]
        mends = [finding["fix"] for finding in found if finding["message"].startswith("Override of")]
        assert mends == [
            "pegboard overrides clear 'mcp:dev~github:gone' --toolset dev",
            f"pegboard overrides clear '{READ}' arguments.limit --toolset dev",
        ]


@pytest.mark.behaviour("overrides.rendered")
async def test_the_default_renderer_switches_off_what_a_file_or_manifest_declares() -> None:
    config = {"value": "$return"}
    async with desk_with_arguments() as desk:
        call = {"tool": "read", "arguments": {}, "result": {"content": [{"type": "text", "text": "1"}]}}
        assert (await desk.ask("POST", "/render", json=call)).json()["rendered"]["renderer"] == "json"
        await said(desk, "github:*", set={"renderer": "json", "renderer_config": config})
        row = await said(desk, "read", set={"renderer": "default"})
        assert (fields(row), row["mismatches"]) == ({"renderer": "default"}, [])
        assert (await desk.get("/overrides/show", tool="read"))["mismatches"] == []
        assert (await desk.ask("POST", "/render", json=call)).json()["rendered"] is None
        row = await said(desk, "read", clear=["renderer"])
        assert (await desk.ask("POST", "/render", json=call)).json()["rendered"]["renderer"] == "json"


@pytest.mark.behaviour("overrides.renderer_catalogue")
async def test_the_catalogue_is_told_with_the_schema_of_each_configuration() -> None:
    async with at_desk() as desk:
        told = (await desk.get("/renderers"))["renderers"]
        assert tuple(each["name"] for each in told) == RENDERER_NAMES
        assert all(each["configSchema"]["additionalProperties"] is False for each in told)


@pytest.mark.behaviour("overrides.rendered", "overrides.renderer_shown")
async def test_a_call_is_rendered_by_what_its_override_says() -> None:
    async with at_desk() as desk:
        call = {
            "tool": "read",
            "arguments": {"path": "a.py"},
            "result": {"content": [{"type": "text", "text": "print()"}]},
            "chat_id": "c1",
        }
        body = (await desk.ask("POST", "/render", json=call)).json()
        assert body == {"id": str(READ), "rendered": None}
        config = {"file": "$args.path in $chat_id", "language": "$args.nope"}
        await said(desk, "read", set={"renderer": "code", "renderer_config": config})
        body = (await desk.ask("POST", "/render", json=call)).json()
        assert body["rendered"] == {
            "renderer": "code",
            "config": {"file": "a.py in c1", "content": "print()", "editable": False},
            "standalone": False,
            "missing": ["$args.nope"],
            "refused": {},
            "truncated": False,
        }
        failed = await desk.ask("POST", "/render", json={**call, "result": {"isError": True, "content": []}})
        assert failed.json()["rendered"] is None
        called = (await desk.ask("POST", "/call", json={"tool": "read", "arguments": {}})).json()
        assert called["rendered"]["renderer"] == "code"
