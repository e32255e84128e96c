"""Clients are told when the list that they themselves see has changed, and only then."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp_types import ToolListChangedNotification
from tests.surfaces.mcp.places import DEADLINE, MODERN, MODES, Connect, http_client, served
from tests.surfaces.mcp.raw import handshake
from tests.surfaces.mcp.workshop import OPEN_TOOLS, key, open_workshop

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolsetId
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint
from pegboard.surfaces.mcp.server import GatewayMcpServer
from pegboard.surfaces.mcp.session_state import PAUSE_S

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("mode", MODES)


class Ear:
    """Hears of changes as a client of its era does, one by one."""

    def __init__(self) -> None:
        self.send, self.heard = anyio.create_memory_object_stream[str](100)
        self._subscribed = False

    async def hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification) and not self._subscribed:
            self.send.send_nowait("changed")

    @asynccontextmanager
    async def open(self, client: Client) -> AsyncIterator["Ear"]:
        """Open once the server knows that this client listens."""
        with self.send, self.heard:
            if client.protocol_version != MODERN:
                yield self
                return
            self._subscribed = True
            async with client.listen(tools_list_changed=True) as subscription, anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, subscription)
                yield self
                tasks.cancel_scope.cancel()

    async def _follow(self, subscription: Any) -> None:
        async for _ in subscription:
            self.send.send_nowait("changed")

    def silent(self) -> bool:
        return self.heard.statistics().current_buffer_used == 0


async def names_of(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]


@pytest.mark.behaviour("mcp.out.list_changed", "gateway.bells_carry_nothing")
async def test_a_client_is_told_that_its_list_changed_and_sees_the_change(connect: Connect) -> None:
    ear = Ear()
    client = await connect(message_handler=ear.hear)
    assert await names_of(client) == OPEN_TOOLS
    async with ear.open(client):
        await client.call_tool("grow")
        await ear.heard.receive()
        grown = [*OPEN_TOOLS]
        grown.insert(OPEN_TOOLS.index("plan") + 1, "late")
        assert await names_of(client) == grown
        await client.call_tool("shrink")
        await ear.heard.receive()
        assert await names_of(client) == OPEN_TOOLS


async def test_a_server_that_goes_down_takes_its_tools_from_the_list(connect: Connect) -> None:
    ear = Ear()
    client = await connect(message_handler=ear.hear)
    assert await names_of(client) == OPEN_TOOLS
    async with ear.open(client):
        await client.call_tool("fall")
        await ear.heard.receive()
        assert await names_of(client) == OPEN_TOOLS[OPEN_TOOLS.index("create_file") :]


@ERAS
async def test_a_client_whose_own_list_stays_the_same_is_not_told(mode: str) -> None:
    wide, narrow = Ear(), Ear()
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop) as url,
            http_client(url, mode=mode, message_handler=wide.hear) as first,
            http_client(url, {"X-Mcp-Toolsets": "files"}, mode=mode, message_handler=narrow.hear) as second,
        ):
            assert await names_of(first) == OPEN_TOOLS
            assert await names_of(second) == ["create_file", "get_file", "delete_file"]
            async with wide.open(first), narrow.open(second):
                workshop.bench.grow()
                await wide.heard.receive()
                assert narrow.silent()
                workshop.benches[key("files")].fall()
                await narrow.heard.receive()
                assert await names_of(second) == []


@pytest.mark.behaviour("toolsets.off_is_left_out_of_the_list", "mcp.out.list_changed")
@ERAS
async def test_a_toolset_that_a_person_switches_off_leaves_the_list_of_every_client(mode: str) -> None:
    ear = Ear()
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop) as url,
            http_client(url, mode=mode, message_handler=ear.hear) as client,
        ):
            assert await names_of(client) == OPEN_TOOLS
            async with ear.open(client):
                for on, names in [
                    (False, [name for name in OPEN_TOOLS if not name.endswith("_file")]),
                    (True, OPEN_TOOLS),
                ]:
                    await workshop.gateway.operator.execute(SetSwitch(ToolsetId("files"), on), LOCAL_PRINCIPAL)
                    while await names_of(client) != names:
                        await ear.heard.receive()


async def test_a_change_between_a_sessions_list_and_its_stream_is_told_when_the_stream_opens() -> None:
    """Servers come up while a client connects: what it listed just before it began to listen must not stay."""
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            session = await handshake(http, url)
            listed = await http.post(url, json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=session)
            assert [tool["name"] for tool in listed.json()["result"]["tools"]] == OPEN_TOOLS
            with workshop.gateway.board.changes.subscribe() as bell:
                workshop.bench.grow()
                await bell.wait()
            async with http.stream("GET", url, headers=session) as stream:
                lines = stream.aiter_lines()
                while not (line := await anext(lines)).startswith("data: "):
                    pass
                assert json.loads(line.removeprefix("data: ")) == {
                    "jsonrpc": "2.0",
                    "method": "notifications/tools/list_changed",
                }


async def test_many_changes_in_a_moment_are_told_in_few_words() -> None:
    ear = Ear()
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            served(workshop) as url,
            http_client(url, mode=MODERN) as client,
            ear.open(client),
        ):
            began = anyio.current_time()
            for _ in range(50):
                workshop.bench.grow()
                await anyio.lowlevel.checkpoint()
                workshop.bench.shrink()
                await anyio.lowlevel.checkpoint()
            workshop.bench.grow()
            await ear.heard.receive()
            assert "late" in await names_of(client)
            told = 1 + ear.heard.statistics().current_buffer_used
            assert told <= 2 + (anyio.current_time() - began) / PAUSE_S


async def test_a_stream_of_changes_ends_in_order_when_the_server_goes_away() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            gateway = GatewayMcpServer(workshop.gateway)
            async with (
                Client(gateway.server, mode=MODERN) as client,
                client.listen(tools_list_changed=True, prompts_list_changed=True) as subscription,
            ):
                assert subscription.honored.model_dump(exclude_none=True) == {
                    "tools_list_changed": True,
                    "prompts_list_changed": True,
                }
                gateway.state.shutdown.set()
                assert [event async for event in subscription] == []


async def test_the_stream_of_a_session_ends_in_order_when_the_server_goes_away() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop:
            app = McpHttpEndpoint(workshop.gateway)
            async with served(workshop, app=app) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
                session = await handshake(http, url)
                async with http.stream("GET", url, headers=session) as stream:
                    assert stream.status_code == 200
                    app.end_streams()
                    assert [chunk async for chunk in stream.aiter_bytes()] == []


async def test_no_more_than_the_most_clients_listen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard.surfaces.mcp.server.MAX_LISTENERS", 1)
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop() as workshop,
            Client(GatewayMcpServer(workshop.gateway).server, mode=MODERN) as client,
        ):
            async with client.listen(tools_list_changed=True):
                with pytest.raises(MCPError, match="1 clients listen already"):
                    await client.listen(tools_list_changed=True).__aenter__()
            while True:  # the first one's place is free a moment after it left
                try:
                    async with client.listen(tools_list_changed=True) as again:
                        assert again.honored.tools_list_changed is True
                        break
                except MCPError:
                    await anyio.lowlevel.checkpoint()
