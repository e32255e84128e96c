"""The server over streamable HTTP: `python -m benchmarks.gateway.upstream.http --port N --tools N [--core N]`.

Stateless requests (2026-07-28) must carry headers that agree with their body; handshake requests (2025-11-25) must
carry the id of a session that `initialize` opened and `DELETE` has not ended. It offers no GET stream, which the
protocol allows.
"""

import argparse
import asyncio
import secrets
from typing import cast

import httptools
import msgspec
import uvloop

from benchmarks.gateway.placement import pin_this_process
from benchmarks.gateway.upstream.echo import (
    METHOD_NOT_FOUND,
    STATELESS_VERSION,
    Answer,
    EchoServer,
    Message,
    decode_message,
    refusal,
    unreadable,
)

HEADER_MISMATCH = -32020
INVALID_REQUEST = -32600
STATUS_LINES = {
    200: b"HTTP/1.1 200 OK\r\n",
    202: b"HTTP/1.1 202 Accepted\r\n",
    400: b"HTTP/1.1 400 Bad Request\r\n",
    404: b"HTTP/1.1 404 Not Found\r\n",
    405: b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST, DELETE\r\n",
}


class Exchange(asyncio.Protocol):
    """One client connection. httptools calls the `on_` methods while it is fed."""

    def __init__(self, server: EchoServer, sessions: set[bytes]) -> None:
        self._server = server
        self._sessions = sessions
        self._headers: dict[bytes, bytes] = {}
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports inherit from none of asyncio's
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        self._body = self._body + body if self._body else body

    def on_message_complete(self) -> None:
        headers, body = self._headers, self._body
        self._headers, self._body = {}, b""
        match self._parser.get_method():
            case b"POST":
                self._post(headers, body)
            case b"DELETE" if headers.get(b"mcp-session-id") in self._sessions:
                self._sessions.discard(headers[b"mcp-session-id"])
                self._respond(200)
            case b"DELETE":
                self._respond(404)
            case _:
                self._respond(405)
        if not self._parser.should_keep_alive():
            self._transport.close()

    def _post(self, headers: dict[bytes, bytes], body: bytes) -> None:
        try:
            message = decode_message(body)
        except msgspec.MsgspecError as problem:
            self._respond(400, unreadable(problem).body)
            return
        if headers.get(b"mcp-protocol-version") == STATELESS_VERSION.encode():
            self._stateless(headers, message)
        else:
            self._in_session(headers, message)

    def _stateless(self, headers: dict[bytes, bytes], message: Message) -> None:
        if message.is_notification:
            self._respond(202)
        elif disagreement := _disagreement(headers, message):
            self._respond(400, refusal(message, HEADER_MISMATCH, disagreement).body)
        else:
            answer = self._server.answer(message)
            self._respond(_status(answer), answer.body)

    def _in_session(self, headers: dict[bytes, bytes], message: Message) -> None:
        if message.method == "initialize":
            session = secrets.token_hex(16).encode()
            self._sessions.add(session)
            self._respond(200, self._server.answer(message).body, b"mcp-session-id: " + session + b"\r\n")
            return
        if message.method == "server/discover":
            self._respond(400, refusal(message, HEADER_MISMATCH, "server/discover needs its version header").body)
            return
        session = headers.get(b"mcp-session-id", b"")
        if session not in self._sessions:
            reason = "no such session; send initialize again" if session else "no session; send initialize first"
            self._respond(404 if session else 400, refusal(message, INVALID_REQUEST, reason).body)
        elif message.is_notification:
            self._respond(202)
        else:
            self._respond(200, self._server.answer(message).body)

    def _respond(self, status: int, body: bytes = b"", more: bytes = b"") -> None:
        kind = b"content-type: application/json\r\n" if body else b""
        head = STATUS_LINES[status] + kind + more + b"content-length: %d\r\n\r\n" % len(body)
        self._transport.write(head + body)


def _disagreement(headers: dict[bytes, bytes], message: Message) -> str | None:
    if headers.get(b"mcp-method", b"").strip() != message.method.encode():
        return f"the mcp-method header is not the method {message.method!r} of the body"
    if message.method == "tools/call" and headers.get(b"mcp-name", b"").strip() != message.params.name.encode():
        return f"the mcp-name header is not the tool {message.params.name!r} of the body"
    return None


def _status(answer: Answer) -> int:
    return 200 if answer.code == 0 else 404 if answer.code == METHOD_NOT_FOUND else 400


async def serve(port: int, tools: int) -> None:
    server, sessions = EchoServer(tools), set[bytes]()
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Exchange(server, sessions), "127.0.0.1", port, backlog=1024)
    async with listener:
        await listener.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description="A fast MCP server over streamable HTTP.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tools", type=int, required=True)
    parser.add_argument("--core", type=int)
    chosen = parser.parse_args()
    pin_this_process(chosen.core)
    uvloop.run(serve(chosen.port, chosen.tools))


if __name__ == "__main__":
    main()
