"""The code presentation as people start it: a gateway in a process of its own, a real server behind it."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import CallToolResult, TextContent
from tests.e2e.served import DEADLINE
from tests.e2e.test_searching import client_by
from tests.surfaces.cli.terminal import peer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BOARD: dict[str, object] = {"servers": {"three": peer("many", "3", trust="open", disabled_tools=["tool_00002"])}}
CODE = """\
import asyncio
said = await asyncio.gather(three.tool_00000(text="a"), three.tool_00001(text="b"))
said
"""


@pytest.mark.behaviour("code.presentation", "present.chosen_by_the_operator")
@pytest.mark.parametrize("way", ["http", "stdio", "chosen"])
async def test_a_real_client_runs_a_program_that_calls_a_real_server(way: str, tmp_path: Path) -> None:
    with anyio.fail_after(2 * DEADLINE):
        async with client_by(way, tmp_path, BOARD, "code") as client:
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
