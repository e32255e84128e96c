"""From the bytes of a server to JSON-RPC messages: lines of bounded length, and what can be made of a bad one.

A request that can no longer be answered properly is answered here with an error, so that nobody waits for its deadline.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import anyio.to_thread
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from .trouble import NONSENSE

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of the longest message we take from a server, over whichever transport."""

LARGE: Final = 1024 * 1024
"""Bytes of the longest message we take that is no answer; a longer answer is read beside the event loop."""

DEEPEST: Final = 200
"""Levels of nesting that the readers at the other end of a gateway take."""

log: Final = logging.getLogger(__name__)

_LOG_METHOD: Final = b'"notifications/message"'
_HEAD: Final = 512
# Good enough for every serializer there is, because an answer's id comes before its result in all of them.
_ID: Final = re.compile(rb'^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(-?\d{1,15}|"[^"\\]{1,100}")\s*,')
# Only members of the message itself before it: a result may well have a "method" of its own.
_METHOD: Final = re.compile(
    rb'^\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:-?\d{1,15}|null|"[^"\\]{0,100}")\s*,)*\s*"method"\s*:'
)


class _Envelope(msgspec.Struct):
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was let go, by its first bytes."""

    head: bytes


Line: TypeAlias = bytes | TooLong
T = TypeVar("T")


class Lines:
    """Cuts a stream of bytes into lines. Whatever comes, it holds at most one line of the allowed length."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._dropped: bytes | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no line has begun."""
        return not self._parts and self._dropped is None

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
        before, self._size = self._size, self._size + len(part)
        if self._size > self._longest or (before <= LARGE < self._size and _METHOD.match(self._head())):
            self._dropped = self._head()
            self._parts.clear()

    def _head(self) -> bytes:
        return b"".join(self._parts)[:_HEAD]

    def _line(self) -> Line:
        line: Line = b"".join(self._parts) if self._dropped is None else TooLong(self._dropped)
        self._parts.clear()
        self._size, self._dropped = 0, None
        return line


class Reader:
    """Reads the lines of one server in their order, and keeps the event loop free while it reads a large one.

    Nobody asked for a request or a notification: a large one is let go unread, and the log tells of the first. Log
    messages are not even looked at while nobody `hears` them: some servers write little else.
    """

    def __init__(self, whose: str, hears: Callable[[], bool]) -> None:
        self._whose = whose
        self._hears = hears
        self.dropped = 0

    async def message(self, line: Line) -> SessionMessage | None:
        if isinstance(line, TooLong):
            if _METHOD.match(line.head):
                self._drop()
                return None
            return message_of(line)
        if len(line) <= LARGE:
            return None if _is_log(line[:_HEAD]) and not self._hears() else message_of(line)
        if begins_with_method(line) or await _beside(_has_method, line):
            self._drop()
            return None
        return await _beside(message_of, line)

    def _drop(self) -> None:
        self.dropped += 1
        if self.dropped == 1:
            log.warning(
                "%s sent a request or notification longer than %d MiB. It was dropped, and so is every further one.",
                self._whose,
                LARGE // 1024 // 1024,
            )


def _is_log(head: bytes) -> bool:
    return _LOG_METHOD in head and _METHOD.match(head) is not None


async def _beside(read: Callable[[bytes], T], line: bytes) -> T:
    return await anyio.to_thread.run_sync(read, line, abandon_on_cancel=True)


def _has_method(line: bytes) -> bool:
    """Wherever it stands among the members. Nothing else is built from the text, so this is cheap."""
    try:
        return msgspec.json.decode(line, type=_Envelope).method is not msgspec.UNSET
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False


def begins_with_method(line: bytes) -> bool:
    """Whether this is a request or a notification by its first members, and so no answer."""
    return _METHOD.match(line[:_HEAD]) is not None


def id_in(line: bytes) -> int | str | None:
    """The id of an answer by its first members, or None."""
    found = _ID.match(line[:_HEAD])
    return None if found is None or begins_with_method(line) else _id(found)


def _id(found: re.Match[bytes]) -> int | str:
    id: int | str = json.loads(found.group(1).decode("utf-8", "replace"))
    return id


def message_of(line: Line) -> SessionMessage | None:
    """The message on a line, or None for what is none."""
    if isinstance(line, TooLong):
        return _unusable(line.head, f"the answer is longer than {LONGEST // 1024 // 1024} MiB")
    line = line.strip()
    if not line.startswith(b"{"):
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
        return _unusable(line[:_HEAD], f"the answer is nested deeper than {DEEPEST} levels")
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
    # The id of a server's own request is none of ours, even if they look alike.
    if found is None or _METHOD.match(head):
        return None
    return _failed(_id(found), why)


def _failed(id: int | str, why: str) -> SessionMessage:
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=NONSENSE, message=why)))


def _too_deep(content: object) -> bool:
    level: list[object] = [content]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True
