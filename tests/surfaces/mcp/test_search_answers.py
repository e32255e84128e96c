"""What the search presentation tells of a tool: a line, all on demand, and its schema when a call does not fit."""

import json

import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from tests.support.sentences import unknown_tool
from tests.surfaces.mcp.places import MODES
from tests.surfaces.mcp.test_search import body, told
from tests.surfaces.mcp.workshop import key, open_workshop

from pegboard.core.model.ids import ToolId
from pegboard.surfaces.mcp.presentations.search import SearchPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("present.mends_arguments")
@pytest.mark.parametrize("mode", MODES)
async def test_arguments_that_do_not_fit_the_tool_are_answered_with_its_schema(mode: str) -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server), mode=mode) as client:
            refused = told(await client.call_tool("call_tool", {"name": "add", "arguments": {"a": 1, "b": "two"}}))
            _, schema = refused.split("The input schema of mcp:bench~bench:add is:\n")
            assert json.loads(schema)["required"] == ["a", "b"]
            mended = await client.call_tool("call_tool", {"name": "add", "arguments": {"a": 1, "b": 2}})
    assert mended.structured_content == {"total": 3}


@pytest.mark.behaviour("search.compact")
@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_is_found_as_a_line_and_whole_on_demand(mode: str) -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server), mode=mode) as client:
            asked = {"query": "adds two numbers", "limit": 1, "server": "bench", "toolset": "bench"}
            compact = body(await client.call_tool("retrieve_tools", asked))
            full = body(await client.call_tool("retrieve_tools", {**asked, "detail": "full", "explain": True}))
    add = workshop.gateway.board.catalogue.tools[ToolId(key("bench"), "add")].spec
    assert compact["tools"] == [
        {
            "name": "add",
            "server": "bench~bench",
            "signature": "(a: integer, b: integer) -> {total: integer}",
            "description": "Adds two numbers.",
        }
    ]
    assert [(tool["inputSchema"], "score" in tool["explanation"]) for tool in full["tools"]] == [
        (add.input_schema, True)
    ]
    assert full["explanation"]["shown"] == 1


@pytest.mark.behaviour("search.describe_tool")
async def test_a_tool_that_was_found_is_described_whole() -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            told_of = body(await client.call_tool("describe_tool", {"names": ["add", "open_vault", "ad"]}))
    add = workshop.gateway.board.catalogue.tools[ToolId(key("bench"), "add")].spec
    assert told_of["tools"] == [
        {
            "name": "add",
            "server": "bench~bench",
            "description": "Adds two numbers.",
            "inputSchema": add.input_schema,
            "outputSchema": add.output_schema,
        }
    ]
    assert [(entry["name"], entry["message"].split(":")[0]) for entry in told_of["refused"]] == [
        ("open_vault", "pending_approval"),
        ("ad", unknown_tool("ad", "add", found_by="retrieve_tools")),
    ]
