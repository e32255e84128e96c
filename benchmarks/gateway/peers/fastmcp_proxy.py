"""FastMCP's proxy in front of one upstream: `python -m benchmarks.gateway.peers.fastmcp_proxy [--shared] …`.

Runs in an environment of its own (see `environment`), so of this benchmark it imports only what needs no library.
`--shared` keeps one client open for all requests, which FastMCP leaves to whoever writes the proxy; without it a client
is made for each request, which is what `create_proxy` does by itself.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastmcp import Client, FastMCP  # type: ignore[import-not-found]  # installed on demand, in an environment of its own
from fastmcp.server import create_proxy  # type: ignore[import-not-found]  # the same
from fastmcp.server.providers.proxy import FastMCPProxy  # type: ignore[import-not-found]  # the same

from benchmarks.gateway.target import ROOT, HttpUpstream, StdioUpstream, Target, target_of


def upstream_of(target: Target) -> str | dict[str, Any]:
    """The upstream in the words FastMCP takes: a URL, or a client configuration."""
    match target.upstream:
        case HttpUpstream(url):
            return url
        case StdioUpstream(program, arguments):
            return {"mcpServers": {"u0": {"command": program, "args": list(arguments), "cwd": str(ROOT)}}}


def shared_client_proxy(target: Target) -> Any:
    client = Client(upstream_of(target))

    @asynccontextmanager
    async def open_client(_: Any) -> AsyncIterator[None]:
        async with client:
            yield

    return FastMCPProxy(client_factory=lambda: client, name="fastmcp-shared", lifespan=open_client)


def main() -> None:
    arguments = sys.argv[1:]
    shared = "--shared" in arguments
    target = target_of([argument for argument in arguments if argument != "--shared"])
    gateway: FastMCP = shared_client_proxy(target) if shared else create_proxy(upstream_of(target), name="fastmcp")
    app = gateway.http_app(path="/mcp", json_response=True)
    uvicorn.run(app, host="127.0.0.1", port=target.port, log_level="error", access_log=False)


if __name__ == "__main__":
    main()
