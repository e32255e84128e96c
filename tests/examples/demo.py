"""Talking to the servers of the demo board from a test."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent
from tests.support.fork_server import python

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "demo"
DEADLINE = 60


@asynccontextmanager
async def client_of(program: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(command=python(), args=[str(FOLDER / program)], env=dict(env or {}))
    with anyio.fail_after(DEADLINE), os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") as errlog:
        async with Client(stdio_client(parameters, errlog)) as client:
            yield client


@asynccontextmanager
async def library() -> AsyncIterator[Client]:
    async with client_of("library_server.py") as client:
        yield client


@asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Client]:
    async with client_of("desk_server.py", {"DESK_DIR": str(folder)}) as client:
        yield client


async def answer(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a call that has to succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    """What a call that has to fail was told."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def files_in(folder: Path) -> dict[str, str]:
    """Every file below a folder with what it says, whatever it is called."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes().decode()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def entries_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())
