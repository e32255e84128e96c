"""Clients that know nothing of Pegboard list and call tools through it, over both transports."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from tests.e2e.served import DEMO, as_stdio, environment, served
from tests.support import node

OPEN = [
    "execute_sql",
    "search_schemas",
    "list_notes",
    "read_note",
    "write_note",
    "append_note",
    "search_books",
    "get_book",
    "list_shelves",
    "count_books",
]
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
ERAS = ("legacy", "2026-07-28")


async def listed_and_called(client: Client) -> tuple[list[str], Any, bool, bool]:
    names = [tool.name for tool in (await client.list_tools()).tools]
    counted = await client.call_tool("count_books", {})
    refused = await client.call_tool("delete_note", {"name": "today"})
    return names, counted.structured_content, bool(counted.is_error), bool(refused.is_error)


WANTED = (
    OPEN,
    {"by": "shelf", "counts": {"garden": 4, "kitchen": 4, "night": 5, "sea": 5, "workshop": 6}, "total": 24},
)


@pytest.mark.anyio
@pytest.mark.behaviour("mcp.out.http", "run.demo_board")
async def test_the_sdk_client_lists_and_calls_the_demo_board_over_http(tmp_path: Path) -> None:
    with anyio.fail_after(90):
        async with served(tmp_path, DEMO) as gateway:
            await gateway.until("/servers", holds=all_up)
            for mode in ERAS:
                async with Client(gateway.endpoint, mode=mode) as client:
                    assert await listed_and_called(client) == (*WANTED, False, True), mode


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.behaviour("mcp.out.stdio", "cli.stdio")
async def test_the_sdk_client_lists_and_calls_the_demo_board_over_stdio(tmp_path: Path, mode: str) -> None:
    with anyio.fail_after(90):
        async with Client(as_stdio(DEMO, tmp_path, fresh=mode == ERAS[-1]), mode=mode) as client:
            assert await listed_and_called(client) == (*WANTED, False, True)


def all_up(body: Any) -> bool:
    return all(server["health"]["state"] == "up" for server in body["servers"])


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    """The Inspector's command line, installed once beside the other caches."""
    return [*node.program(INSPECTOR, "clients/launcher/build/index.js"), "--cli"]


async def inspected(inspector: list[str], home: Path, *words: str) -> Any:
    done = await anyio.run_process([*inspector, *words], env=environment(home), cwd=home, check=False)
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return json.loads(done.stdout)


@pytest.mark.anyio
@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.behaviour("mcp.out.inspector")
async def test_the_inspector_lists_and_calls_over_http(tmp_path: Path, inspector: list[str]) -> None:
    async with served(tmp_path, DEMO) as gateway:
        await gateway.until("/servers", holds=all_up)
        target = (gateway.endpoint, "--transport", "http")
        listed = await inspected(inspector, tmp_path, *target, "--method", "tools/list")
        called = await inspected(
            inspector,
            tmp_path,
            *target,
            "--method",
            "tools/call",
            "--tool-name",
            "get_book",
            "--tool-arg",
            "book_id=bk-001",
        )
    assert [tool["name"] for tool in listed["tools"]] == OPEN
    assert called["structuredContent"]["title"] == "The Lamplighter's Almanac"


@pytest.mark.anyio
@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.behaviour("mcp.out.inspector")
async def test_the_inspector_lists_and_calls_over_stdio(tmp_path: Path, inspector: list[str]) -> None:
    parameters: StdioServerParameters = as_stdio(DEMO, tmp_path)
    servers = {"mcpServers": {"pegboard": parameters.model_dump(include={"command", "args", "env"})}}
    (tmp_path / "servers.json").write_text(json.dumps(servers), "utf-8")
    target = ("--config", str(tmp_path / "servers.json"), "--server", "pegboard")
    listed = await inspected(inspector, tmp_path, *target, "--method", "tools/list")
    called = await inspected(inspector, tmp_path, *target, "--method", "tools/call", "--tool-name", "count_books")
    assert [tool["name"] for tool in listed["tools"]] == OPEN
    assert called["structuredContent"]["total"] == 24
