"""The little of JSON-RPC and MCP that the hand-written peers share; no SDK, so that a peer can break any rule it likes.

A program beside this one imports it by its bare name: it is run as `python tests/servers/NAME.py`.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
Answer = Callable[[Json], Json | None]
"""From the params of a request to its result; None leaves the request unanswered."""

HANDSHAKE_VERSION = "2025-11-25"
STATELESS_VERSION = "2026-07-28"
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NEVER_CACHED: Json = {"ttlMs": 0, "cacheScope": "private"}
_CACHEABLE = ("server/discover", "tools/list")


class Refused(Exception):  # noqa: N818 - a JSON-RPC error answer, not a fault of the peer
    """Raised by an answer to send a JSON-RPC error instead of a result."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def write_bytes(content: bytes) -> None:
    """All of it, past every buffer of Python, so that a peer that dies has sent exactly this."""
    while content:
        content = content[os.write(1, content) :]


def write(message: object) -> None:
    write_bytes(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def complain(line: str) -> None:
    os.write(2, f"{line}\n".encode())


def messages() -> Iterator[Json]:
    """Every message of the client until it closes our standard input."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if isinstance(message, dict):
            yield message


def tool(name: str, description: str = "", schema: object = None, **more: object) -> Json:
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}, **more}


def text(content: str) -> Json:
    return {"content": [{"type": "text", "text": content}], "isError": False}


def opening(name: str, *, stateless: bool = True) -> dict[str, Answer]:
    """What a client asks first, in both eras; a peer that is not stateless knows the handshake alone."""
    capabilities: Json = {"tools": {}}

    def initialize(params: Json) -> Json:
        offered = params.get("protocolVersion")
        return {
            "protocolVersion": offered
            if isinstance(offered, str) and offered <= HANDSHAKE_VERSION
            else HANDSHAKE_VERSION,
            "capabilities": capabilities,
            "serverInfo": {"name": name, "version": "1.0.0"},
        }

    answers: dict[str, Answer] = {"initialize": initialize, "ping": lambda params: {}}
    if stateless:
        answers["server/discover"] = lambda params: {
            "supportedVersions": [STATELESS_VERSION],
            "capabilities": capabilities,
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": name, "version": "1.0.0"}},
        }
    return answers


def lists(tools: Sequence[Json]) -> Answer:
    return lambda params: {"tools": list(tools)}


def calls(tools: Mapping[str, Callable[[Json], Json]]) -> Answer:
    """Answers `tools/call` by the function of that name, given the arguments."""

    def call(params: Json) -> Json:
        name = params.get("name")
        if not isinstance(name, str) or name not in tools:
            raise Refused(INVALID_PARAMS, f"Unknown tool: {name!r}. This server has {', '.join(sorted(tools))}.")
        return tools[name](params.get("arguments") or {})

    return call


def answer(request: Json, answers: Mapping[str, Answer]) -> Json | None:
    """The whole response to one message, or None when there is none to give."""
    method, params = request.get("method"), request.get("params") or {}
    if "id" not in request or not isinstance(method, str):
        return None
    envelope: Json = {"jsonrpc": "2.0", "id": request["id"]}
    if method not in answers:
        return envelope | {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}
    try:
        result = answers[method](params)
    except Refused as refused:
        return envelope | {"error": {"code": refused.code, "message": refused.message}}
    if result is None:
        return None
    if _VERSION_KEY in params.get("_meta", {}):
        result = result | {"resultType": "complete"} | (_NEVER_CACHED if method in _CACHEABLE else {})
    return envelope | {"result": result}


def serve(answers: Mapping[str, Answer]) -> None:
    """One request after the other until the client closes our standard input."""
    for request in messages():
        response = answer(request, answers)
        if response is not None:
            write(response)
