"""The search presentation as people start it: a gateway in a process of its own, a real server behind it."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from tests.cli.terminal import peer
from tests.e2e.served import DEADLINE, as_stdio, served

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BOARD = {"servers": {"three": peer("many", "3", trust="open", disabled_tools=["tool_00002"])}}


def body(result: object) -> Any:
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return json.loads(content.text)


@pytest.mark.behaviour("search.presentation", "present.chosen_by_the_operator")
@pytest.mark.parametrize("way", ["http", "stdio", "chosen"])
async def test_a_real_client_finds_a_tool_of_a_real_server_and_calls_it(way: str, tmp_path: Path) -> None:
    with anyio.fail_after(2 * DEADLINE):
        async with served(tmp_path, {**BOARD, "presentation": "search"} if way == "chosen" else BOARD) as gateway:
            if way == "http":
                client = Client(streamable_http_client(f"{gateway.endpoint}/search"))
            else:
                (other := tmp_path / "other").mkdir()
                started = as_stdio(gateway.config, other)
                asked_for = [] if way == "chosen" else ["--presentation", "search"]
                client = Client(stdio_client(started.model_copy(update={"args": [*started.args, *asked_for]})))
            async with client:
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
