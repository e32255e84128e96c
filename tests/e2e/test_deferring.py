"""The deferred presentation as people start it: what was found outlives a gateway that is killed, by its handle."""

from pathlib import Path
from typing import cast

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import RequestParamsMeta, TextContent
from tests.e2e.served import DEADLINE, as_stdio, served
from tests.e2e.test_searching import body
from tests.surfaces.cli.terminal import peer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BOARD = {"servers": {"three": peer("many", "3", trust="open")}}
MODERN = "2026-07-28"


async def listed(client: Client, handle: str) -> list[str]:
    meta = cast(RequestParamsMeta, {"pegboard/handle": handle})
    return [tool.name for tool in (await client.list_tools(meta=meta, cache_mode="bypass")).tools]


@pytest.mark.behaviour("deferred.replicas")
async def test_a_gateway_that_was_killed_takes_the_handles_it_gave_before() -> None:
    async def found(endpoint: str) -> str:
        async with Client(streamable_http_client(f"{endpoint}/deferred"), mode=MODERN) as client:
            handle = body(await client.call_tool("tool_search", {"query": "tool_00001", "limit": 1}))["handle"]
            assert await listed(client, handle) == ["tool_search", "call_tool", "tool_00001"]
            return str(handle)

    with anyio.fail_after(3 * DEADLINE):
        async with anyio.TemporaryDirectory() as folder:
            async with served(Path(folder), BOARD) as gateway:
                await gateway.until("/tools", holds=lambda told: len(told["tools"]) == 3)
                handle = await found(gateway.endpoint)
                await gateway.kill()
            async with (
                served(Path(folder), BOARD) as gateway,
                Client(streamable_http_client(f"{gateway.endpoint}/deferred"), mode=MODERN) as client,
            ):
                assert await gateway.until("/servers", holds=lambda told: "up" in str(told))
                assert await listed(client, handle) == ["tool_search", "call_tool", "tool_00001"]
            # Another surface of the same data directory takes it as well.
            started = as_stdio(gateway.config, gateway.data_dir)
            deferring = started.model_copy(update={"args": [*started.args, "--presentation", "deferred"]})
            async with Client(stdio_client(deferring), mode=MODERN) as client:
                assert await listed(client, handle) == ["tool_search", "call_tool", "tool_00001"]
                called = await client.call_tool("tool_00001", {"text": "hi"})
                assert called.content == [TextContent(type="text", text="tool_00001: hi")]
