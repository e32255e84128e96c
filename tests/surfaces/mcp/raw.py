"""Requests written by hand: exactly these headers, exactly these bytes."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio
import httpx2

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


def modern(method: str, *, id: int | str = 1, meta: Mapping[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    """A request of the 2026-07-28 era as a message."""
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": method,
        "params": {**params, "_meta": {**MODERN_META, **(meta or {})}},
    }


def modern_headers(message: Mapping[str, Any], **more: str) -> dict[str, str]:
    named = {"mcp-name": message["params"]["name"]} if "name" in message["params"] else {}
    return {**ACCEPT, "mcp-protocol-version": "2026-07-28", "mcp-method": message["method"], **named, **more}


async def ask(
    http: httpx2.AsyncClient, url: str, method: str, headers: Mapping[str, str] | None = None, **params: Any
) -> httpx2.Response:
    """One request of the 2026-07-28 era, and its answer."""
    message = modern(method, **params)
    return await http.post(url, json=message, headers={**modern_headers(message), **(headers or {})})


async def handshake(
    http: httpx2.AsyncClient,
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    opening: Mapping[str, Any] = INITIALIZE,
) -> dict[str, str]:
    """Opens a session of the handshake era; the headers that its further requests carry."""
    answer = await http.post(url, json=opening, headers={**ACCEPT, **(headers or {})})
    assert answer.status_code == 200, answer.text
    session = {**ACCEPT, "mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    done = await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
    assert done.status_code == 202, done.text
    return session


def events_of(answer: httpx2.Response) -> list[Any]:
    """The messages of an answer that came as a stream of events."""
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.headers
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def error_of(answer: httpx2.Response) -> tuple[int, int, str]:
    """Status, code and message of a refusal; it must be a JSON-RPC error whatever went wrong."""
    body = answer.json()
    assert body.keys() == {"jsonrpc", "id", "error"}, body
    assert answer.headers["content-type"] == "application/json"
    return answer.status_code, body["error"]["code"], body["error"]["message"]


async def spoken(url: str, request: bytes) -> bytes:
    """All that the server says to these bytes until it closes the connection."""
    port = httpx2.URL(url).port
    assert port is not None
    said = b""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(request)
        with suppress(anyio.EndOfStream):
            while True:
                said += await stream.receive()
    return said
