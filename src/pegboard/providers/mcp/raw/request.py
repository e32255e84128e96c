"""What is said to a server to call a tool, as bytes: all that stays the same from call to call is encoded once."""

from typing import Final

import msgspec
from mcp_types import CLIENT_CAPABILITIES_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.core.call import ToolCall
from pegboard.providers.mcp.answers import encode_arguments
from pegboard.providers.mcp.beside import META_MEMBER, forwarded_capabilities, request_meta

from .tickets import PendingRequest

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
        """One line of JSON, in pieces. Raises `Unsendable`."""
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
