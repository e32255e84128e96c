"""From the bytes of a server to JSON-RPC messages: lines of bounded length, and what can be made of a bad one.

A request that can no longer be answered properly is answered here with an error, so that nobody waits for its deadline.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from .trouble import NONSENSE

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of the longest message we take from a server, over whichever transport."""

_DEEPEST: Final = 200
_LOG_METHOD: Final = b'"notifications/message"'
_HEAD: Final = 512
# Good enough for every serializer there is, because an answer's id comes before its result in all of them.
_ID: Final = re.compile(rb'^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(-?\d{1,15}|"[^"\\]{1,100}")\s*,')


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was let go, by its first bytes."""

    head: bytes


Line: TypeAlias = bytes | TooLong


class Lines:
    """Cuts a stream of bytes into lines. Whatever comes, it holds at most one line of the allowed length."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._dropped: bytes | None = None

    def feed(self, chunk: bytes) -> Iterator[Line]:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._keep(end)
            yield self._line()
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        if self._dropped is not None or not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._longest:
            self._dropped = b"".join(self._parts)[:_HEAD]
            self._parts.clear()

    def _line(self) -> Line:
        line: Line = b"".join(self._parts) if self._dropped is None else TooLong(self._dropped)
        self._parts.clear()
        self._size, self._dropped = 0, None
        return line


def message_of(line: Line) -> SessionMessage | None:
    """The message on a line, or None for what is none: noise, and log messages, which nobody here reads."""
    if isinstance(line, TooLong):
        return _unusable(line.head, f"the answer is longer than {LONGEST // 1024 // 1024} MiB")
    line = line.strip()
    if not line.startswith(b"{") or _LOG_METHOD in line[:_HEAD]:
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return _second_look(line)


def _second_look(line: bytes) -> SessionMessage | None:
    """Python's own reader takes text that strict ones refuse, such as half an emoji cut off by a careless server."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return _unusable(line[:_HEAD], "the answer is not JSON")
    if not isinstance(content, dict) or "method" in content:
        return None
    if _too_deep(content):
        return _unusable(line[:_HEAD], f"the answer is nested deeper than {_DEEPEST} levels")
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_python(content, by_name=False)
    except ValidationError:
        id = content.get("id")
        if isinstance(id, bool) or not isinstance(id, int | str):
            return None
        return _failed(id, "the answer is not a JSON-RPC response")
    return SessionMessage(message)


def _unusable(head: bytes, why: str) -> SessionMessage | None:
    found = _ID.match(head)
    if found is None:
        return None
    return _failed(json.loads(found.group(1).decode("utf-8", "replace")), why)


def _failed(id: int | str, why: str) -> SessionMessage:
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=NONSENSE, message=why)))


def _too_deep(content: object) -> bool:
    level: list[object] = [content]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True
