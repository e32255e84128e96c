"""The floor: the least a Python gateway under uvicorn can do and still be one. `python -m benchmarks.gateway.floor …`

A bare ASGI callable reads the envelope with msgspec, looks the tool's name up, writes the request anew and hands
the answer on as the bytes it got. No policy, no validation, no audit, no sessions of its own. It trusts its upstream to
be the one of this benchmark, so it must never be used for anything else.
"""

import asyncio
from collections.abc import Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import msgspec
import uvicorn

from benchmarks.gateway.target import ROOT, HttpUpstream, StdioUpstream, Target, target_of
from benchmarks.gateway.upstream.echo import tools_of

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

Headers = Iterable[tuple[bytes, bytes]]

START = b'{"jsonrpc":"2.0","id":'
FORWARDED = frozenset({b"content-type", b"accept", b"mcp-protocol-version", b"mcp-method", b"mcp-session-id"})


class Request(msgspec.Struct, frozen=True):
    method: str
    id: msgspec.Raw = msgspec.Raw(b"")
    params: msgspec.Raw = msgspec.Raw(b"{}")


class CallParams(msgspec.Struct, frozen=True):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    meta: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="_meta")


class Reply(NamedTuple):
    status: int
    session: bytes
    body: bytes


decode_request = msgspec.json.Decoder(Request).decode
decode_call = msgspec.json.Decoder(CallParams).decode
encode = msgspec.json.Encoder().encode


class Backend(Protocol):
    """The way to the upstream."""

    async def open(self) -> None: ...

    async def exchange(self, request: Request, body: bytes, headers: Headers) -> Reply: ...


class PooledConnection(asyncio.Protocol):
    """One kept connection with at most one request on it."""

    def __init__(self) -> None:
        self._received = b""
        self._expected = 0
        self._body_at = 0
        self._status = 0
        self._session = b""
        self._waiting: asyncio.Future[Reply] | None = None
        self.is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports inherit from none of asyncio's

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the upstream closed the connection"))

    def send(self, request: bytes) -> asyncio.Future[Reply]:
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        if not self._expected and not self._read_head():
            return
        if len(self._received) >= self._expected:
            body = self._received[self._body_at : self._expected]
            self._received, self._expected = b"", 0
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(Reply(self._status, self._session, body))

    def _read_head(self) -> bool:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = self._received[: end + 2].lower()
        self._status = int(head[9:12])
        self._session = _value(head, b"\r\nmcp-session-id:")
        self._body_at = end + 4
        self._expected = self._body_at + int(_value(head, b"\r\ncontent-length:"))
        return True


class HttpBackend:
    """A pool of kept connections, the last one used first."""

    def __init__(self, url: str, names: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._host, self._port = parts.hostname, parts.port
        self._start = f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\n".encode()
        self._names = names
        self._idle: list[PooledConnection] = []

    async def open(self) -> None:
        self._idle.append(await self._connected())

    async def exchange(self, request: Request, body: bytes, headers: Headers) -> Reply:
        name = b""
        if request.method == "tools/call":
            params, name = rewritten(request.params, self._names)
            body = START + bytes(request.id) + b',"method":"tools/call","params":' + params + b"}"
        lines = self._start
        for header, value in headers:
            if header in FORWARDED:
                lines += header + b": " + value + b"\r\n"
            elif header == b"mcp-name":
                lines += b"mcp-name: " + name + b"\r\n"
        connection = self._idle.pop() if self._idle else await self._connected()
        while not connection.is_open:
            connection = self._idle.pop() if self._idle else await self._connected()
        reply = await connection.send(lines + b"content-length: %d\r\n\r\n" % len(body) + body)
        self._idle.append(connection)
        return reply

    async def _connected(self) -> PooledConnection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(PooledConnection, self._host, self._port)
        return connection


class StdioBackend(asyncio.SubprocessProtocol):
    """One child; requests are numbered anew so that many clients can share its pipe."""

    def __init__(self, command: tuple[str, ...], names: Mapping[str, str]) -> None:
        self._command = command
        self._names = names
        self._numbers = count(1)
        self._waiting: dict[bytes, asyncio.Future[bytes]] = {}
        self._pieces: list[bytes] = []

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.subprocess_exec(lambda: self, *self._command, stderr=None, cwd=ROOT)
        pipe = transport.get_pipe_transport(0)
        self._child, self._pipe = transport, cast(asyncio.WriteTransport, pipe)

    async def exchange(self, request: Request, body: bytes, headers: Headers) -> Reply:
        if not bytes(request.id):
            return Reply(202, b"", b"")
        params = bytes(request.params)
        if request.method == "tools/call":
            params, _ = rewritten(request.params, self._names)
        number = b"%d" % next(self._numbers)
        self._waiting[number] = rest_of_answer = asyncio.get_running_loop().create_future()
        self._pipe.write(START + number + b',"method":' + encode(request.method) + b',"params":' + params + b"}\n")
        return Reply(200, b"", START + bytes(request.id) + await rest_of_answer)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if b"\n" not in data:
            self._pieces.append(data)
            return
        *lines, rest = b"".join([*self._pieces, data]).split(b"\n")
        self._pieces = [rest] if rest else []
        for line in lines:
            # The upstream writes the id first, so the rest of the line is the answer whoever asked.
            end = line.index(b",", len(START))
            self._waiting.pop(line[len(START) : end]).set_result(line[end:])

    def process_exited(self) -> None:
        for answer in self._waiting.values():
            answer.set_exception(ConnectionError("the upstream process ended"))
        self._waiting.clear()


class Floor:
    """The ASGI callable."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["method"] != "POST":
            await _respond(send, Reply(405, b"", b""))
        else:
            message = await receive()
            body: bytes = message.get("body", b"")
            while message.get("more_body", False):
                message = await receive()
                body += message.get("body", b"")
            await _respond(send, await self._backend.exchange(decode_request(body), body, scope["headers"]))

    async def _live(self, receive: "Receive", send: "Send") -> None:
        await receive()
        await self._backend.open()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})


def rewritten(params: msgspec.Raw, names: Mapping[str, str]) -> tuple[bytes, bytes]:
    """The params of a call under the upstream's own tool name, and that name."""
    call = decode_call(params)
    name = names[call.name]
    start = b'{"name":' + encode(name) + b',"arguments":' + bytes(call.arguments)
    return start + b',"_meta":' + bytes(call.meta) + b"}", name.encode()


def app_of(target: Target) -> Floor:
    names = {tool["name"]: tool["name"] for tool in tools_of(target.tools)}
    match target.upstream:
        case HttpUpstream(url):
            return Floor(HttpBackend(url, names))
        case StdioUpstream(program, arguments):
            return Floor(StdioBackend((program, *arguments), names))


async def _respond(send: "Send", reply: Reply) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(reply.body))]
    if reply.session:
        headers.append((b"mcp-session-id", reply.session))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def _value(head: bytes, name: bytes) -> bytes:
    start = head.find(name)
    return head[start + len(name) : head.find(b"\r\n", start + 2)].strip() if start >= 0 else b""


def main() -> None:
    target = target_of()
    # What uvicorn adds by default (proxy headers, date, server) is no part of forwarding, so a floor leaves it out.
    uvicorn.run(
        app_of(target),
        host="127.0.0.1",
        port=target.port,
        log_level="error",
        access_log=False,
        loop="uvloop",
        http="httptools",
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )


if __name__ == "__main__":
    main()
