"""`pegboard stdio` and `pegboard serve` as a client of today's DocSpace server starts them: by its variables alone."""

import json
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.docspace.boards import body, rooms, text_of
from tests.docspace.stand_in import ADA_KEY, BOB_KEY, stand_in
from tests.e2e.served import DEADLINE, environment, warm_pegboard
from tests.surfaces.mcp.places import http_client

from pegboard.config.docspace_toolsets import misconfiguration_remedies
from pegboard.core.model.web_api import ApiMisconfiguration

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ADAS = ["Ada's forms", "Ada's team", "Ada's public room"]
LARGE = 11 * 1024 * 1024
ROOMS = {"filters": {"fields": ["folders.title"]}}


def surroundings(home: Path, **docspace: str) -> dict[str, str]:
    said = {f"DOCSPACE_{name.upper()}": value for name, value in docspace.items()}
    return {**environment(home), "PEGBOARD_DATA_DIR": str(home / "data"), **said}


def stdio(home: Path, *words: str, **docspace: str) -> Client:
    return said_aloud(home, sys.stderr, *words, **docspace)


def said_aloud(home: Path, errors: TextIO, *words: str, **docspace: str) -> Client:
    executable, *rest = warm_pegboard()
    started = StdioServerParameters(
        command=executable, args=[*rest, "stdio", *words], env=surroundings(home, **docspace), cwd=str(home)
    )
    return Client(stdio_client(started, errlog=errors))


@asynccontextmanager
async def serve(home: Path, environ: Mapping[str, str]) -> AsyncIterator[str]:
    words = [*warm_pegboard(), "serve", "--port", "0", "--json"]
    async with await anyio.open_process(words, env=environ, cwd=home, stderr=None) as process:
        assert process.stdout is not None
        try:
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 100_000)
            yield json.loads(line)["endpoint"]
        finally:
            process.send_signal(signal.SIGTERM)
            await process.wait()


@pytest.mark.behaviour("docspace.on_the_board", "docspace.environment")
async def test_a_client_of_todays_server_can_start_pegboard_in_its_place(tmp_path: Path) -> None:
    with anyio.fail_after(3 * DEADLINE):
        async with stand_in() as docspace:
            own = {"base_url": docspace.url, "api_key": ADA_KEY}
            async with stdio(tmp_path, **own, toolsets="rooms", disabled_tools="archive_room") as client:
                listed = [tool.name for tool in (await client.list_tools()).tools]
                found = await rooms(client)
            async with stdio(tmp_path, **own, dynamic="1") as client:
                meta = [tool.name for tool in (await client.list_tools()).tools]
                by_meta = await client.call_tool("call_tool", {"tool": "get_rooms_folder", "input": ROOMS})
            async with stdio(tmp_path, "--presentation", "search", **own) as client:
                by_search = await client.call_tool("call_tool", {"name": "get_rooms_folder", "arguments": ROOMS})
            with (tmp_path / "errors").open("w") as errors:
                async with said_aloud(tmp_path, errors, base_url=docspace.url) as client:
                    nobody = await client.list_tools()
                    refused = await client.call_tool("get_rooms_folder", ROOMS)
                    instructions = client.instructions or ""
            written = (tmp_path / "errors").read_text()
    assert len(listed) == 8
    assert "archive_room" not in listed
    assert found == ADAS
    assert meta == ["list_toolsets", "list_tools", "get_tool_input_schema", "get_tool_output_schema", "call_tool"]
    assert [room["title"] for room in body(by_meta)["response"]["folders"]] == ADAS
    assert text_of(by_search) == text_of(by_meta)
    assert nobody.tools == []
    wrong = ApiMisconfiguration("No authentication method")
    outage = wrong.outage("DocSpace")
    (mend,) = misconfiguration_remedies(wrong)
    assert f"{outage}. " in text_of(refused)
    assert f"{outage}. " in instructions
    assert mend in instructions
    assert f"pegboard: {outage}. " in written
    assert mend in written


@pytest.mark.behaviour("docspace.on_the_board", "docspace.environment", "docspace.request_credentials")
async def test_the_same_variables_serve_http_and_callers_bring_their_own_keys(tmp_path: Path) -> None:
    with anyio.fail_after(3 * DEADLINE):
        async with (
            stand_in() as docspace,
            serve(tmp_path, surroundings(tmp_path, base_url=docspace.url, api_key=ADA_KEY, request_query="1")) as url,
        ):
            async with http_client(url) as client:
                own = await rooms(client)
                large = {"parentId": 10, "filename": "large.txt", "content": "x" * LARGE}
                uploaded = body(await client.call_tool("upload_file", large))
                sizes = [len(seen.body) for seen in docspace.seen if "ChunkedUploader" in seen.path]
            brought = {"X-Mcp-Base-Url": docspace.url, "X-Mcp-Api-Key": BOB_KEY}
            async with http_client(f"{url}/meta", brought) as client:
                by_meta = await client.call_tool("call_tool", {"tool": "get_rooms_folder", "input": ROOMS})
    assert own == ADAS
    assert uploaded["success"] is True
    assert [size > LARGE // 2 for size in sizes] == [True, False], "in pieces of 10 MiB"
    assert body(by_meta)["response"]["folders"][0]["title"] == "Bob's forms"
