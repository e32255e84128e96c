"""An example toolset on a real board: imported by the command line, called by an MCP client, given away."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import anyio
import httpx2
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from tests.e2e.served import ROOT, Served, environment, warm_pegboard

EXAMPLES = ROOT / "examples"
DEADLINE = 120
_LEFT_OUT = ("__pycache__",)


async def does(gateway: Served, *words: str) -> Any:
    """A command that has to succeed."""
    code, body = await gateway.pegboard(*words)
    assert code == 0, body
    return body


async def imported(gateway: Served, source: Path) -> Any:
    """Checked first, as a careful person does."""
    words = [*warm_pegboard(), "toolset", "check", str(source), "--json"]
    done = await anyio.run_process(words, env=environment(gateway.data_dir), check=False)
    checked = json.loads(done.stdout)
    assert (done.returncode, checked["errors"], checked["warnings"]) == (0, [], [])
    return await does(gateway, "toolset", "import", str(source), "--yes")


async def statuses(gateway: Served, toolset: str) -> dict[str, str]:
    """Once all that the toolset has is listed and judged: no tool is pending, and no server is starting."""

    def is_settled(body: Any) -> bool:
        states = [server["health"]["state"] for server in body["servers"]]
        told = [tool.get("status") for tool in body["tools"]]
        return "starting" not in states and not {"pending_approval", "server_unavailable"} & {*told} and bool(told)

    body = await gateway.until(f"/toolsets/{toolset}", holds=is_settled)
    return {tool["id"]: tool.get("status") or tool["verdict"] for tool in body["tools"]}


class Guest:
    """An MCP client of the gateway, and what it was asked."""

    def __init__(self, client: Client, asked: list[str]) -> None:
        self.client = client
        self.asked = asked

    async def call(self, name: str, /, **arguments: Any) -> CallToolResult:
        result = await self.client.call_tool(name, arguments)
        assert isinstance(result, CallToolResult)
        return result

    async def answer(self, name: str, /, **arguments: Any) -> Any:
        """The structured content of a call that has to succeed."""
        result = await self.call(name, **arguments)
        assert not result.is_error, result
        return result.structured_content

    async def text(self, name: str, /, **arguments: Any) -> str:
        result = await self.call(name, **arguments)
        assert not result.is_error, result
        return words_of(result)


def words_of(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


@asynccontextmanager
async def guest(gateway: Served, answer: str = "yes") -> AsyncIterator[Guest]:
    """Whoever sits at the client says this when they are asked."""
    asked: list[str] = []

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": answer})

    async with (
        httpx2.AsyncClient(timeout=DEADLINE, trust_env=False) as http,
        Client(streamable_http_client(gateway.endpoint, http_client=http), elicitation_callback=elicit) as client,
    ):
        yield Guest(client, asked)


async def there_and_back(gateway: Served, toolset: str, source: Path, folder: Path) -> None:
    """Exported it is the folder that it came from; taken away and imported again, it is the same toolset."""
    before = _meaning(await does(gateway, "toolset", "show", toolset))
    await does(gateway, "toolset", "export", toolset, "--to", str(folder / "one.zip"))
    with ZipFile(folder / "one.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == _files(source)
    again = await does(gateway, "toolset", "import", str(folder / "one.zip"), "--dry-run")
    assert not again["changes"]["hasChanges"], again["changes"]["lines"]
    await does(gateway, "toolset", "remove", toolset, "--yes")
    assert (await does(gateway, "toolset", "list"))["toolsets"] == []
    await does(gateway, "toolset", "import", str(folder / "one.zip"), "--yes")
    await does(gateway, "toolset", "export", toolset, "--to", str(folder / "two.zip"))
    assert (folder / "two.zip").read_bytes() == (folder / "one.zip").read_bytes()
    assert _meaning(await does(gateway, "toolset", "show", toolset)) == before


def _meaning(body: Any) -> Any:
    """All but how it is at the moment, and what people did with it where it was before."""
    told = {
        key: body[key] for key in ("id", "name", "version", "description", "digest", "requirements", "files", "bytes")
    }
    asked_for = [secret["name"] for secret in body["secrets"]]
    return {**told, "secrets": asked_for, "servers": [server["id"] for server in body["servers"]]}


def _files(source: Path) -> dict[str, bytes]:
    return {
        file.relative_to(source).as_posix(): file.read_bytes()
        for file in source.rglob("*")
        if file.is_file() and not {*file.parts} & {*_LEFT_OUT}
    }
