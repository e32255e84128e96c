"""The plainest gateway on the official SDK: its lowlevel server in front, one open client behind.

`python -m benchmarks.gateway.peers.sdk …`. It is given `get_tool_input_schema`, without which the SDK lists every tool
on each stateless call.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from starlette.applications import Starlette

from benchmarks.gateway.target import ROOT, HttpUpstream, StdioUpstream, Target, target_of


class SdkGateway:
    """Forwards lists and calls to one upstream."""

    def __init__(self, target: Target) -> None:
        self._client = client_of(target)
        self._schemas: dict[str, Mapping[str, Any]] = {}

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        async with self._client:
            listed = await self._client.list_tools()
            self._schemas = {tool.name: tool.input_schema for tool in listed.tools}
            yield

    def app(self) -> Starlette:
        server = Server(
            "sdk-gateway",
            get_tool_input_schema=self._schemas_by_name,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        app = server.streamable_http_app(json_response=True)
        served = app.router.lifespan_context

        @asynccontextmanager
        async def lifespan(running: Starlette) -> AsyncIterator[Any]:
            async with self.connected(), served(running) as state:
                yield state

        app.router.lifespan_context = lifespan
        return app

    def _schemas_by_name(self, name: str) -> Mapping[str, Any] | None:
        return self._schemas.get(name)

    async def _list(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return await self._client.list_tools()

    async def _call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await self._client.call_tool(params.name, params.arguments)


def client_of(target: Target) -> Client:
    match target.upstream:
        case HttpUpstream(url):
            return Client(url)
        case StdioUpstream(program, arguments):
            return Client(StdioServerParameters(command=program, args=list(arguments), cwd=ROOT))


def main() -> None:
    target = target_of()
    app = SdkGateway(target).app()
    uvicorn.run(app, host="127.0.0.1", port=target.port, log_level="error", access_log=False)


if __name__ == "__main__":
    main()
