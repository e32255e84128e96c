"""Messages of a pipe: one JSON-RPC message a line. A line that is none is answered, not passed over in silence."""

from dataclasses import dataclass
from typing import Final

from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from pegboard.core.nesting import MOST_VALUES

from .excess import excess
from .wire import Unreadable, read, unpassable

LONGEST: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class BadLine:
    answer: JSONRPCError


class Lines:
    """Cuts what comes in pieces into lines. Of a line that is too long nothing is kept."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._held = bytearray()
        self._seen = 0
        self._skipping = False

    def feed(self, piece: bytes) -> list[bytes | BadLine]:
        found: list[bytes | BadLine] = []
        self._held += piece
        while (end := self._held.find(b"\n", self._seen)) >= 0:
            found.append(self._cut(bytes(self._held[:end])))
            del self._held[: end + 1]
            self._seen = 0
        self._seen = len(self._held)
        if self._seen > self._longest:
            self._skipping = True
            self._held.clear()
            self._seen = 0
        return found

    def rest(self) -> list[bytes | BadLine]:
        """What came after the last line end."""
        return [self._cut(bytes(self._held))] if self._held or self._skipping else []

    def _cut(self, line: bytes) -> bytes | BadLine:
        if self._skipping or len(line) > self._longest:
            self._skipping = False
            return _bad(INVALID_REQUEST, f"A message is longer than {self._longest} bytes. Send less at once.")
        return line


def message_of(line: bytes | BadLine) -> JSONRPCMessage | BadLine | None:
    """`None` for a blank line, which means nothing."""
    if isinstance(line, BadLine):
        return line
    if not line.strip():
        return None
    if (too_much := excess(line, MOST_VALUES)) is not None:
        return _bad(INVALID_PARAMS, too_much.why, too_much.id)
    value = read(line)
    if isinstance(value, Unreadable) and value.id is not None:
        return _bad(INVALID_PARAMS, unpassable(value), value.id)
    if isinstance(value, Unreadable):
        return _bad(PARSE_ERROR, f"A line cannot be read as JSON: {value.why}. Send one message a line.")
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        id = value.get("id") if isinstance(value, dict) else None
        known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
        return _bad(INVALID_REQUEST, "A line is not one JSON-RPC 2.0 message. Send one message a line.", known)


def _bad(code: int, message: str, id: RequestId | None = None) -> BadLine:
    return BadLine(JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message)))
