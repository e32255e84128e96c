"""Client side bytes of MCP over HTTP/1.1, for both protocol eras. Nothing here does I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import msgspec

Json = Mapping[str, Any]


class Era(StrEnum):
    """A protocol revision, which is also how a client must behave: with a session, or stateless."""

    SESSION = "2025-11-25"
    STATELESS = "2026-07-28"


CLIENT = {"name": "pegboard-benchmark", "version": "1"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": Era.STATELESS.value,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {"protocolVersion": Era.SESSION.value, "capabilities": {}, "clientInfo": CLIENT}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an MCP endpoint listens, and the headers that every request to it carries."""

    host: str
    port: int
    path: str
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, url: str, headers: tuple[tuple[str, str], ...] = ()) -> "Endpoint":
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname is None or parts.port is None:
            raise ValueError(f"{url!r} is not an endpoint this client can reach; give http://HOST:PORT/PATH")
        return cls(parts.hostname, parts.port, parts.path or "/", headers)

    @property
    def authority(self) -> str:
        return f"{self.host}:{self.port}"


def post(
    endpoint: Endpoint, era: Era, method: str, params: Json, *, number: int | None, session: str | None = None
) -> bytes:
    """One complete POST. Without a `number` it is a notification."""
    headers = {
        "host": endpoint.authority,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    if era is Era.STATELESS:
        params = {**params, "_meta": ENVELOPE}
        headers["mcp-protocol-version"] = era.value
        headers["mcp-method"] = method
        if method == "tools/call":
            headers["mcp-name"] = params["name"]
    elif method != "initialize":
        headers["mcp-protocol-version"] = era.value
    if session is not None:
        headers["mcp-session-id"] = session
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = msgspec.json.encode(message)
    return _head("POST", endpoint, {**headers, "content-length": str(len(body))}) + body


def delete(endpoint: Endpoint, session: str) -> bytes:
    """The request that ends a session."""
    headers = {
        "host": endpoint.authority,
        "mcp-protocol-version": Era.SESSION.value,
        "mcp-session-id": session,
        "content-length": "0",
    }
    return _head("DELETE", endpoint, headers)


def answer_in(body: bytes, content_type: str) -> dict[str, Any]:
    """The JSON-RPC answer in a response body, be it plain JSON or the last message of an event stream."""
    if not content_type.startswith("text/event-stream"):
        decoded: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
        return decoded
    for event in reversed(body.replace(b"\r\n", b"\n").split(b"\n\n")):
        lines = [line.removeprefix(b"data:").strip() for line in event.split(b"\n") if line.startswith(b"data:")]
        if lines:
            message = msgspec.json.decode(b"\n".join(lines), type=dict[str, Any])
            if "result" in message or "error" in message:
                return message
    raise ValueError(f"no JSON-RPC answer in an event stream of {len(body)} bytes that starts {body[:80]!r}")


def _head(verb: str, endpoint: Endpoint, headers: Mapping[str, str]) -> bytes:
    every = [*headers.items(), *endpoint.headers]
    lines = [f"{verb} {endpoint.path} HTTP/1.1", *(f"{name}: {value}" for name, value in every), "", ""]
    return "\r\n".join(lines).encode()
