"""The README and the pages that lean on the demo, against one demo that runs: their commands, and what they show."""

import json
import re
import shlex
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.docs.clone import DEADLINE, Reader, cloned
from tests.docs.pages import is_as_shown, page

README = page("README.md")
NARROWING = page("docs/how-to/narrow-a-request.md")
DEMO = [line for line in README.commands if line.startswith(".venv/bin/pegboard ")]

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(10 * DEADLINE)]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all of them, since one gateway serves them all."""
    return "asyncio"


@pytest.fixture(scope="module")
async def reader(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reader]:
    """With `make run` in the first terminal and both servers up."""
    reader = Reader(cloned(tmp_path_factory.mktemp("clone")))
    async with reader.runs("make run"):
        with anyio.fail_after(DEADLINE):
            await reader.hears("● desk~desk", "● library~library")
        yield reader


async def asks(reader: Reader, line: str) -> Any:
    """A line of a page, asked for JSON."""
    with anyio.fail_after(5 * DEADLINE):
        said = await reader.types(f"PATH=$PWD/.venv/bin:$PATH PEGBOARD_DATA_DIR=.demo {line} --json")
    assert said.code == 0, said.text
    return json.loads(said.text)


BOARD = {
    "builtin": {"execute_sql": "open", "search_schemas": "open"},
    "desk": {
        "append_note": "open",
        "delete_note": "locked",
        "list_notes": "open",
        "move_note": "locked",
        "read_note": "open",
        "write_note": "open",
    },
    "library": {"count_books": "open", "get_book": "open", "list_shelves": "open", "search_books": "open"},
}
"""What the pages tell of the demo, and its pictures show."""


async def test_the_demo_board_is_the_one_that_the_pages_tell_of(reader: Reader) -> None:
    board: dict[str, dict[str, str]] = {}
    for tool in (await asks(reader, "pegboard tools list"))["tools"]:
        board.setdefault(tool["toolsetId"], {})[tool["name"]] = tool["verdict"]
    assert board == BOARD


async def test_the_answer_in_the_readme_is_what_the_product_says(reader: Reader) -> None:
    command, shown = re.findall(r"^\$ (.+)\n((?:.*\n?)+)", README.blocks[0].text, re.MULTILINE)[0]
    with anyio.fail_after(5 * DEADLINE):
        said = await reader.types(f"PATH=$PWD/.venv/bin:$PATH PEGBOARD_DATA_DIR=.demo {command}")
    assert is_as_shown(shown, said.text), said.text


async def test_the_readme_says_where_the_demo_listens_and_whom_it_tells_how_to_connect(reader: Reader) -> None:
    told = "\n".join(reader.heard)
    assert re.search(r"^MCP endpoint +http://127\.0\.0\.1:\d+/mcp$", told, re.MULTILINE)
    assert "`http://127.0.0.1:8460/mcp`" in README.prose
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code"):
        assert f"  {client}" in told
        assert client in " ".join(README.prose.split())


async def test_the_commands_of_the_readme_run_as_they_are_written(reader: Reader) -> None:
    with anyio.fail_after(5 * DEADLINE):
        said = [await reader.types(line) for line in DEMO]
    assert [each.code for each in said] == [0, 0, 0, 0]
    listed, why, found, counted = (each.text for each in said)
    assert "10 of 12 can be called" in listed
    assert "| Mill Lane | 2 |" in counted
    assert "locked: disabled_by_config" in why
    assert json.loads(found)["total"] == 1, "the search takes these arguments and finds the one book"


async def test_a_client_that_is_narrowed_as_the_page_shows_sees_just_that(reader: Reader) -> None:
    endpoint = next(line.split()[-1] for line in reader.heard if line.startswith("MCP endpoint"))
    seen = {}
    with anyio.fail_after(5 * DEADLINE):
        for line in NARROWING.commands:
            if line.startswith("claude mcp add "):
                name, url, headers = connection(line)
                seen[name] = await tools_seen(url.replace("http://127.0.0.1:8460/mcp", endpoint), headers)
    assert seen == {
        "reading": ["search_books", "get_book", "list_shelves", "count_books"],
        "notes": ["list_notes", "read_note", "write_note"],
    }


def connection(line: str) -> tuple[str, str, dict[str, str]]:
    words = shlex.split(line.removeprefix("claude mcp add --transport http "))
    headers = [words[place + 1] for place, word in enumerate(words) if word == "--header"]
    return words[0], words[1], dict(header.split(": ", 1) for header in headers)


async def tools_seen(url: str, headers: dict[str, str]) -> list[str]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=DEADLINE) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


async def test_the_command_line_tells_what_a_narrowed_client_gets(reader: Reader) -> None:
    listed, why = [line for line in NARROWING.commands if line.startswith("pegboard ")]
    tools = (await asks(reader, listed))["tools"]
    assert [tool["name"] for tool in tools if tool["verdict"] == "open"] == [
        "search_books",
        "get_book",
        "list_shelves",
        "count_books",
    ]
    assert (await asks(reader, why))["verdict"] == "hidden"
