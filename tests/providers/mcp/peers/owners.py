"""A server that serves each caller with their own rights: a token says whose request it is, and without one it is none.

python tests/providers/mcp/peers/owners.py --http 0          HTTP at /mcp, the port told on stderr as `PORT n`
python tests/providers/mcp/peers/owners.py --http 0 --open   lists for anybody; only calls need a token
python tests/providers/mcp/peers/owners.py --sse 0           the older transport at /sse

The token of NAME is `token-of-NAME`. A session that is used with another token than it was opened with is a crossing:
it is answered with 403 and counted, and `crossings` tells how many there were.
"""

import argparse
import json
import socket
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CompleteRequestParams, CompleteResult, Completion
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "Bearer token-of-"
server = MCPServer("owners", version="1.0.0", log_level="WARNING")
crossed = 0
opened = 0


def owner_of(headers: Any) -> str:
    return str(headers.get("authorization", "")).removeprefix(PREFIX)


@server.tool(description="Whose token this call came with.", structured_output=False)
async def whose(ctx: Context, pause: float = 0.0) -> str:
    before = owner_of(ctx.headers or {})
    await anyio.sleep(pause)
    assert before == owner_of(ctx.headers or {})
    return before


@server.tool(description="Fail with the words of the request's own token.", structured_output=False)
async def blurt(ctx: Context) -> str:
    raise RuntimeError(f"I was sent {(ctx.headers or {}).get('authorization')}")


@server.tool(description="How many sessions were opened, and how many were used by another.", structured_output=False)
def crossings() -> str:
    return json.dumps({"opened": opened, "crossed": crossed})


@server.resource("diary://{page}", description="A page of the diary of whose token this came with.")
def diary(page: str, ctx: Context) -> str:
    return f"{page} of {owner_of(ctx.headers or {})}"


@server.prompt(description="A greeting to whose token this came with.")
def greeting(ctx: Context) -> str:
    return f"Hello {owner_of(ctx.headers or {})}"


async def complete(ctx: ServerRequestContext[Any], params: CompleteRequestParams) -> CompleteResult:
    return CompleteResult(completion=Completion(values=[owner_of(getattr(ctx.request, "headers", {}))]))


server._lowlevel_server.add_request_handler("completion/complete", CompleteRequestParams, complete)


class Guard:
    """Looks at the token of every request, and whose session it uses."""

    def __init__(self, app: ASGIApp, lists_for_all: bool) -> None:
        self._app = app
        self._lists_for_all = lists_for_all
        self._sessions: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        global crossed
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        known = request.headers.get("authorization", "").startswith(PREFIX)
        owner, session = owner_of(request.headers) if known else "", request.headers.get("mcp-session-id")
        session = session or request.query_params.get("session_id")
        if not known and not self._lists_for_all:
            await Response("who are you?", 401)(scope, receive, send)
            return
        if session is not None and self._sessions.setdefault(session, owner) != owner:
            crossed += 1
            await Response("not your session", 403)(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            global opened
            for name, value in message.get("headers", ()):
                if name == b"mcp-session-id" and value.decode() not in self._sessions:
                    opened += 1
                    self._sessions[value.decode()] = owner
            await send(message)

        await self._app(scope, receive, noting)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int)
    parser.add_argument("--sse", type=int)
    parser.add_argument("--open", action="store_true")
    chosen = parser.parse_args()
    app = server.sse_app() if chosen.sse is not None else server.streamable_http_app()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", chosen.http or chosen.sse or 0))
        listener.listen(256)
        print(f"PORT {listener.getsockname()[1]}", file=sys.stderr, flush=True)
        config = uvicorn.Config(Guard(app, chosen.open), log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
