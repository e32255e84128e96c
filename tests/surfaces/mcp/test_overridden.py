"""A tool with overridden arguments: the same by every road, and what is pinned in no byte but those to its server."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, cast

import anyio
import httpx2
import pytest
from tests.support.sign_ins import ScriptedSignIns
from tests.surfaces.mcp.bench import Bench, returned, tool
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import modern, modern_headers
from tests.surfaces.mcp.test_roads import ERAS, Roads
from tests.surfaces.mcp.workshop import BENCH, DECLARED, SHELVES, open_workshop
from tests.surfaces.rest.desk import ABOUT, TOKEN

from pegboard.core.calls.call import Arguments, Outcome
from pegboard.core.commands.commands import EditOverride
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, OverrideEdit, freeze_json
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.retrieval import AnswerDetail, ToolSearchQuery
from pegboard.gateway.access.tokens import hash_token
from pegboard.ports.providers import Progress
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint, McpPaths
from pegboard.surfaces.rest.app import rest_app

pytestmark = pytest.mark.anyio

SECRET = "pinned-4711"
ID = ToolId(BENCH, "dig")
SPEC = ToolSpec(
    "dig",
    input_schema={
        "type": "object",
        "properties": {
            "where": {"type": "string"},
            "deep": {"type": "integer", "description": "How deep"},
            "loud": {"type": "boolean"},
        },
        "required": ["where", "deep"],
    },
)
SAID = {
    "where": ArgumentOverride(pin=freeze_json(SECRET)),
    "loud": ArgumentOverride(hide=True),
    "deep": ArgumentOverride(default=freeze_json(3), description="In metres"),
}


async def dig(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return returned("dug")


@pytest.fixture
async def roads(anyio_backend: str) -> AsyncIterator[Roads]:
    shelves = {**SHELVES, BENCH: {**SHELVES[BENCH], "dig": (tool(BENCH, SPEC), dig)}}
    row = Override(BENCH.toolset, ID, arguments=SAID, is_declared=True)
    declared = replace(DECLARED, overrides=(*DECLARED.overrides, row))
    with anyio.fail_after(DEADLINE):
        async with AsyncExitStack() as stack:
            workshop = await stack.enter_async_context(open_workshop(declared, shelves=shelves))
            short = await stack.enter_async_context(served(workshop))
            long = await stack.enter_async_context(served(workshop, app=McpHttpEndpoint(workshop.gateway, short=False)))
            yield Roads(workshop, await stack.enter_async_context(httpx2.AsyncClient(timeout=DEADLINE)), short, long)


def got(roads: Roads) -> Any:
    admitted = roads.workshop.bench.admitted
    roads.workshop.bench.admitted = None
    return None if admitted is None else (dict(admitted.call.arguments), admitted.call.raw)


@pytest.mark.behaviour("overrides.arguments_on_every_road", "overrides.arguments")
@ERAS
async def test_a_client_sees_and_the_server_gets_the_same_by_either_road(roads: Roads, era: str) -> None:
    for road in ("short", "long"):
        _, _, listed = await roads.by(road, era, "tools/list")
        (shown,) = [one for one in listed["result"]["tools"] if one["name"] == "dig"]
        assert shown["inputSchema"] == {
            "type": "object",
            "properties": {"deep": {"type": "integer", "description": "In metres", "default": 3}},
        }
        sent: list[tuple[dict[str, Json], dict[str, Json]]] = [({}, {"deep": 3}), ({"deep": 9}, {"deep": 9})]
        for arguments, expected in sent:
            await roads.by(road, era, "tools/call", name="dig", arguments=arguments)
            assert got(roads) == ({**expected, "where": SECRET}, None)


@pytest.mark.behaviour("overrides.arguments_on_every_road", "overrides.pin_cannot_be_sent")
@ERAS
@pytest.mark.parametrize(
    "arguments", [{"where": "x"}, {"loud": True}, {"where": SECRET}, {"deep": "x"}, {"deep": None}]
)
async def test_what_must_not_be_sent_is_refused_alike_and_reaches_no_server(
    roads: Roads, era: str, arguments: dict[str, Json]
) -> None:
    short, long = await roads.both(era, "tools/call", name="dig", arguments=arguments)
    assert short == long
    assert short[2]["result"]["isError"] is True
    assert got(roads) is None


@pytest.mark.behaviour("overrides.pin_never_told", "overrides.arguments_on_every_road")
async def test_a_pinned_value_is_in_no_answer_no_record_and_no_log(
    roads: Roads, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    gateway = roads.workshop.gateway
    mine = Override(BENCH.toolset, ID, arguments={"deep": ArgumentOverride(pin=freeze_json([SECRET]))})
    said: list[object] = []
    app = rest_app(gateway, ABOUT, hash_token(TOKEN), ScriptedSignIns)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app),
        base_url="http://127.0.0.1/api/v1",
        headers={"authorization": f"Bearer {TOKEN}"},
    ) as operator:
        for fits in (True, False):
            for arguments in ({}, {"deep": 1}, {"where": "x"}, {"deep": "x"}):
                body = {"tool": "dig", "arguments": arguments}
                said.append((await operator.post("/call", json=body)).text)
                for era in ("modern", "handshake"):
                    said += await roads.both(era, "tools/call", name="dig", arguments=arguments)
                    said += await roads.both(era, "tools/list")
            for path in ("/overrides", "/overrides/show?tool=dig", "/why?tool=dig", "/tools/show?tool=dig", "/doctor"):
                answer = await operator.get(path)
                assert answer.status_code == 200, answer.text
                said.append(answer.text)
            if fits:  # a value that does not fit what the tool takes is refused, and nothing is told of it
                assert isinstance(
                    await gateway.operator.execute(EditOverride(OverrideEdit(mine)), LOCAL_PRINCIPAL), Policy
                )
    said += [repr(roads.workshop.audit.records), caplog.text, repr(gateway.board.policy)]
    assert len(said) > 40
    assert [text for text in said if SECRET in (text if isinstance(text, str) else json.dumps(text))] == []


@pytest.mark.behaviour("overrides.pin_never_told")
async def test_a_pin_that_does_not_fit_the_tool_refuses_its_calls(roads: Roads) -> None:
    mine = Override(BENCH.toolset, ID, arguments={"deep": ArgumentOverride(pin=freeze_json("not a number"))})
    assert isinstance(
        await roads.workshop.gateway.operator.execute(EditOverride(OverrideEdit(mine)), LOCAL_PRINCIPAL), Policy
    )
    short, long = await roads.both("modern", "tools/call", name="dig", arguments={})
    assert short == long
    assert "disabled_by_config: mcp:bench~bench:dig is closed" in json.dumps(short[2])
    assert got(roads) is None


@pytest.mark.behaviour("overrides.misspelled_argument_is_closed")
async def test_a_misspelled_pin_by_the_tools_name_refuses_its_calls(roads: Roads) -> None:
    mine = Override(
        BENCH.toolset, Pattern(BENCH.toolset, "dig"), arguments={"deeep": ArgumentOverride(pin=freeze_json(1))}
    )
    assert isinstance(
        await roads.workshop.gateway.operator.execute(EditOverride(OverrideEdit(mine)), LOCAL_PRINCIPAL), Policy
    )
    for road in ("short", "long"):
        _, _, answer = await roads.by(road, "modern", "tools/call", name="dig", arguments={"deep": 9})
        assert "disabled_by_user: mcp:bench~bench:dig is closed" in json.dumps(answer)
        assert got(roads) is None


@pytest.mark.behaviour("overrides.applied_to_discovered_tools")
async def test_an_edit_shows_at_once_and_the_arguments_are_read_again_by_both_roads(roads: Roads) -> None:
    mine = Override(BENCH.toolset, ID, arguments={"deep": ArgumentOverride(hide=None, default=freeze_json(7))})
    assert isinstance(
        await roads.workshop.gateway.operator.execute(EditOverride(OverrideEdit(mine)), LOCAL_PRINCIPAL), Policy
    )
    for road in ("short", "long"):
        await roads.by(road, "modern", "tools/call", name="dig", arguments={})
        assert got(roads) == ({"deep": 7, "where": SECRET}, None)


@pytest.mark.behaviour("overrides.arguments_on_every_road", "overrides.pin_never_told")
async def test_what_is_found_by_a_search_is_shown_and_called_the_same_way(roads: Roads) -> None:
    gateway = roads.workshop.gateway
    found = await gateway.search.retrieve(ToolSearchQuery("dig"), View())
    (line,) = [one for one in cast("list[dict[str, Any]]", found["tools"]) if one["name"] == "dig"]
    assert line["signature"] == "(deep?: integer = 3)"
    found = await gateway.search.retrieve(ToolSearchQuery("dig", detail=AnswerDetail.FULL), View())
    (shown,) = [one for one in cast("list[dict[str, Any]]", found["tools"]) if one["name"] == "dig"]
    assert shown["inputSchema"] == {
        "type": "object",
        "properties": {"deep": {"type": "integer", "description": "In metres", "default": 3}},
    }
    message = modern("tools/call", name="call_tool", arguments={"name": "dig", "arguments": {}})
    async with served(roads.workshop, app=McpPaths(gateway)) as url:
        answer = await roads.http.post(f"{url}/search", json=message, headers=modern_headers(message))
    assert answer.json()["result"]["content"] == [{"type": "text", "text": "dug"}]
    assert got(roads) == ({"deep": 3, "where": SECRET}, None)
    for word in ("where", "loud"):
        named = await gateway.search.retrieve(ToolSearchQuery(word), View())
        assert "dig" not in [one["name"] for one in cast("list[dict[str, Any]]", named["tools"])]
