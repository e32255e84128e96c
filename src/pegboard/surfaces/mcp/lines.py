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

from pegboard.core.nesting import MAX_VALUES

from .excess import find_excess
from .wire import UnreadableJson, describe_unreadable, parse_strict_json

MAX_LINE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class BadLine:
    error: JSONRPCError


class LineSplitter:
    """Cuts what comes in pieces into lines. Of a line that is too long nothing is kept."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = longest
        self._buffer = bytearray()
        self._scan_offset = 0
        self._is_skipping = False

    def feed(self, piece: bytes) -> list[bytes | BadLine]:
        found: list[bytes | BadLine] = []
        self._buffer += piece
        while (end := self._buffer.find(b"\n", self._scan_offset)) >= 0:
            found.append(self._checked_line(bytes(self._buffer[:end])))
            del self._buffer[: end + 1]
            self._scan_offset = 0
        self._scan_offset = len(self._buffer)
        if self._scan_offset > self._max_bytes:
            self._is_skipping = True
            self._buffer.clear()
            self._scan_offset = 0
        return found

    def flush(self) -> list[bytes | BadLine]:
        """What came after the last line end."""
        return [self._checked_line(bytes(self._buffer))] if self._buffer or self._is_skipping else []

    def _checked_line(self, line: bytes) -> bytes | BadLine:
        if self._is_skipping or len(line) > self._max_bytes:
            self._is_skipping = False
            return _bad_line(INVALID_REQUEST, f"A message is longer than {self._max_bytes} bytes. Send less at once.")
        return line


def parse_line(line: bytes | BadLine) -> JSONRPCMessage | BadLine | None:
    """`None` for a blank line, which means nothing."""
    if isinstance(line, BadLine):
        return line
    if not line.strip():
        return None
    if (too_much := find_excess(line, MAX_VALUES)) is not None:
        return _bad_line(INVALID_PARAMS, too_much.why, too_much.id)
    value = parse_strict_json(line)
    if isinstance(value, UnreadableJson) and value.id is not None:
        return _bad_line(INVALID_PARAMS, describe_unreadable(value), value.id)
    if isinstance(value, UnreadableJson):
        return _bad_line(PARSE_ERROR, f"A line cannot be read as JSON: {value.why}. Send one message a line.")
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        id = value.get("id") if isinstance(value, dict) else None
        known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
        return _bad_line(INVALID_REQUEST, "A line is not one JSON-RPC 2.0 message. Send one message a line.", known)


def _bad_line(code: int, message: str, id: RequestId | None = None) -> BadLine:
    return BadLine(JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message)))
