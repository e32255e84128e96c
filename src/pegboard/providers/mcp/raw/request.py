"""What is said to a server to call a tool, as bytes: all that stays the same from call to call is encoded once."""

from typing import Final

import msgspec
from mcp_types import CLIENT_CAPABILITIES_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.core.call import Call
from pegboard.providers.mcp.answers import encoded
from pegboard.providers.mcp.beside import META, askable, meta_of

from .tickets import Ticket

_START: Final = b'{"jsonrpc":"2.0","id":"'
_TAKEN: Final = frozenset({META, "name", "arguments"})
_CAPABILITIES: Final = msgspec.json.encode(CLIENT_CAPABILITIES_META_KEY) + b":"
_TOKEN: Final = b'"progressToken"'
_LONGEST_KEPT: Final = 2_048
_MOST_KEPT: Final = 512


class Requests:
    """The requests of one connection, in the era that both sides settled on."""

    def __init__(self, protocol_version: str) -> None:
        self._version = protocol_version
        self.modern = protocol_version in MODERN_PROTOCOL_VERSIONS
        self._tools: dict[str, bytes] = {}
        self._metas: dict[bytes, bytes] = {}
        self._endings: dict[bytes, bytes] = {}

    def body(self, name: str, call: Call, ticket: Ticket) -> list[bytes]:
        """One line of JSON, in pieces. Raises `Unsendable`."""
        middle = self._tools.get(name)
        if middle is None:
            told = msgspec.json.encode(name)
            middle = self._tools[name] = b'","method":"tools/call","params":{"name":' + told + b',"arguments":'
        arguments = encoded(call.arguments) if call.raw is None else one_line(call.raw)
        beside = call.beside
        said = beside.get(META, b"")
        if ticket.progress is None and len(beside) <= 1 and (ticket.peer is None or not ticket.peer.can):
            ending = self._endings.get(said)
            if ending is not None and (said or not beside):
                return [_START, ticket.id.encode(), middle, arguments, ending]
        pieces = [_START, ticket.id.encode(), middle, arguments]
        if (meta := self._meta(said, ticket)) is not None:
            pieces += (b',"_meta":', meta)
        for member, text in beside.items():
            # A server of the handshake era has no use for answers and states, and reads other members than we mean.
            if self.modern and member not in _TAKEN:
                pieces += (b",", msgspec.json.encode(member), b":", one_line(text))
        pieces.append(b"}}")
        return pieces

    def _meta(self, said: bytes, ticket: Ticket) -> bytes | None:
        """What the caller said, in this server's era, with a token of our own where progress is wanted."""
        kept = self._metas.get(said)
        if kept is None:
            meta = meta_of(said or None, self._version)
            meta.pop(CLIENT_CAPABILITIES_META_KEY, None)
            kept = b",".join(msgspec.json.encode(key) + b":" + msgspec.json.encode(meta[key]) for key in meta)
            # With a token in them the same words hardly come twice.
            if len(said) <= _LONGEST_KEPT and _TOKEN not in said:
                if len(self._metas) >= _MOST_KEPT:
                    self._metas.clear()
                    self._endings.clear()
                self._metas[said] = kept
                self._endings[said] = self._ending(kept)
        members = [kept] if kept else []
        if self.modern:
            can = None if ticket.peer is None else ticket.peer.can
            members.append(_CAPABILITIES + (msgspec.json.encode(askable(can)) if can else b"{}"))
        if ticket.progress is not None:
            members.append(_TOKEN + b':"' + ticket.id.encode() + b'"')
        return b"{" + b",".join(members) + b"}" if members else None

    def _ending(self, kept: bytes) -> bytes:
        """All that follows the arguments, for a caller that nobody asks or tells anything."""
        members = [*([kept] if kept else []), *([_CAPABILITIES + b"{}"] if self.modern else [])]
        return b',"_meta":{%b}}}' % b",".join(members) if members else b"}}"


def one_line(text: bytes) -> bytes:
    """JSON may be written over many lines, and over stdio a line is a message."""
    return msgspec.json.format(text, indent=-1) if b"\n" in text or b"\r" in text else text
