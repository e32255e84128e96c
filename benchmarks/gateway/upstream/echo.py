"""What the server answers, as bytes. One message in, one answer out; transports live beside this module."""

from dataclasses import dataclass
from typing import Any

import msgspec

SESSION_VERSION = "2025-11-25"
STATELESS_VERSION = "2026-07-28"
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", SESSION_VERSION)

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNSUPPORTED_PROTOCOL_VERSION = -32022

IDENTITY = {"name": "benchmark-upstream", "version": "1"}
FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}


class Envelope(msgspec.Struct, frozen=True):
    """The part of a stateless request's `_meta` that says which protocol it speaks."""

    version: str = msgspec.field(default="", name="io.modelcontextprotocol/protocolVersion")


class Params(msgspec.Struct, frozen=True):
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    meta: Envelope = msgspec.field(default=Envelope(), name="_meta")
    version: str = msgspec.field(default="", name="protocolVersion")


class Message(msgspec.Struct, frozen=True):
    """A JSON-RPC request or notification; the id stays as it was written."""

    method: str
    id: msgspec.Raw = msgspec.Raw(b"")
    params: Params = Params()

    @property
    def is_notification(self) -> bool:
        return not bytes(self.id)


class EchoArguments(msgspec.Struct, frozen=True):
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a request. The code is the JSON-RPC error code, 0 when there is none."""

    body: bytes
    code: int = 0


decode_message = msgspec.json.Decoder(Message).decode
_decode_echo = msgspec.json.Decoder(EchoArguments).decode
_encode = msgspec.json.Encoder().encode


def tools_of(count: int) -> list[dict[str, Any]]:
    """`echo` first, then as many look-alikes of an ordinary tool as it takes to reach the count."""
    if count < 1:
        raise ValueError(f"a server with {count} tools cannot echo; give --tools 1 or more")
    return [_echo_tool(), *(_lookup_tool(number) for number in range(1, count))]


def last_tool_name(count: int) -> str:
    """The name of the last tool listed, which a complete list must hold."""
    return str(tools_of(count)[-1]["name"])


class EchoServer:
    """An MCP server with a fixed list of tools, encoded once."""

    def __init__(self, tools: int) -> None:
        listed = tools_of(tools)
        self._names = frozenset(tool["name"] for tool in listed)
        self._list = _encode({"tools": listed})
        self._fresh_list = _encode({"tools": listed, **FRESH})

    def answer(self, message: Message) -> Answer:
        """The answer to a request of either era; notifications have none and must not come here."""
        stateless = bool(message.params.meta.version)
        if stateless and message.params.meta.version != STATELESS_VERSION:
            return self._unsupported(message)
        match message.method:
            case "tools/call":
                return self._called(message, stateless)
            case "tools/list":
                return _result(message, self._fresh_list if stateless else self._list)
            case "server/discover" if stateless:
                return _result(message, _encode(_discovered()))
            case "initialize" if not stateless:
                return _result(message, _encode(_initialized(message.params.version)))
            case "ping" if not stateless:
                return _result(message, b"{}")
            case unknown:
                return _error(message, METHOD_NOT_FOUND, f"this server has no method {unknown!r}")

    def _called(self, message: Message, stateless: bool) -> Answer:
        name, arguments = message.params.name, bytes(message.params.arguments)
        if name not in self._names:
            return _error(message, INVALID_PARAMS, f"this server has no tool {name!r}; list its tools first")
        if name == "echo":
            try:
                text = _decode_echo(arguments).text
            except msgspec.DecodeError as problem:
                return _error(message, INVALID_PARAMS, f"arguments of 'echo': {problem}")
        else:
            text = arguments.decode()
        content = b'{"content":[{"type":"text","text":' + _encode(text) + b'}],"isError":false'
        return _result(message, content + (b',"resultType":"complete"}' if stateless else b"}"))

    def _unsupported(self, message: Message) -> Answer:
        wanted = message.params.meta.version
        detail = {"supported": [STATELESS_VERSION], "requested": wanted}
        return _error(message, UNSUPPORTED_PROTOCOL_VERSION, f"unsupported protocol version {wanted!r}", detail)


def unreadable(problem: msgspec.MsgspecError) -> Answer:
    """The answer to bytes that are no JSON-RPC message."""
    return _error(None, PARSE_ERROR, f"not a JSON-RPC message: {problem}")


def refusal(message: Message, code: int, reason: str) -> Answer:
    """An error answer that a transport gives before the server is asked."""
    return _error(message, code, reason)


def _result(message: Message, result: bytes) -> Answer:
    return Answer(b'{"jsonrpc":"2.0","id":' + bytes(message.id) + b',"result":' + result + b"}")


def _error(message: Message | None, code: int, reason: str, detail: dict[str, Any] | None = None) -> Answer:
    error: dict[str, Any] = {"code": code, "message": reason}
    if detail is not None:
        error["data"] = detail
    number = bytes(message.id) if message is not None and not message.is_notification else b"null"
    return Answer(b'{"jsonrpc":"2.0","id":' + number + b',"error":' + _encode(error) + b"}", code)


def _discovered() -> dict[str, Any]:
    return {
        "supportedVersions": [STATELESS_VERSION, SESSION_VERSION],
        "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": IDENTITY},
        **FRESH,
    }


def _initialized(wanted: str) -> dict[str, Any]:
    return {
        "protocolVersion": wanted if wanted in HANDSHAKE_VERSIONS else SESSION_VERSION,
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": IDENTITY,
    }


def _echo_tool() -> dict[str, Any]:
    return {
        "name": "echo",
        "description": "Gives the text back.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to give back"}},
            "required": ["text"],
        },
    }


def _lookup_tool(number: int) -> dict[str, Any]:
    description = (
        f"Looks up one record of register {number} by what it says, and gives the record back as JSON text. "
        "Use it when the question names a record."
    )
    return {
        "name": f"lookup_{number:05d}",
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What the record says"},
                "limit": {"type": "integer", "description": "How many at most", "minimum": 1, "maximum": 100},
                "fields": {"type": "array", "items": {"type": "string"}, "description": "Fields to give back"},
            },
            "required": ["query"],
        },
    }
