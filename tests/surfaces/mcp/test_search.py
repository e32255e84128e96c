"""The search presentation: a few tools in each era and over each transport, one gate behind them."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent
from tests.support.collect_failures import collect_failures
from tests.support.sentences import unfit_opening, unknown_tool, unknown_tool_opening
from tests.surfaces.mcp.inquiry import Person, inquiry, said
from tests.surfaces.mcp.places import DEADLINE, LEGACY, MODERN, MODES, http_client, served, stdio_parameters
from tests.surfaces.mcp.raw import ask, error_of, handshake
from tests.surfaces.mcp.test_principals import ALICE, GUARDED, bearer
from tests.surfaces.mcp.workshop import SECRET, SHELVES, Workshop, key, open_workshop

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.search import TOOLS
from pegboard.surfaces.mcp.endpoint import McpPaths
from pegboard.surfaces.mcp.presentations.search import SearchPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio
NAMES = ["retrieve_tools", "describe_tool", "call_tool", "upstream_servers"]


@asynccontextmanager
async def searching(workshop: Workshop) -> AsyncIterator[str]:
    async with served(workshop, app=McpPaths(workshop.gateway)) as url:
        yield f"{url}/search"


def body(result: object) -> Any:
    """The one text of an answer, read as the JSON it is."""
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result
    [content] = result.content
    assert isinstance(content, TextContent)
    return json.loads(content.text)


def told(result: object) -> str:
    assert isinstance(result, CallToolResult)
    assert result.is_error
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.behaviour("search.presentation")
@pytest.mark.parametrize("where", ["memory", "http", "stdio"])
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_finds_a_tool_and_calls_it(where: str, mode: str, tmp_path: Any) -> None:
    with anyio.fail_after(DEADLINE):
        async with client_at(where, mode, tmp_path) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == NAMES
            assert listed.tools[0].input_schema == TOOLS["retrieve_tools"].spec.input_schema
            found = body(await client.call_tool("retrieve_tools", {"query": "say it again", "limit": 1}))
            assert [(tool["name"], tool["server"]) for tool in found["tools"]] == [("echo", "bench~bench")]
            name = found["tools"][0]["name"]
            called = await client.call_tool("call_tool", {"name": name, "arguments": {"text": "Grüße"}})
            assert (called.is_error, called.content) == (False, [TextContent(type="text", text="Grüße")])
            by_id = {"name": "mcp:bench~bench:add", "arguments": {"a": 1, "b": 2}}
            assert (await client.call_tool("call_tool", by_id)).structured_content == {"total": 3}
            servers = body(await client.call_tool("upstream_servers", {}))["servers"]
            assert [server["id"] for server in servers] == [
                *("bench~bench", "files~files", "folders~folders", "vault~vault")
            ]
            assert [server.get("tools") for server in servers] == [
                *(None, None, None, {"callable": 0, "pending_approval": 1})
            ]


@asynccontextmanager
async def client_at(where: str, mode: str, folder: Any) -> AsyncIterator[Client]:
    if where == "stdio":
        with (folder / "stderr").open("w") as errors:
            async with Client(stdio_client(stdio_parameters("search"), errors), mode=mode) as client:
                yield client
        return
    async with open_workshop() as workshop:
        if where == "memory":
            server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
            async with Client(InMemoryTransport(server), mode=mode) as client:
                yield client
        else:
            async with searching(workshop) as url, http_client(url, mode=mode) as client:
                yield client


@pytest.mark.behaviour("search.calls_pass_the_same_gate")
async def test_a_call_by_search_is_admitted_recorded_and_refused_as_any_other() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop, app=McpPaths(workshop.gateway)) as url,
            http_client(url) as direct,
            http_client(f"{url}/search") as search,
        ):
            for name, arguments in (("echo", {"text": 7}), ("open_vault", {}), ("fail", {}), ("vanish", {})):
                plain = await direct.call_tool(name, arguments)
                searched = await search.call_tool("call_tool", {"name": name, "arguments": arguments})
                assert (told(searched).split("\nThe input schema")[0], searched.is_error) == (told(plain), True)
            wrong = told(await search.call_tool("call_tool", {"name": "ecko"}))
            assert wrong == unknown_tool("ecko", "echo", found_by="retrieve_tools")
        records = [(record.call.name, type(record.outcome).__name__) for record in workshop.audit.records]
        assert records[0::2][:4] == records[1::2][:4]
        assert [name for name, _ in records] == [
            *("echo", "echo", "open_vault", "open_vault", "fail", "fail", "vanish", "vanish", "ecko")
        ]


@pytest.mark.behaviour("search.calls_pass_the_same_gate")
@pytest.mark.parametrize("mode", MODES)
async def test_progress_of_a_call_by_search_reaches_the_client(mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, searching(workshop) as url, http_client(url, mode=mode) as client:
            answer = await client.call_tool("call_tool", {"name": "steps"}, progress_callback=hear)
            assert isinstance(answer, CallToolResult)
    assert answer.content == [TextContent(type="text", text="all done")]
    assert heard == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@pytest.mark.behaviour("search.calls_pass_the_same_gate")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_tool_called_by_search_can_ask_back(mode: str, era: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with inquiry(era=era) as place, searching(Workshop(place.gateway, place.audit)) as url:
            person = Person()
            async with http_client(url, mode=mode, elicitation_callback=person.elicit) as client:
                answer = await client.call_tool("call_tool", {"name": "ask"})
    assert said(answer) == [{"action": "accept", "content": {"colour": "teal"}}]
    assert person.asked == ["Which colour?"]


UNFIT_ARGUMENTS: list[tuple[str, Any, str]] = [
    ("retrieve_tools", {}, '"query" is a required property'),
    ("retrieve_tools", {"query": ""}, "query"),
    ("retrieve_tools", {"query": "x", "limit": 0}, "limit"),
    ("retrieve_tools", {"query": "x", "limit": 101}, "limit"),
    ("retrieve_tools", {"query": "x", "include_locked": True}, "include_locked"),
    ("retrieve_tools", {"query": "x" * 2_001}, "query"),
    ("retrieve_tools", {"query": "x", "detail": "most"}, "detail"),
    ("retrieve_tools", {"query": "x", "server": 7}, "server"),
    ("describe_tool", {"names": []}, "names"),
    ("describe_tool", {"names": ["echo"] * 21}, "names"),
    ("describe_tool", {"name": "echo"}, "name"),
    ("call_tool", {"arguments": {}}, '"name" is a required property'),
    ("upstream_servers", {"operation": "add"}, "operation"),
]
"""A tool of the presentation, arguments of a call, and a part of what is wrong with them."""


@pytest.mark.behaviour("search.own_arguments_checked")
async def test_arguments_that_do_not_fit_are_refused_by_name() -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            with collect_failures() as failures:
                for name, arguments, problem in UNFIT_ARGUMENTS:
                    refused = told(await client.call_tool(name, arguments))
                    with failures.case((name, problem)):
                        assert refused.startswith(unfit_opening(name))
                        assert problem in refused
    called = [(name, name) for name, _, _ in UNFIT_ARGUMENTS]
    assert [(record.call.name, str(record.tool)) for record in workshop.audit.records] == called
    assert workshop.bench.admitted is None


@pytest.mark.behaviour("search.respects_the_view")
async def test_a_search_sees_what_its_request_is_narrowed_to_and_nothing_else() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, searching(workshop) as url:
            async with http_client(f"{url}?toolsets=files") as client:
                found = body(
                    await client.call_tool(
                        "retrieve_tools", {"query": "file folder vault echo", "include_disabled": True}
                    )
                )
                assert sorted(tool["name"] for tool in found["tools"]) == ["create_file", "delete_file", "get_file"]
                assert "disabled" not in found
                [server] = body(await client.call_tool("upstream_servers", {}))["servers"]
                assert server["id"] == "files~files"
                unknown = told(await client.call_tool("call_tool", {"name": "open_vault"}))
                assert unknown.startswith(unknown_tool_opening("open_vault"))
            async with httpx2.AsyncClient() as http:
                status, _, message = error_of(await ask(http, f"{url}?toolsets=nonsense", "tools/list"))
            assert (status, message.splitlines()[0]) == (400, "Unknown toolset 'nonsense'.")


@pytest.mark.behaviour("locked.default_answers_byte_identical")
async def test_the_bytes_of_a_default_answer_are_the_same_with_and_without_locked_tools() -> None:
    async def bytes_of(workshop: Workshop) -> bytes:
        async with searching(workshop) as url, httpx2.AsyncClient() as http:
            arguments = {"query": "create get delete file folder vault tell how far", "limit": 4}
            return (await ask(http, url, "tools/call", name="retrieve_tools", arguments=arguments)).content

    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            files = ToolId(key("files"), "delete_file")
            assert isinstance(await workshop.gateway.operator.execute(SetSwitch(files, False), LOCAL_PRINCIPAL), Policy)
            with_locks = await bytes_of(workshop)
            shown = {*workshop.gateway.board.catalogue.tools}
        bare = {name: entry for name, entry in SHELVES[key("files")].items() if name != "delete_file"}
        shelves = {**SHELVES, key("files"): bare, key("vault"): {}}
        async with open_workshop(shelves=shelves) as workshop:
            without = await bytes_of(workshop)
            gone = shown - {*workshop.gateway.board.catalogue.tools}
    assert {id.name for id in gone} == {"delete_file", "open_vault"}
    assert with_locks == without


def probes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every request by which a client could try to learn more of the vault."""
    yield "tools/list", {}
    for query in ("vault", SECRET, f"open the {SECRET}", "give", "pending", "v", "o", "open_vault"):
        for flags in ({}, {"include_disabled": True}, {"include_disabled": True, "read_only_only": True}):
            yield "tools/call", {"name": "retrieve_tools", "arguments": {"query": query, "limit": 100, **flags}}
    for name in ("open_vault", "open_vaul", "mcp:vault~vault:open_vault", "vault__open_vault"):
        for arguments in ({}, {"word": 7}):
            yield "tools/call", {"name": "call_tool", "arguments": {"name": name, "arguments": arguments}}
        yield "tools/call", {"name": "describe_tool", "arguments": {"names": [name]}}
    yield "tools/call", {"name": "upstream_servers", "arguments": {}}
    yield "tools/call", {"name": "open_vault", "arguments": {}}


@pytest.mark.behaviour("law.withheld_in_search_and_code", "law.agents_cannot_widen")
async def test_nothing_of_a_withheld_tool_is_in_any_byte_of_a_search() -> None:
    said: list[bytes] = []
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            searching(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            session = await handshake(http, url)
            for method, params in probes():
                message = {"jsonrpc": "2.0", "id": 5, "method": method, "params": params}
                answers = [
                    await ask(http, url, method, **params),
                    await http.post(url, json=message, headers=session),
                ]
                said += [json.dumps([*answer.headers.items()]).encode() + answer.content for answer in answers]
    everything = b"".join(said)
    assert b"open_vault" in everything
    assert b"pending_approval" in everything
    # What a client sent may come back in a refusal; the word itself was in two of the queries, and in no answer.
    assert SECRET.encode() not in everything


@pytest.mark.behaviour("law.withheld_in_search_and_code")
async def test_no_word_of_a_withheld_tool_finds_it() -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            asked = {"query": SECRET, "include_disabled": True}
            assert body(await client.call_tool("retrieve_tools", asked)) == {"tools": [], "ranker": "lexical"}
            assert body(await client.call_tool("retrieve_tools", {"query": SECRET})) == {
                "tools": [],
                "ranker": "lexical",
            }
            by_name = body(await client.call_tool("retrieve_tools", {**asked, "query": "vault"}))
    assert by_name["disabled"] == [
        {"name": "open_vault", "server": "vault~vault", "description": "", "status": "pending_approval"}
    ]


@pytest.mark.behaviour("search.presentation")
async def test_another_path_below_the_endpoint_is_told_to_be_nothing() -> None:
    async with (
        open_workshop() as workshop,
        served(workshop, app=McpPaths(workshop.gateway)) as url,
        httpx2.AsyncClient() as http,
    ):
        with collect_failures() as failures:
            for path in ("/nonsense", "/search/more", "/Search", "/searching"):
                with failures.case(path):
                    status, _, message = error_of(await ask(http, f"{url}{path}", "tools/list"))
                    assert (status, message) == (
                        404,
                        f"Nothing is at '/mcp{path}'. MCP clients connect to /mcp, /mcp/direct, /mcp/meta, "
                        "/mcp/search, /mcp/deferred, /mcp/code and /mcp/t/{toolset}.",
                    )
                    foreign = await http.get(f"{url}{path}", headers={"host": "evil.example"})
                    assert foreign.status_code == 421
        assert (await ask(http, f"{url}/search/", "tools/list")).status_code == 200


async def test_a_session_of_one_presentation_is_none_of_another() -> None:
    async with (
        open_workshop() as workshop,
        served(workshop, app=McpPaths(workshop.gateway)) as url,
        httpx2.AsyncClient() as http,
    ):
        session = await handshake(http, f"{url}/search")
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        answer = await http.post(f"{url}/search", json=listing, headers=session)
        assert [tool["name"] for tool in answer.json()["result"]["tools"]] == NAMES
        assert (await http.post(url, json=listing, headers=session)).status_code == 404


async def test_a_search_waits_for_servers_that_are_starting() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(held=frozenset({key("files")})) as workshop:
            server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
            async with Client(InMemoryTransport(server)) as client, anyio.create_task_group() as tasks:
                tasks.start_soon(_release, workshop)
                found = body(await client.call_tool("retrieve_tools", {"query": "create_file", "limit": 1}))
    assert [tool["name"] for tool in found["tools"]] == ["create_file"]


async def _release(workshop: Workshop) -> None:
    await anyio.lowlevel.checkpoint()
    workshop.benches[key("files")].release()


@pytest.mark.behaviour("search.respects_the_view", "principals.a_token_is_demanded")
async def test_a_principal_finds_what_it_is_granted_and_a_stranger_nothing() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(GUARDED) as workshop, searching(workshop) as url:
            async with httpx2.AsyncClient() as http:
                assert (await ask(http, url, "tools/list")).status_code == 401
                guesses = [await ask(http, url, "tools/list", {"authorization": f"Bearer {n}"}) for n in range(12)]
                there = url.removesuffix("/search")
                guesses += [await ask(http, there, "tools/list", {"authorization": f"Bearer {n}"}) for n in range(12)]
            async with http_client(url, bearer(ALICE)) as client:
                asked = {"query": "file folder vault", "include_disabled": True}
                found = body(await client.call_tool("retrieve_tools", asked))
                servers = body(await client.call_tool("upstream_servers", {}))["servers"]
    # One count of wrong tokens for all paths.
    assert [answer.status_code for answer in guesses] == [401] * 20 + [429] * 4
    assert {tool["server"] for tool in found["tools"]} == {"files~files"}
    assert ("disabled" in found, [server["id"] for server in servers]) == (False, ["files~files"])


@pytest.mark.behaviour("names.of_other_programs")
async def test_the_habits_of_an_agent_of_mcpproxy_get_our_names() -> None:
    async with open_workshop() as workshop:
        server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            habits: dict[str, dict[str, Any]] = {
                "upstream_servers": {"operation": "list"},
                "describe_tool": {"tool_ids": ["bench:echo"]},
                "retrieve_tools": {"query": "echo", "include_stats": True},
                "call_tool": {"name": "echo", "args": {"text": "x"}},
            }
            said = {name: told(await client.call_tool(name, arguments)) for name, arguments in habits.items()}
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("call_tool_read", {"name": "bench:echo"})
            with pytest.raises(MCPError) as absent:
                await client.call_tool("quarantine_security", {"operation": "list_quarantined"})
            called = told(await client.call_tool("call_tool", {"name": "read_cache"}))
    assert "- operation: Leave it out: every server is listed." in said["upstream_servers"]
    assert "- tool_ids: Did you mean 'names'?" in said["describe_tool"]
    assert "- include_stats: Did you mean 'explain'?" in said["retrieve_tools"]
    assert "- args: Did you mean 'arguments'?" in said["call_tool"]
    assert "Did you mean 'call_tool'?" in str(unknown.value)
    assert "Only people review tools and servers: pegboard approvals list" in str(absent.value)
    assert "Results come whole" in called
