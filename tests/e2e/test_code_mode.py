"""The code presentation as people start it: a gateway in a process of its own, a real server behind it."""

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
CODE = """\
import asyncio
said = await asyncio.gather(three.tool_00000(text="a"), three.tool_00001(text="b"))
said
"""


@pytest.mark.behaviour("code.presentation", "present.chosen_by_the_operator")
@pytest.mark.parametrize("way", ["http", "stdio", "chosen"])
async def test_a_real_client_runs_a_program_that_calls_a_real_server(way: str, tmp_path: Path) -> None:
    with anyio.fail_after(2 * DEADLINE):
        async with served(tmp_path, {**BOARD, "presentation": "code"} if way == "chosen" else BOARD) as gateway:
            if way == "http":
                client = Client(streamable_http_client(f"{gateway.endpoint}/code"))
            else:
                (other := tmp_path / "other").mkdir()
                started = as_stdio(gateway.config, other)
                asked_for = [] if way == "chosen" else ["--presentation", "code"]
                client = Client(stdio_client(started.model_copy(update={"args": [*started.args, *asked_for]})))
            async with client:
                listed = [tool.name for tool in (await client.list_tools()).tools]
                found: Any = await client.call_tool("tool_search", {"query": "tool number 1", "limit": 3})
                ran: Any = await client.call_tool("python_execution", {"code": CODE})
                wrong: Any = await client.call_tool("python_execution", {"code": "await three.tool_00002(text='x')"})
    assert listed == ["tool_search", "python_execution"]
    assert isinstance(found, CallToolResult)
    [content] = found.content
    assert isinstance(content, TextContent)
    assert "await three.tool_00001(*, text: str) -> str" in content.text
    assert "tool_00002" not in content.text
    assert ran.structured_content["result"] == ["tool_00000: a", "tool_00001: b"]
    assert (wrong.is_error, wrong.structured_content["tool_calls"]) == (True, [])
