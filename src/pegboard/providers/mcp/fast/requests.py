"""Encoded heads of HTTP requests to one server."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

import httpx2
import msgspec
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER, encode_header_value
from mcp_types import CLIENT_CAPABILITIES_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard import __version__
from pegboard.core.calls.call import ToolCall
from pegboard.core.model.server import is_transport_header
from pegboard.providers.mcp.credentials import Authorization
from pegboard.providers.mcp.errors import NOT_SENT
from pegboard.providers.mcp.http_client import UNSENDABLE_CHARACTERS
from pegboard.providers.mcp.in_flight import PendingRequest
from pegboard.providers.mcp.results import META_MEMBER, encode_arguments, forwarded_capabilities, request_meta

# What is said to a server to call a tool, as bytes: all that stays the same from call to call is encoded once.

_ID_PREFIX: Final = b'{"jsonrpc":"2.0","id":"'
_OWN_MEMBERS: Final = frozenset({META_MEMBER, "name", "arguments"})
_CAPABILITIES_KEY: Final = msgspec.json.encode(CLIENT_CAPABILITIES_META_KEY) + b":"
_PROGRESS_TOKEN_KEY: Final = b'"progressToken"'
_MAX_CACHED_META_BYTES: Final = 2_048
_MAX_CACHED_METAS: Final = 512


class CallEncoder:
    """The requests of one connection, in the era that both sides settled on."""

    def __init__(self, protocol_version: str) -> None:
        self._version = protocol_version
        self.is_modern = protocol_version in MODERN_PROTOCOL_VERSIONS
        self._tools: dict[str, bytes] = {}
        self._metas: dict[bytes, bytes] = {}
        self._plain_endings: dict[bytes, bytes] = {}

    def encode_call(self, name: str, call: ToolCall, ticket: PendingRequest) -> list[bytes]:
        """One line of JSON, in pieces. Raises `UnsendableArgumentsError`."""
        middle = self._tools.get(name)
        if middle is None:
            told = msgspec.json.encode(name)
            middle = self._tools[name] = b'","method":"tools/call","params":{"name":' + told + b',"arguments":'
        arguments = encode_arguments(call.arguments) if call.raw is None else on_one_line(call.raw)
        beside = call.beside
        said = beside.get(META_MEMBER, b"")
        if ticket.progress is None and len(beside) <= 1 and (ticket.peer is None or not ticket.peer.capabilities):
            ending = self._plain_endings.get(said)
            if ending is not None and (said or not beside):
                return [_ID_PREFIX, ticket.id.encode(), middle, arguments, ending]
        pieces = [_ID_PREFIX, ticket.id.encode(), middle, arguments]
        if (meta := self._encode_meta(said, ticket)) is not None:
            pieces += (b',"_meta":', meta)
        for member, text in beside.items():
            # A server of the handshake era has no use for answers and states, and reads other members than we mean.
            if self.is_modern and member not in _OWN_MEMBERS:
                pieces += (b",", msgspec.json.encode(member), b":", on_one_line(text))
        pieces.append(b"}}")
        return pieces

    def _encode_meta(self, said: bytes, ticket: PendingRequest) -> bytes | None:
        """What the caller said, in this server's era, with a token of our own where progress is wanted."""
        kept = self._metas.get(said)
        if kept is None:
            meta = request_meta(said or None, self._version)
            meta.pop(CLIENT_CAPABILITIES_META_KEY, None)
            kept = b",".join(msgspec.json.encode(key) + b":" + msgspec.json.encode(meta[key]) for key in meta)
            # With a token in them the same words hardly come twice.
            if len(said) <= _MAX_CACHED_META_BYTES and _PROGRESS_TOKEN_KEY not in said:
                if len(self._metas) >= _MAX_CACHED_METAS:
                    self._metas.clear()
                    self._plain_endings.clear()
                self._metas[said] = kept
                self._plain_endings[said] = self._plain_ending(kept)
        members = [kept] if kept else []
        if self.is_modern:
            can = None if ticket.peer is None else ticket.peer.capabilities
            members.append(_CAPABILITIES_KEY + (msgspec.json.encode(forwarded_capabilities(can)) if can else b"{}"))
        if ticket.progress is not None:
            members.append(_PROGRESS_TOKEN_KEY + b':"' + ticket.id.encode() + b'"')
        return b"{" + b",".join(members) + b"}" if members else None

    def _plain_ending(self, kept: bytes) -> bytes:
        """All that follows the arguments, for a caller that nobody asks or tells anything."""
        members = [*([kept] if kept else []), *([_CAPABILITIES_KEY + b"{}"] if self.is_modern else [])]
        return b',"_meta":{%b}}}' % b",".join(members) if members else b"}}"


def on_one_line(text: bytes) -> bytes:
    """JSON may be written over many lines, and over stdio a line is a message."""
    return msgspec.json.format(text, indent=-1) if b"\n" in text or b"\r" in text else text


_MAX_CACHED_HEADS: Final = 20_000


class RequestHeadEncoder:
    def __init__(
        self,
        url: httpx2.URL,
        declared: Mapping[str, str],
        protocol_version: str,
        session: str | None,
        modern: bool,
        authorization: Authorization | None = None,
    ) -> None:
        self._path = url.raw_path
        self._is_modern = modern
        self._authorization = authorization
        self.authorization_headers: Mapping[str, str] = {}
        """What the credentials said for the last head. They win over the declared headers."""
        self._declared_headers = {
            "host": url.netloc.rpartition(b"@")[2].decode("ascii"),
            "user-agent": f"pegboard/{__version__}",
        }
        self._declared_headers |= {
            name.lower(): value for name, value in declared.items() if not is_transport_header(name)
        }
        if url.username or url.password:
            known = b64encode(f"{url.username}:{url.password}".encode()).decode("ascii")
            self._declared_headers["authorization"] = f"Basic {known}"
        self._fixed_headers = {
            "accept": "application/json, text/event-stream",
            # Decompressing costs the event loop more than the bytes cost the network.
            "accept-encoding": "identity",
            MCP_PROTOCOL_VERSION_HEADER: protocol_version,
        }
        if session is not None:
            self._fixed_headers["mcp-session-id"] = session
        self._cache: dict[str, bytes] = {}

    def call_head(self, tool: str, params: Mapping[str, str]) -> bytes:
        """For `tools/call`, up to the number of its bytes. `params` are arguments that the tool wants in headers."""
        self._refresh_authorization()
        head = self._cache.get(tool)
        if head is None:
            named = {MCP_METHOD_HEADER: "tools/call", MCP_NAME_HEADER: encode_header_value(tool)}
            if len(self._cache) >= _MAX_CACHED_HEADS:
                self._cache.clear()
            head = self._cache[tool] = self._post_head(named if self._is_modern else {})
        if params:
            # Before the last line, which waits for its number.
            lines = b"".join(b"%s: %s\r\n" % (name.encode(), value.encode()) for name, value in params.items())
            return head.removesuffix(_CONTENT_LENGTH) + lines + _CONTENT_LENGTH
        return head

    def message_head(self) -> bytes:
        """For an answer or a notification, up to the number of its bytes."""
        self._refresh_authorization()
        return self._post_head({})

    def resume_head(self, last: bytes) -> bytes:
        """For the rest of an event stream after this event, whole."""
        self._refresh_authorization()
        told = {"accept": "text/event-stream", "last-event-id": last.decode("latin-1")}
        return b"GET " + self._path + b" HTTP/1.1\r\n" + self._header_lines(told) + b"\r\n"

    def _refresh_authorization(self) -> None:
        if self._authorization is not None and (now := self._authorization.headers) is not self.authorization_headers:
            self.authorization_headers = now
            self._cache.clear()

    def _post_head(self, more: Mapping[str, str]) -> bytes:
        told = {"content-type": "application/json", **more}
        return b"POST " + self._path + b" HTTP/1.1\r\n" + self._header_lines(told) + _CONTENT_LENGTH

    def _header_lines(self, more: Mapping[str, str]) -> bytes:
        now = {name.lower(): value for name, value in self.authorization_headers.items()}
        every = {**self._declared_headers, **now, **self._fixed_headers, **more}
        for name, value in every.items():
            # Declared values were looked at when the connection was opened; renewed ones come from a server.
            if UNSENDABLE_CHARACTERS.search(value) or not value.isascii():
                raise MCPError(NOT_SENT, f"was not asked: the value of the header {name!r} cannot be sent")
        return "".join(f"{name}: {value}\r\n" for name, value in every.items()).encode("ascii")


_CONTENT_LENGTH: Final = b"content-length: "
