"""Starts the everything-server.

python -m tests.servers.everything                    over stdio
python -m tests.servers.everything --http 0           streamable HTTP at /mcp; the free port is told on stderr
python -m tests.servers.everything --sse 0            the older SSE transport at /sse; likewise, in the handshake era
python -m tests.servers.everything --era handshake    knows nothing of 2026-07-28; `stateless` knows nothing else
"""

import argparse
from typing import Final

import anyio
from mcp.server.runner import serve_loop
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from tests.servers.listening import serve_http

from .eras import ERAS, Era, pinned, without_handshake
from .resuming import RecentEvents
from .server import Everything

RETRY_MS: Final = 100


async def serve_stdio(everything: Everything, era: Era) -> None:
    server = everything.server
    options = server.create_initialization_options()
    if era == "stateless":
        server.middleware.insert(0, without_handshake)
    async with stdio_server() as (reading, writing):
        if era == "handshake":
            await serve_loop(server, reading, writing, lifespan_state={}, init_options=options)
        else:
            await server.run(reading, writing, options)


def sse_app(everything: Everything) -> Starlette:
    transport = SseServerTransport("/messages/")
    server = everything.server

    async def serve(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (reading, writing):
            options = server.create_initialization_options()
            await serve_loop(server, reading, writing, lifespan_state={}, init_options=options)
        return Response()

    return Starlette(routes=[Route("/sse", serve), Mount("/messages/", transport.handle_post_message)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--sse", type=int, metavar="PORT")
    parser.add_argument("--era", choices=ERAS, default="both")
    chosen = parser.parse_args()
    everything = Everything()
    if chosen.sse is not None:
        serve_http(sse_app(everything), chosen.sse)
    elif chosen.http is None:
        anyio.run(serve_stdio, everything, chosen.era)
    else:
        app = everything.server.streamable_http_app(event_store=RecentEvents(), retry_interval=RETRY_MS)
        serve_http(pinned(app, chosen.era), chosen.http)


if __name__ == "__main__":
    main()
