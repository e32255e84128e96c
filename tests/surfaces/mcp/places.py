"""Where a client meets the gateway: in memory, over HTTP by either road, or as the child process of its own."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import anyio
import httpx2
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client._memory import InMemoryTransport
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.support.fork_server import python
from tests.surfaces.mcp.workshop import Workshop, open_workshop

from pegboard.surfaces.http.protocol import protocol_factory
from pegboard.surfaces.http.server import WebServer, bind_socket
from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint, McpPaths
from pegboard.surfaces.mcp.request_checks import RequestChecks
from pegboard.surfaces.mcp.server import GatewayMcpServer

ROOT = Path(__file__).parents[3]
LEGACY, MODERN = "legacy", "2026-07-28"
MODES = (LEGACY, MODERN)
DEADLINE = 90.0


class Connect(Protocol):
    """Opens one more client of the same place; whatever it is given goes to the SDK's client."""

    async def __call__(self, **options: Any) -> Client: ...


@asynccontextmanager
async def served(
    workshop: Workshop, door: RequestChecks | None = None, app: McpHttpEndpoint | McpPaths | None = None
) -> AsyncIterator[str]:
    """The address of the gateway's endpoint on a free port of this machine."""
    app = McpHttpEndpoint(workshop.gateway, door) if app is None else app
    with bind_socket("127.0.0.1", 0) as listening:
        server = WebServer(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_level="warning",
                timeout_graceful_shutdown=5,
                http=protocol_factory(app.fast_path),
            )
        )
        async with app.lifespan(), anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            finally:
                app.end_streams()
                server.stop()


@asynccontextmanager
async def http_client(url: str, headers: Mapping[str, str] | None = None, **options: Any) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=dict(headers or {}), timeout=DEADLINE) as http,
        Client(streamable_http_client(url, http_client=http), **options) as client,
    ):
        yield client


def stdio_parameters(*arguments: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=python(), args=["-m", "tests.surfaces.mcp.stdio_program", *arguments], cwd=str(ROOT)
    )


@asynccontextmanager
async def place(name: str, mode: str, errors: Path) -> AsyncIterator[Connect]:
    """A way to open clients of one era at one place. They close with the block, the last one first."""
    async with AsyncExitStack() as stack:
        if name == "stdio":

            async def connect(**options: Any) -> Client:
                errlog = stack.enter_context(errors.open("w"))
                transport = stdio_client(stdio_parameters(), errlog)
                return await stack.enter_async_context(Client(transport, mode=mode, **options))

        elif name in ("http", "long"):
            workshop = await stack.enter_async_context(open_workshop())
            app = McpHttpEndpoint(workshop.gateway, short=name == "http")
            url = await stack.enter_async_context(served(workshop, app=app))

            async def connect(**options: Any) -> Client:
                return await stack.enter_async_context(http_client(url, mode=mode, **options))

        else:
            workshop = await stack.enter_async_context(open_workshop())
            server = GatewayMcpServer(workshop.gateway).server

            async def connect(**options: Any) -> Client:
                return await stack.enter_async_context(Client(InMemoryTransport(server), mode=mode, **options))

        yield connect
