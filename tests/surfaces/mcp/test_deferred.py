"""The deferred presentation: what a search found is listed and called from then on, in that conversation alone."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp_types import CallToolResult, TextContent
from tests.gateway.test_meanings import BARN, SHED, Reading
from tests.gateway.test_meanings import TOOLS as FARM
from tests.support.doubles import Providers
from tests.support.house import declared, opened
from tests.support.sentences import unfit_opening, unknown_tool, unknown_tool_opening
from tests.surfaces.mcp.bench import tool
from tests.surfaces.mcp.deferring import OWN, carrying, client_at, deferring, in_memory, listed, names_in, search
from tests.surfaces.mcp.places import DEADLINE, LEGACY, MODERN, MODES, http_client
from tests.surfaces.mcp.raw import ask, handshake
from tests.surfaces.mcp.test_changes import Ear, names_of
from tests.surfaces.mcp.test_search import body, told
from tests.surfaces.mcp.workshop import DECLARED, SECRET, SHELVES, echo, key, open_workshop

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.settings import PresentationSettings
from pegboard.core.model.tool import ToolSpec
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.deferred_tools import TOOLS
from pegboard.core.presentations.own_tools import MaterializedTools
from pegboard.surfaces.mcp.presentations.base import HANDLE_META_KEY
from pegboard.surfaces.mcp.presentations.deferred_tools import DeferredPresentation
from pegboard.surfaces.mcp.presentations.direct import DirectPresentation
from pegboard.surfaces.mcp.results import ToolPage
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("deferred.session", "deferred.tool_search")
@pytest.mark.parametrize("where", ["memory", "http", "stdio"])
async def test_a_client_with_a_session_is_told_of_what_it_found_and_calls_it_by_its_name(
    where: str, tmp_path: Path
) -> None:
    ear = Ear()
    with anyio.fail_after(DEADLINE):
        async with (
            client_at(where, LEGACY, tmp_path, message_handler=ear.hear) as client,
            ear.open(client),
        ):
            assert await names_of(client) == OWN
            found = await search(client, "say it again", limit=1)
            assert names_in(found) == ["echo"]
            assert "handle" not in found
            called = await client.call_tool("echo", {"text": "Grüße"})
            assert (called.is_error, called.content) == (False, [TextContent(type="text", text="Grüße")])
            await ear.heard.receive()
            assert await names_of(client) == [*OWN, "echo"]
            assert names_in(await search(client, "two numbers", limit=1)) == ["add"]
            await ear.heard.receive()
            assert await names_of(client) == [*OWN, "echo", "add"]
            # What is found again is no news.
            await search(client, "say it again", limit=1)
            assert names_in(await search(client, "create a folder", limit=1)) == ["create_folder"]
            await ear.heard.receive()
            assert ear.silent()


@pytest.mark.behaviour("deferred.stateless")
@pytest.mark.parametrize("where", ["memory", "http", "stdio"])
async def test_a_client_without_a_session_carries_what_it_found_in_a_handle(where: str, tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE):
        async with client_at(where, MODERN, tmp_path) as client:
            assert await names_of(client) == OWN
            answer = await client.call_tool("tool_search", {"query": "say it again", "limit": 1})
            first = body(answer)["handle"]
            assert isinstance(answer, CallToolResult)
            assert answer.meta is not None
            assert answer.meta[HANDLE_META_KEY] == first
            # Nothing is kept for it here.
            assert await names_of(client) == OWN
            assert await listed(client, first) == [*OWN, "echo"]
            second = (await search(client, "two numbers", limit=1, handle=first))["handle"]
            assert await listed(client, second) == [*OWN, "echo", "add"]
            wanted: dict[str, Any] = {"query": "create a folder", "limit": 1}
            third = body(await client.call_tool("tool_search", wanted, meta=carrying(second)))["handle"]
            assert await listed(client, third) == [*OWN, "echo", "add", "create_folder"]
            assert len(third) < 80
            by_name = await client.call_tool("echo", {"text": "x"}, meta=carrying(third))
            assert by_name.content == [TextContent(type="text", text="x")]
            by_call = {"name": "add", "arguments": {"a": 1, "b": 2}, "handle": third}
            assert (await client.call_tool("call_tool", by_call)).structured_content == {"total": 3}


@pytest.mark.behaviour("deferred.every_mcp_tool", "deferred.shown_after_discovery", "deferred.tool_search")
async def test_no_tool_of_a_server_is_listed_before_it_was_found() -> None:
    async with open_workshop() as workshop, in_memory(workshop) as client:
        first = await client.list_tools()
        assert [tool.name for tool in first.tools] == OWN
        assert first.tools[0].input_schema == TOOLS["tool_search"].spec.input_schema
        await search(client, "say it again", limit=1)
        direct = DirectPresentation(workshop.gateway.board).page(View(), None)
        assert isinstance(direct, ToolPage)
        [echo] = [tool for tool in direct.tools if tool["name"] == "echo"]
        latest = await client.list_tools(cache_mode="bypass")
        assert latest.tools[2].model_dump(by_alias=True, exclude_none=True) == echo


@pytest.mark.behaviour("deferred.tool_search")
@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_tells_what_is_needed_to_call_what_it_found(mode: str) -> None:
    async with open_workshop() as workshop, in_memory(workshop, mode) as client:
        [found] = (await search(client, "say it again", limit=1))["tools"]
    known: dict[str, Any] = {"name": "echo", "server": "bench~bench"}
    if mode == LEGACY:
        said: dict[str, Any] = {"signature": "(text: string)", "description": "Says it again."}
    else:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        said = {"title": "Echo", "description": "Says it again. Grüße, 你好.", "inputSchema": schema}
    assert {**found, "annotations": None} == {**known, **said, "annotations": None}


@pytest.mark.behaviour("builtins.tool_search_by_meaning")
async def test_a_model_finds_a_tool_by_what_it_means_though_no_word_of_it_is_said() -> None:
    reading = Reading()
    async with opened(declared(SHED, BARN), Providers(FARM), meanings=reading.meanings) as house:
        shown = GatewayMcpServer(house.gateway, presentation=DeferredPresentation(house.gateway))
        async with Client(InMemoryTransport(shown.server), mode=LEGACY) as client:
            await search(client, "foliage")
            await reading.all_read(3)
            found = await search(client, "foliage")
            assert (names_in(found), found["ranker"]) == (["tidy_lawn"], "hybrid")
            assert await names_of(client) == [*OWN, "tidy_lawn"]


@pytest.mark.behaviour("deferred.tool_search", "builtins.tool_search_always_callable")
@pytest.mark.parametrize("mode", MODES)
async def test_where_nothing_is_deferred_the_search_is_not_listed_and_may_be_called(mode: str) -> None:
    async with (
        open_workshop(selection=Selection(TheseToolsets(()))) as workshop,
        in_memory(workshop, mode) as client,
    ):
        assert await names_of(client) == []
        assert (await search(client, "say it again"))["tools"] == []


@pytest.mark.behaviour("deferred.server_must_be_enabled", "deferred.widens_nothing")
@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_is_locked_after_it_was_found_is_neither_listed_nor_called_until_it_is_open_again(
    mode: str,
) -> None:
    echo = ToolId(key("bench"), "echo")

    async def switch(on: bool) -> None:
        assert isinstance(await workshop.gateway.operator.execute(SetSwitch(echo, on), LOCAL_PRINCIPAL), Policy)

    async with open_workshop() as workshop, in_memory(workshop, mode) as client:
        handle = (await search(client, "Grüße")).get("handle")
        shows = partial(listed, client, handle) if mode == MODERN else partial(names_of, client)
        assert await shows() == [*OWN, "echo"]
        await switch(False)
        assert await shows() == OWN
        assert "switched off" in told(await client.call_tool("echo", {"text": "x"}))
        assert "switched off" in told(await client.call_tool("call_tool", {"name": "echo"}))
        assert names_in(await search(client, "Grüße")) == []
        await switch(True)
        assert await shows() == [*OWN, "echo"]


@pytest.mark.behaviour("deferred.widens_nothing")
async def test_what_one_view_found_is_not_shown_to_a_narrower_one() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, deferring(workshop) as url:
            async with http_client(url, mode=MODERN) as wide:
                both = (await search(wide, "create a file and a folder", limit=2))["handle"]
                assert {*await listed(wide, both)} == {*OWN, "create_file", "create_folder"}
            async with http_client(f"{url}?toolsets=files", mode=MODERN) as narrow:
                assert await listed(narrow, both) == [*OWN, "create_file"]
                unknown = told(await narrow.call_tool("create_folder", {}))
                assert unknown.startswith(unknown_tool_opening("create_folder"))


@pytest.mark.behaviour("deferred.session")
async def test_no_session_sees_what_another_found_and_an_ended_one_leaves_nothing() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            deferred = DeferredPresentation(workshop.gateway)
            async with (
                deferring(workshop, deferred) as url,
                http_client(url, mode=LEGACY) as first,
                http_client(url, mode=LEGACY) as second,
            ):
                await search(first, "say it again", limit=1)
                await search(second, "two numbers", limit=1)
                assert (await names_of(first), await names_of(second)) == ([*OWN, "echo"], [*OWN, "add"])
                assert len(deferred.sessions) == 2
            assert len(deferred.sessions) == 0


@pytest.mark.behaviour("deferred.session")
async def test_searches_of_one_session_at_the_same_time_lose_nothing() -> None:
    async with open_workshop() as workshop, in_memory(workshop) as client:
        async with anyio.create_task_group() as tasks:
            for query in ("say it again", "two numbers", "create a folder", "delete a file"):
                tasks.start_soon(partial(search, client, query, limit=1))
        assert {*await names_of(client)} == {*OWN, "echo", "add", "create_folder", "delete_file"}


@pytest.mark.behaviour("deferred.bounded")
@pytest.mark.parametrize("mode", MODES)
async def test_a_conversation_keeps_so_many_tools_the_best_of_the_first_search_and_the_newest_among_them(
    mode: str,
) -> None:
    two = replace(DECLARED, presentation=PresentationSettings(max_materialized=2))
    async with open_workshop(two) as workshop, in_memory(workshop, mode) as client:
        handle = None
        for query in ("say it again", "two numbers", "create a folder"):
            carried: dict[str, str] = {} if handle is None else {"handle": handle}
            handle = (await search(client, query, limit=1, **carried)).get("handle")
        shown = await listed(client, handle) if mode == MODERN else await names_of(client)
    assert shown == [*OWN, "echo", "create_folder"]


@pytest.mark.behaviour("deferred.session")
async def test_a_session_takes_what_a_handle_brings_from_another_conversation() -> None:
    async with open_workshop() as workshop:
        deferred = DeferredPresentation(workshop.gateway)
        async with in_memory(workshop, MODERN, deferred) as former, in_memory(workshop, LEGACY, deferred) as client:
            handle = (await search(former, "say it again", limit=1))["handle"]
            await search(client, "two numbers", limit=1, handle=handle)
            assert await names_of(client) == [*OWN, "echo", "add"]


@pytest.mark.behaviour("deferred.tool_search")
async def test_a_model_that_makes_up_a_name_is_told_how_names_are_found() -> None:
    async with open_workshop() as workshop, in_memory(workshop) as client:
        for asking in (client.call_tool("ecko", {}), client.call_tool("call_tool", {"name": "ecko"})):
            assert told(await asking) == unknown_tool("ecko", "echo", found_by="tool_search")


@pytest.mark.behaviour("deferred.visible")
async def test_a_servers_tool_with_the_name_of_one_of_the_gateways_own_is_found_and_called_by_a_longer_one() -> None:
    twin = {"call_tool": (tool(key("files"), ToolSpec("call_tool", None, "Rings somebody up.")), echo)}
    async with open_workshop(shelves={**SHELVES, key("files"): twin}) as workshop, in_memory(workshop) as client:
        assert names_in(await search(client, "ring somebody up", limit=1)) == ["files__call_tool"]
        assert await names_of(client) == [*OWN, "files__call_tool"]
        called = await client.call_tool("files__call_tool", {"text": "ring"})
        assert called.content == [TextContent(type="text", text="ring")]


@pytest.mark.behaviour("deferred.tool_search")
async def test_a_search_is_recorded_as_itself_and_a_call_as_one_of_the_tool_it_names() -> None:
    async with open_workshop() as workshop, in_memory(workshop) as client:
        await search(client, "say it again", limit=1)
        await client.call_tool("echo", {"text": "x"})
        await client.call_tool("call_tool", {"name": "echo", "arguments": {"text": "x"}})
        await client.call_tool("tool_search", {})
    assert [(str(record.tool), record.call.presentation) for record in workshop.audit.records] == [
        *(("tool_search", "deferred"), ("mcp:bench~bench:echo", "deferred")),
        *(("mcp:bench~bench:echo", "deferred"), ("tool_search", "deferred")),
    ]


@pytest.mark.behaviour("deferred.tool_search")
@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("tool_search", {}, '"query" is a required property'),
        ("tool_search", {"query": " "}, "query: this is blank"),
        ("tool_search", {"query": "x", "limit": 0}, "limit"),
        ("tool_search", {"query": "x", "limit": 21}, "limit"),
        ("tool_search", {"query": "x", "handle": ""}, "handle"),
        ("tool_search", {"query": "x" * 2_001}, "query"),
        ("tool_search", {"query": "x", "grant": "all"}, "grant"),
        ("call_tool", {"arguments": {}}, '"name" is a required property'),
        ("call_tool", {"name": "echo", "arguments": "{}"}, "arguments"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_by_name(name: str, arguments: Any, problem: str) -> None:
    async with open_workshop() as workshop, in_memory(workshop) as client:
        refused = told(await client.call_tool(name, arguments))
    assert refused.startswith(unfit_opening(name))
    assert problem in refused


@pytest.mark.behaviour("deferred.widens_nothing", "law.withheld_in_search_and_code", "law.agents_cannot_widen")
async def test_nothing_of_a_withheld_tool_is_in_any_byte_of_a_deferred_conversation() -> None:
    said: list[bytes] = []
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            vault = ToolId(key("vault"), "open_vault")
            deferred = DeferredPresentation(workshop.gateway, key=lambda: bytes(32))
            # As if it had been found before it was locked.
            stale = deferred.handles.mint(MaterializedTools(((vault,),)), LOCAL_PRINCIPAL)
            async with deferring(workshop, deferred) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
                session = await handshake(http, url)
                deferred.sessions.add_found(session["mcp-session-id"], [vault])
                for method, params in probes():
                    message = {"jsonrpc": "2.0", "id": 5, "method": method, "params": params}
                    answers = [
                        await ask(http, url, method, meta={HANDLE_META_KEY: stale}, **params),
                        await http.post(url, json=message, headers=session),
                    ]
                    said += [answer.content for answer in answers]
    everything = b"".join(said)
    assert b"pending_approval" in everything
    assert SECRET.encode() not in everything
    assert b'"name":"open_vault","title"' not in everything


def probes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every request by which a client could try to learn more of the vault."""
    yield "tools/list", {}
    for query in ("vault", SECRET, "open", "open_vault"):
        for flags in ({}, {"include_disabled": True}):
            yield "tools/call", {"name": "tool_search", "arguments": {"query": query, "limit": 20, **flags}}
    for name in ("open_vault", "mcp:vault~vault:open_vault", "vault__open_vault"):
        yield "tools/call", {"name": name, "arguments": {"word": 7}}
        yield "tools/call", {"name": "call_tool", "arguments": {"name": name, "arguments": {"word": 7}}}
    yield "tools/list", {}
