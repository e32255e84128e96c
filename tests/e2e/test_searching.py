"""The search presentation as people start it: a gateway in a process of its own, a real server behind it."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from tests.e2e.served import DEADLINE, as_stdio, served
from tests.surfaces.cli.terminal import peer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BOARD: dict[str, object] = {"servers": {"three": peer("many", "3", trust="open", disabled_tools=["tool_00002"])}}


def body(result: object) -> Any:
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return json.loads(content.text)


@asynccontextmanager
async def client_by(way: str, folder: Path, board: dict[str, object], presentation: str) -> AsyncIterator[Client]:
    """Over HTTP at the presentation's own path; or over stdio, where a flag or the board's own words choose it."""
    async with AsyncExitStack() as stack:
        if way == "http":
            gateway = await stack.enter_async_context(served(folder, board))
            client = Client(streamable_http_client(f"{gateway.endpoint}/{presentation}"))
        else:
            config = folder / "pegboard.yaml"
            config.write_text(yaml.safe_dump({**board, "presentation": presentation} if way == "chosen" else board))
            started = as_stdio(config, folder)
            asked_for = [] if way == "chosen" else ["--presentation", presentation]
            client = Client(stdio_client(started.model_copy(update={"args": [*started.args, *asked_for]})))
        yield await stack.enter_async_context(client)


@pytest.mark.behaviour("search.presentation", "present.chosen_by_the_operator")
@pytest.mark.parametrize("way", ["http", "stdio", "chosen"])
async def test_a_real_client_finds_a_tool_of_a_real_server_and_calls_it(way: str, tmp_path: Path) -> None:
    with anyio.fail_after(2 * DEADLINE):
        async with client_by(way, tmp_path, BOARD, "search") as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            asked = {"query": "tool", "include_disabled": True}
            found = body(await client.call_tool("retrieve_tools", asked))
            called = await client.call_tool("call_tool", {"name": "tool_00001", "arguments": {"text": "hi"}})
            servers = body(await client.call_tool("upstream_servers", {}))["servers"]
    assert listed == ["retrieve_tools", "describe_tool", "call_tool", "upstream_servers"]
    assert [tool["name"] for tool in found["tools"]] == ["tool_00000", "tool_00001"]
    assert [(tool["name"], tool["status"]) for tool in found["disabled"]] == [("tool_00002", "disabled_by_config")]
    assert isinstance(called, CallToolResult)
    assert called.content == [TextContent(type="text", text="tool_00001: hi")]
    assert [server["tools"] for server in servers] == [{"callable": 2, "disabled_by_config": 1}]
