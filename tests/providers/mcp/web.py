"""Real HTTP servers in the test's own event loop, with MCP endpoints that each test breaks in its own way."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pegboard.core.model.server import Http
from pegboard.surfaces.http.server import WebServer, bind_socket

Answer = Callable[[Request, dict[str, Any]], Awaitable[Response | None]]
"""From a message to the response of this test's own making; None leaves it to the script below."""


@dataclass
class Endpoint:
    """A server of the handshake era with sessions, as most are in the field. `break_by` may take over any message."""

    break_by: Answer | None = None
    requests: list[Request] = field(default_factory=list[Request])
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    sessions: list[str] = field(default_factory=list[str])
    ended: list[str] = field(default_factory=list[str])
    tools: list[str] = field(default_factory=lambda: ["echo"])
    listening: anyio.Event = field(default_factory=anyio.Event)
    changed: anyio.Event = field(default_factory=anyio.Event)
    status: int | None = None
    """Answer everything with this status."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.requests.append(request)
        response = await self._respond(request)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        if self.status is not None:
            return Response(status_code=self.status)
        session = request.headers.get("mcp-session-id")
        if request.method == "GET":
            if self.break_by is not None and (broken := await self.break_by(request, {"method": "GET"})) is not None:
                return broken
            self.listening.set()
            return StreamingResponse(self._changes(), media_type="text/event-stream")
        if request.method == "DELETE":
            self.ended.append(session or "")
            return Response(status_code=200)
        message = json.loads(await request.body())
        self.messages.append(message)
        if self.break_by is not None and (broken := await self.break_by(request, message)) is not None:
            return broken
        if message["method"] == "initialize":
            self.sessions.append(f"session-{len(self.sessions) + 1}")
            return answer(message, OPENING, {"mcp-session-id": self.sessions[-1]})
        if session is None:
            return Response("no session", status_code=400)
        if session not in self.sessions:
            return Response("no such session", status_code=404)
        if "id" not in message:
            return Response(status_code=202)
        if message["method"] == "tools/list":
            return answer(message, listed(*self.tools))
        return answer(message, {"content": [{"type": "text", "text": json.dumps(message["params"]["arguments"])}]})

    async def _changes(self) -> AsyncIterator[bytes]:
        while True:
            await self.changed.wait()
            self.changed = anyio.Event()
            yield b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'

    def methods(self) -> list[str]:
        return [message["method"] for message in self.messages]


@dataclass
class Events:
    """A server of the older transport: all it says comes on one stream. `break_by` may take over any POST."""

    break_by: Answer | None = None
    endpoint: str = "/messages?session=1"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = (
            StreamingResponse(self._stream(), media_type="text/event-stream")
            if request.method == "GET"
            else await self._take(request)
        )
        await response(scope, receive, send)

    async def _stream(self) -> AsyncIterator[bytes]:
        self._sent, waiting = anyio.create_memory_object_stream[bytes](100)
        with self._sent, waiting:
            yield f"event: endpoint\ndata: {self.endpoint}\n\n".encode()
            async for body in waiting:
                if not body:
                    return
                yield b"event: message\ndata: " + body + b"\n\n"

    async def _take(self, request: Request) -> Response:
        message = json.loads(await request.body())
        if self.break_by is not None and (broken := await self.break_by(request, message)) is not None:
            return broken
        match message:
            case {"method": "initialize"}:
                self.say(answer(message, OPENING))
            case {"method": "tools/list"}:
                self.say(answer(message, listed("echo")))
            case {"id": _, "method": "tools/call"}:
                self.say(answer(message, {"content": [{"type": "text", "text": "{}"}]}))
            case {"id": _}:
                return Response(status_code=400)
        return Response("Accepted", status_code=202)

    def say(self, response: Response) -> None:
        self._sent.send_nowait(bytes(response.body))

    def hang_up(self) -> None:
        self._sent.send_nowait(b"")


OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "web", "version": "1"},
}


def listed(*names: str) -> dict[str, Any]:
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}


def answer(message: dict[str, Any], result: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers)


@asynccontextmanager
async def served(endpoint: ASGIApp, port: int = 0) -> AsyncIterator[Http]:
    with bind_socket("127.0.0.1", port) as listener:
        config = uvicorn.Config(endpoint, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        web = WebServer(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listener])
            try:
                yield Http(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
            finally:
                web.stop(at_once=True)
