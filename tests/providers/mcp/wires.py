"""A server written byte by byte, for what no web framework would send, and calls made to it on our own connections."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
import httpx2
from tests.providers.mcp.running import KEY, PATIENCE, nothing_left

from pegboard.core.calls.call import AdmittedCall, Outcome, ToolCall
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolId, WireName
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.providers.mcp.credentials import Authorization
from pegboard.providers.mcp.fast.connections import HttpConnectionPool
from pegboard.providers.mcp.fast.http import HttpToolCalls
from pegboard.providers.mcp.fast.requests import CallEncoder, RequestHeadEncoder
from pegboard.providers.mcp.in_flight import CallsInFlight, PendingRequests

MODERN = "2026-07-28"
SESSIONS = "2025-11-25"


@dataclass
class Heard:
    """A request as it came, and the connection to answer on."""

    connection: int
    method: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def message(self) -> dict[str, Any]:
        message = json.loads(self.body)
        assert isinstance(message, dict)
        return message

    async def hung_up(self) -> None:
        """Wait until the client does."""
        assert await self.reader.read(1) == b""

    def write(self, content: bytes) -> None:
        self.writer.write(content)

    def result(self, text: str = "done") -> bytes:
        return json.dumps(
            {"jsonrpc": "2.0", "id": self.message["id"], "result": {"content": [{"type": "text", "text": text}]}}
        ).encode()

    def answer(self, text: str = "done") -> None:
        self.write(whole(self.result(text)))


def whole(body: bytes, kind: str = "application/json", status: str = "200 OK", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


EVENTS_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def event(message: object, id: str | None = None, retry: int | None = None) -> bytes:
    lines = [f"id: {id}"] if id is not None else []
    lines += [f"retry: {retry}"] if retry is not None else []
    lines += [f"data: {message if isinstance(message, str) else json.dumps(message)}"]
    return chunk(("\r\n".join(lines) + "\r\n\r\n").encode())


Script = Callable[[Heard], Awaitable[None]]


@dataclass
class Calling:
    calls: HttpToolCalls
    pool: HttpConnectionPool
    tickets: PendingRequests
    heard: list[Heard] = field(default_factory=list[Heard])
    forwarded: list[bytes] = field(default_factory=list[bytes])
    doubts: int = 0
    most_open: int = 0

    async def call(
        self,
        arguments: Mapping[str, Json] | None = None,
        *,
        raw: bytes | None = None,
        beside: Mapping[str, bytes] | None = None,
        progress: Progress | None = None,
        peer: ClientPeer | None = None,
    ) -> Outcome:
        with anyio.fail_after(PATIENCE):
            return await self.calls.call(admitted(arguments or {}, raw, beside or {}), progress, peer)

    @property
    def connections(self) -> list[int]:
        return [request.connection for request in self.heard]


def admitted(arguments: Mapping[str, Json], raw: bytes | None, beside: Mapping[str, bytes]) -> AdmittedCall:
    call = ToolCall(
        CallId("1"),
        WireName("echo"),
        arguments,
        LOCAL_PRINCIPAL,
        datetime(2026, 1, 1, tzinfo=UTC),
        raw=raw,
        beside=beside,
    )
    return AdmittedCall(call, Tool(ToolId(KEY, "echo"), ToolSpec("echo")))


@asynccontextmanager
async def calling(
    script: Script,
    *,
    version: str = MODERN,
    within: float = PATIENCE,
    most: int = 128,
    queue: int = 2_048,
    authorization: Authorization | None = None,
) -> AsyncIterator[Calling]:
    """Calls to a server that answers each request by the script; then no open file may be left of it."""
    numbers = iter(range(1, 1_000))
    found: list[Calling] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(numbers)
        found[0].most_open = max(found[0].most_open, found[0].pool.size)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                told = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(told.get("content-length", 0)))
                request = Heard(number, first.split()[0], told, body, reader, writer)
                found[0].heard.append(request)
                await script(request)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with nothing_left():
        listener = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26)
        async with listener, anyio.create_task_group() as tasks:
            url = httpx2.URL(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp")

            def doubt() -> None:
                found[0].doubts += 1

            requests, tickets, pool = (
                CallEncoder(version),
                PendingRequests(CallsInFlight(), within),
                HttpConnectionPool(url, doubt, most, queue),
            )
            session = None if requests.is_modern else "session-1"
            calls = HttpToolCalls(
                pool,
                RequestHeadEncoder(url, {"X-Peg": "board"}, version, session, requests.is_modern, authorization),
                requests,
                tickets,
                tasks,
                header_maps={},
                forward=lambda text: found[0].forwarded.append(text),
                doubt=doubt,
                in_session=session is not None,
                authorization=authorization,
            )
            found.append(Calling(calls, pool, tickets))
            try:
                yield found[0]
            finally:
                calls.close()
                tasks.cancel_scope.cancel()
