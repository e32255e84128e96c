"""The slips of models where tools are found and called by others: each is answered with the call that works."""

import json
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.client._memory import InMemoryTransport
from tests.support.sentences import unfit_opening, unknown_tool
from tests.surfaces.mcp.test_search import body, told
from tests.surfaces.mcp.workshop import open_workshop

from pegboard.surfaces.mcp.presentations.search import SearchPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("present.mends_arguments")
@pytest.mark.parametrize(
    "wrong", [{"arguments": '{"text": "x"}'}, {"arguments": ["x"]}, {"arguments": {}, "text": "x"}, {"text": "x"}]
)
async def test_a_call_that_call_tool_does_not_take_is_answered_with_the_schema_of_the_tool_it_names(wrong: Any) -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            problem, schema = told(await client.call_tool("call_tool", {"name": "echo", **wrong})).split(
                "\nThe input schema of mcp:bench~bench:echo is:\n"
            )
            nothing = told(await client.call_tool("call_tool", {"name": "open_vault", **wrong}))
    where = (
        "\nCorrect them and call again.\nThe tool's own arguments go into 'arguments', as an object and not as text."
    )
    assert problem.startswith(unfit_opening("call_tool"))
    assert problem.endswith(where)
    assert json.loads(schema)["properties"] == {"text": {"type": "string"}}
    assert nothing.endswith(where)
    assert [(record.call.name, str(record.tool)) for record in workshop.audit.records] == [
        ("call_tool", "call_tool")
    ] * 2
    assert workshop.bench.admitted is None


@pytest.mark.behaviour("present.own_name_told")
@pytest.mark.parametrize("name", ["echo", "mcp:bench~bench:echo"])
async def test_a_tool_that_is_called_by_its_own_name_here_is_told_to_be_called_with_call_tool(name: str) -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            assert told(await client.call_tool(name, {"text": "x"})) == (
                f"{name!r} is not in this list of tools. Call it with call_tool: "
                f'{{"name": "{name}", "arguments": {{}}}}'
            )
    assert workshop.bench.admitted is None


@pytest.mark.behaviour("present.own_name_told")
async def test_a_locked_tool_that_is_called_by_its_own_name_is_refused_as_call_tool_refuses_it() -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            by_itself = told(await client.call_tool("open_vault", {}))
            assert by_itself == told(await client.call_tool("call_tool", {"name": "open_vault"}))
    assert by_itself.startswith("pending_approval: ")
    refused = [(record.call.name, type(record.outcome).__name__, str(record.tool)) for record in workshop.audit.records]
    assert refused == [("open_vault", "LockedToolRefusal", "mcp:vault~vault:open_vault")] * 2


@pytest.mark.behaviour("present.own_name_told")
async def test_a_name_that_means_nothing_is_told_with_what_is_near_and_how_names_are_found() -> None:
    found_by = "Names are found with retrieve_tools."
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            for name, near in (("zzz", ""), ("upstream_server", "Did you mean 'upstream_servers'? ")):
                with pytest.raises(MCPError) as refused:
                    await client.call_tool(name, {})
                assert refused.value.error.message == (
                    f"There is no tool {name!r} here. {near}{found_by} What it finds is called with call_tool."
                )
            unknown = unknown_tool("zzz", found_by="retrieve_tools")
            assert told(await client.call_tool("call_tool", {"name": "zzz"})) == unknown
            described = body(await client.call_tool("describe_tool", {"names": ["zzz", "ecko"]}))
    assert described["refused"] == [
        {"name": "zzz", "message": unknown},
        {"name": "ecko", "message": unknown_tool("ecko", "echo", found_by="retrieve_tools")},
    ]
