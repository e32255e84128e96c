"""Clients of the deferred presentation: at every place, in memory, and with a handle in their requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.client.stdio import stdio_client
from mcp_types import RequestParamsMeta
from tests.surfaces.mcp.places import LEGACY, http_client, served, stdio_parameters
from tests.surfaces.mcp.test_search import body
from tests.surfaces.mcp.workshop import Workshop, open_workshop

from pegboard.surfaces.mcp.endpoint import McpHttpEndpoint, McpPaths
from pegboard.surfaces.mcp.presentations.base import HANDLE_META_KEY
from pegboard.surfaces.mcp.presentations.deferred_tools import DeferredPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

OWN = ["tool_search", "call_tool"]


@asynccontextmanager
async def deferring(workshop: Workshop, deferred: DeferredPresentation | None = None) -> AsyncIterator[str]:
    if deferred is not None:
        async with served(workshop, app=McpHttpEndpoint(workshop.gateway, presentation=deferred)) as url:
            yield url
        return
    async with served(workshop, app=McpPaths(workshop.gateway)) as url:
        yield f"{url}/deferred"


@asynccontextmanager
async def client_at(where: str, mode: str, folder: Path, **options: Any) -> AsyncIterator[Client]:
    if where == "stdio":
        with (folder / "stderr").open("w") as errors:
            async with Client(stdio_client(stdio_parameters("deferred"), errors), mode=mode, **options) as client:
                yield client
        return
    async with open_workshop() as workshop:
        if where == "memory":
            server = GatewayMcpServer(workshop.gateway, presentation=DeferredPresentation(workshop.gateway)).server
            async with Client(InMemoryTransport(server), mode=mode, **options) as client:
                yield client
        else:
            async with deferring(workshop) as url, http_client(url, mode=mode, **options) as client:
                yield client


async def search(client: Client, query: str, **more: Any) -> Any:
    return body(await client.call_tool("tool_search", {"query": query, **more}))


def names_in(found: Any) -> list[str]:
    return [entry["name"] for entry in found["tools"]]


def carrying(handle: object) -> RequestParamsMeta:
    return cast(RequestParamsMeta, {HANDLE_META_KEY: handle})


async def listed(client: Client, handle: object) -> list[str]:
    result = await client.list_tools(meta=carrying(handle), cache_mode="bypass")
    return [tool.name for tool in result.tools]


def in_memory(workshop: Workshop, mode: str = LEGACY, deferred: DeferredPresentation | None = None) -> Client:
    shown = DeferredPresentation(workshop.gateway) if deferred is None else deferred
    return Client(InMemoryTransport(GatewayMcpServer(workshop.gateway, presentation=shown).server), mode=mode)
