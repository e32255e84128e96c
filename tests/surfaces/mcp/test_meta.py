"""The meta presentation: five tools in each era and over each transport, the same gate behind them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client._memory import InMemoryTransport
from mcp.client.stdio import stdio_client
from mcp_types import TextContent
from tests.support.sentences import unfit_arguments, unfit_opening, unknown_tool, unknown_tool_opening
from tests.surfaces.mcp.places import DEADLINE, MODES, http_client, served, stdio_parameters
from tests.surfaces.mcp.raw import ask, handshake
from tests.surfaces.mcp.test_principals import ALICE, GUARDED, bearer
from tests.surfaces.mcp.test_search import body, told
from tests.surfaces.mcp.workshop import DECLARED, HERE, SECRET, Workshop, key, open_workshop

from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PinnedEntry, PresentationSettings
from pegboard.core.presentations.meta import TOOLS, list_tools
from pegboard.surfaces.mcp.endpoint import McpPaths
from pegboard.surfaces.mcp.presentations.search import MetaPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio
NAMES = ["list_toolsets", "list_tools", "get_tool_input_schema", "get_tool_output_schema", "call_tool"]


@asynccontextmanager
async def in_memory(workshop: Workshop, mode: str = MODES[0]) -> AsyncIterator[Client]:
    server = GatewayMcpServer(workshop.gateway, presentation=MetaPresentation(workshop.gateway)).server
    async with Client(InMemoryTransport(server), mode=mode) as client:
        yield client


@asynccontextmanager
async def client_at(where: str, mode: str, folder: Any) -> AsyncIterator[Client]:
    if where == "stdio":
        with (folder / "stderr").open("w") as errors:
            async with Client(stdio_client(stdio_parameters("meta"), errors), mode=mode) as client:
                yield client
        return
    async with open_workshop() as workshop:
        if where == "memory":
            async with in_memory(workshop, mode) as client:
                yield client
            return
        async with served(workshop, app=McpPaths(workshop.gateway)) as url:
            address, headers = {
                "path": (f"{url}/meta", {}),
                "header": (url, {"X-Mcp-Dynamic": "true"}),
                "query": (f"{url}?dynamic=1", {}),
            }[where]
            async with http_client(address, headers, mode=mode) as client:
                yield client


@pytest.mark.behaviour("meta.discovers_dynamically", "meta.wraps_regular_tools", "meta.call_tool", "request.dynamic")
@pytest.mark.behaviour("meta.list_toolsets", "meta.list_tools", "meta.get_tool_input_schema")
@pytest.mark.behaviour("meta.get_tool_output_schema", "present.chosen_by_the_operator")
@pytest.mark.parametrize("where", ["memory", "path", "header", "query", pytest.param("stdio", marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_looks_through_the_toolsets_and_calls_a_tool(where: str, mode: str, tmp_path: Any) -> None:
    with anyio.fail_after(DEADLINE):
        async with client_at(where, mode, tmp_path) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == NAMES
            assert [tool.input_schema for tool in listed.tools] == [tool.spec.input_schema for tool in TOOLS.values()]
            sets = body(await client.call_tool("list_toolsets", {}))["toolsets"]
            assert [each["name"] for each in sets] == ["bench", "files", "folders", "vault"]
            assert [each.get("tools") for each in sets] == [None, None, None, {"callable": 0, "pending_approval": 1}]
            tools = body(await client.call_tool("list_tools", {"toolset": "bench"}))["tools"]
            assert {"name": "add", "description": "Adds two numbers."} in tools
            schema = body(await client.call_tool("get_tool_input_schema", {"tool": "add"}))["inputSchema"]
            assert schema["required"] == ["a", "b"]
            output = body(await client.call_tool("get_tool_output_schema", {"tool": "add"}))["outputSchema"]
            assert output["required"] == ["total"]
            none = body(await client.call_tool("get_tool_output_schema", {"tool": "echo"}))
            assert (none["outputSchema"], none["notice"].split(":")[0]) == (None, "echo has no output schema")
            called = await client.call_tool("call_tool", {"tool": "echo", "input": {"text": "Grüße"}})
            assert (called.is_error, called.content) == (False, [TextContent(type="text", text="Grüße")])
            added = await client.call_tool("call_tool", {"tool": "mcp:bench~bench:add", "input": {"a": 1, "b": 2}})
            assert added.structured_content == {"total": 3}
            assert told(await client.call_tool("echo", {"text": "x"})) == (
                '\'echo\' is not in this list of tools. Call it with call_tool: {"tool": "echo", "input": {}}'
            )
            as_text = told(await client.call_tool("call_tool", {"tool": "add", "input": "{}"}))
            assert as_text.startswith(f"{unfit_opening('call_tool')}input: ")
            assert json.loads(as_text.split("The input schema of mcp:bench~bench:add is:\n")[1])["required"] == [
                "a",
                "b",
            ]


@pytest.mark.behaviour("meta.unknown_names_near_matches", "present.mends_arguments")
async def test_what_is_wrong_is_told_with_what_to_do() -> None:
    async with open_workshop() as workshop, in_memory(workshop) as client:
        refused = {
            asked: told(await client.call_tool(name, arguments))
            for asked, name, arguments in (
                ("toolset", "list_tools", {"toolset": "fils"}),
                ("tool", "get_tool_input_schema", {"tool": "ecko"}),
                ("output", "get_tool_output_schema", {"tool": "ecko"}),
                ("call", "call_tool", {"tool": "ecko"}),
                ("own", "call_tool", {"tool": "list_tools"}),
                ("locked", "get_tool_input_schema", {"tool": "open_vault"}),
                ("locked call", "call_tool", {"tool": "open_vault"}),
                ("arguments", "call_tool", {"tool": "add", "input": {"a": 1}}),
                ("name", "list_tools", {"toolsets": "files"}),
            )
        }
        unknown_toolset = list_tools(
            "fils", 0, workshop.gateway.board.resolution(View()), workshop.gateway.board.policy
        )
    assert "'files'" in str(unknown_toolset)
    assert refused["toolset"] == unfit_arguments(ToolId(BuiltinKey(), "list_tools"), f"toolset: {unknown_toolset}")
    unknown = unknown_tool("ecko", "echo", found_by="list_tools")
    assert [refused[asked] for asked in ("tool", "output", "call")] == [unknown] * 3
    assert refused["own"].startswith(unknown_tool_opening("list_tools"))
    assert refused["locked"] == refused["locked call"]
    assert refused["locked"].startswith("pending_approval: ")
    problem, schema = refused["arguments"].split("The input schema of mcp:bench~bench:add is:\n")
    assert '"b" is a required property' in problem
    assert json.loads(schema)["properties"] == {"a": {"type": "integer"}, "b": {"type": "integer"}}
    assert "toolset" in refused["name"]
    assert {record.call.presentation for record in workshop.audit.records} == {"meta"}
    assert [record.call.name for record in workshop.audit.records] == [
        *("list_tools", "get_tool_input_schema", "get_tool_output_schema", "ecko", "list_tools"),
        *("get_tool_input_schema", "open_vault", "add", "list_tools"),
    ]


@pytest.mark.behaviour("meta.same_options")
@pytest.mark.parametrize("mode", MODES)
async def test_options_narrow_what_meta_tools_show_and_call(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop, app=McpPaths(workshop.gateway)) as url:
            narrow = {"X-Mcp-Toolsets": "files", "X-Mcp-Disabled-Tools": "get_file", "X-Mcp-Dynamic": "yes"}
            async with http_client(url, narrow, mode=mode) as client:
                sets = body(await client.call_tool("list_toolsets", {}))["toolsets"]
                tools = body(await client.call_tool("list_tools", {"toolset": "files"}))["tools"]
                away = [
                    told(await client.call_tool(name, {"tool": tool}))
                    for name in ("call_tool", "get_tool_input_schema")
                    for tool in ("get_file", "nothing_here", "open_vault")
                ]
                nothing = told(await client.call_tool("list_tools", {"toolset": "vault"}))
    assert [each["name"] for each in sets] == ["files"]
    assert [each["name"] for each in tools] == ["create_file", "delete_file"]
    openings = [unknown_tool_opening(name) for name in ("get_file", "nothing_here", "open_vault")] * 2
    assert [text[: len(opening)] for text, opening in zip(away, openings, strict=True)] == openings
    assert "Unknown toolset 'vault'" in nothing


@pytest.mark.behaviour("meta.same_options", "principals.a_token_is_demanded")
async def test_a_principal_is_told_of_its_own_toolsets_alone() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(GUARDED) as workshop, served(workshop, app=McpPaths(workshop.gateway)) as url:
            async with httpx2.AsyncClient() as http:
                assert (await ask(http, f"{url}/meta", "tools/list")).status_code == 401
            async with http_client(f"{url}/meta", bearer(ALICE)) as client:
                sets = body(await client.call_tool("list_toolsets", {}))["toolsets"]
                refused = told(await client.call_tool("list_tools", {"toolset": "folder"}))
    assert [each["name"] for each in sets] == ["files"]
    assert "folders" not in refused


@pytest.mark.behaviour("law.withheld_in_search_and_code")
async def test_nothing_of_a_withheld_tool_is_in_any_byte_of_the_meta_tools() -> None:
    probes: list[tuple[str, dict[str, Any]]] = [("list_toolsets", {}), ("list_tools", {"toolset": "vault"})]
    for tool in ("open_vault", "mcp:vault~vault:open_vault", "vault__open_vault", "open_vaul"):
        probes += [(name, {"tool": tool}) for name in NAMES[2:]]
        probes.append(("call_tool", {"tool": tool, "input": {"word": 7}}))
    said: list[bytes] = []
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            session = await handshake(http, f"{url}/meta")
            for name, arguments in probes:
                params: dict[str, Any] = {"name": name, "arguments": arguments}
                message = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
                said.append((await ask(http, f"{url}/meta", "tools/call", **params)).content)
                said.append((await http.post(f"{url}/meta", json=message, headers=session)).content)
    everything = b"".join(said)
    assert b"pending_approval" in everything
    assert SECRET.encode() not in everything


KEPT = replace(
    DECLARED,
    presentation=PresentationSettings(
        always_visible=(
            PinnedEntry("bench:ech*", HERE),
            PinnedEntry("open_vault", HERE),
            PinnedEntry("mcp:bench~bench:late", HERE),
        )
    ),
)


@pytest.mark.behaviour("present.always_visible")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("presentation", ["meta", "search"])
async def test_a_tool_that_stays_listed_is_called_by_its_own_name(presentation: str, mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(KEPT) as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            http_client(f"{url}/{presentation}", mode=mode) as client,
        ):
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed][-1] == "echo"
            assert "open_vault" not in [tool.name for tool in listed]
            echo = workshop.gateway.board.catalogue.tools
            assert listed[-1].description == next(t for t in echo.values() if t.id.name == "echo").spec.description
            called = await client.call_tool("echo", {"text": "hi"})
            assert called.content == [TextContent(type="text", text="hi")]
            # Named by the operator and locked: who calls it is told why, as everywhere.
            assert told(await client.call_tool("open_vault", {})).startswith("pending_approval: ")
            unlisted = told(await client.call_tool("add", {"a": 1, "b": 2}))
            assert unlisted.startswith("'add' is not in this list of tools. Call it with call_tool: ")
    assert [(record.call.name, record.call.presentation) for record in workshop.audit.records] == [
        ("echo", presentation),
        ("open_vault", presentation),
        ("add", presentation),
    ]


@pytest.mark.behaviour("present.always_visible")
async def test_who_listens_hears_when_a_tool_that_stays_listed_comes() -> None:
    async with open_workshop(KEPT) as workshop:
        meta = MetaPresentation(workshop.gateway)
        view = View()
        before = meta.fingerprint(view)
        assert meta.fingerprint(view) == before
        workshop.bench.grow()
        with anyio.fail_after(DEADLINE), workshop.gateway.board.changes.subscribe() as bell:
            while "late" not in {id.name for id in workshop.gateway.board.catalogue.tools}:
                await bell.wait()
        assert meta.fingerprint(view) != before


@pytest.mark.behaviour("present.always_visible")
async def test_a_tool_that_stays_listed_stays_within_the_view() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(KEPT) as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            http_client(f"{url}/search?toolsets=files") as client,
        ):
            assert "echo" not in [tool.name for tool in (await client.list_tools()).tools]
            with pytest.raises(MCPError, match=unknown_tool_opening("echo")):
                await client.call_tool("echo", {"text": "hi"})


async def test_a_list_of_toolsets_waits_for_servers_that_are_starting() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(held=frozenset({key("files")})) as workshop,
            in_memory(workshop) as client,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_release, workshop)
            sets = body(await client.call_tool("list_toolsets", {}))["toolsets"]
    assert "files" in [each["name"] for each in sets]


async def _release(workshop: Workshop) -> None:
    await anyio.lowlevel.checkpoint()
    workshop.benches[key("files")].release()
