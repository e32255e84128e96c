"""A server that has a tool named as what runs programs, as people start a gateway: it gets none of them."""

from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.e2e.served import DEADLINE, Served, served
from tests.surfaces.cli.terminal import peer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BOARD: dict[str, Any] = {"servers": {"other": peer("namesake", trust="open")}}
LISTED: dict[str, Any] = {**BOARD, "code": {"listed": True}}


@pytest.mark.behaviour("programs.by_no_other")
@pytest.mark.parametrize("way", ["from the start", "by an edit"])
async def test_programs_go_to_the_gateways_own_whatever_a_server_calls_its_tools(way: str, tmp_path: Path) -> None:
    (program := tmp_path / "program.py").write_text("6 * 7", "utf-8")
    with anyio.fail_after(2 * DEADLINE):
        async with served(tmp_path, LISTED if way == "from the start" else BOARD) as gateway:
            if way == "by an edit":
                assert await _ran(gateway, program) == (42, 42)
                gateway.config.write_text(yaml.safe_dump(LISTED), "utf-8")
            await gateway.until("/tools", holds=_both)
            assert await _ran(gateway, program) == (42, 42)
            told = await gateway.ask("/activity?kind=call")
    assert {row["name"] for row in told["activity"]} == {"python_execution"}


def _both(body: Any) -> bool:
    names = {tool["wireName"] for tool in body["tools"]}
    return {"python_execution", "other__python_execution"} <= names


async def _ran(gateway: Served, program: Path) -> tuple[object, object]:
    """By a client of the code presentation, and by the command."""
    async with Client(streamable_http_client(f"{gateway.endpoint}/code")) as client:
        ran: Any = await client.call_tool("python_execution", {"code": "6 * 7"})
    code, body = await gateway.pegboard("run", str(program))
    assert code == 0, body
    return ran.structured_content["result"], body["result"]["structuredContent"]["result"]
