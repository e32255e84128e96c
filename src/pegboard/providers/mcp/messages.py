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

from pegboard.core.nesting import deeper_than, more_values_than
from pegboard.memory import undisturbed

from .trouble import NONSENSE

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of the longest message we take from a server, over whichever transport."""

LARGE: Final = 1024 * 1024
"""Bytes of the longest message we take that is no answer."""

SMALL: Final = 65_536
"""Bytes of the longest message that is read on the event loop."""

MOST_VALUES: Final = 500_000
"""In one message, each list and object counted as well: nobody gets on while they are built, for some 100 ms at most. A
list of 10,000 tools of fifty values each has so many."""

TOO_MANY: Final = f"the answer holds more than {MOST_VALUES:,} values, counting each list and object"

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


class _Outside(msgspec.Struct):
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    id: msgspec.Raw = msgspec.Raw(b"null")


_read_outside: Final = msgspec.json.Decoder(_Outside).decode
_UNREAD: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Ends(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


BOTH: Final = "the answer has both a result and an error"


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

    Nobody asked for a request or a notification: a large one is let go unread, and the log tells of the first. So is a
    large answer that nobody `awaits`. Log messages are not even looked at while nobody `hears` them: some servers write
    little else.
    """

    def __init__(
        self, whose: str, hears: Callable[[], bool], awaits: Callable[[int | str], bool] = lambda _: True
    ) -> None:
        self._whose = whose
        self._hears = hears
        self._awaits = awaits
        self.dropped = 0
        self.unasked = 0

    async def message(self, line: Line) -> SessionMessage | None:
        if isinstance(line, TooLong):
            if _METHOD.match(line.head):
                self._drop()
                return None
            return message_of(line)
        if len(line) <= LARGE and is_log(line) and not self._hears():
            return None
        if len(line) <= SMALL:
            return message_of(line)
        id: int | str | None = None
        if not (is_request := begins_with_method(line)) and (id := id_in(line)) is None:
            is_request, id = await _beside(outside, line)
        if is_request and len(line) > LARGE:
            self._drop()
            return None
        if not is_request and id is not None and not self._awaits(id):
            self._pass_over()
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

    def _pass_over(self) -> None:
        self.unasked += 1
        if self.unasked == 1:
            log.warning(
                "%s sent an answer longer than %d KiB that nobody waits for. It was dropped unread, and so is every "
                "further one.",
                self._whose,
                SMALL // 1024,
            )


def is_log(line: bytes) -> bool:
    """Whether this is a log message by its first members."""
    head = line[:_HEAD]
    return _LOG_METHOD in head and _METHOD.match(head) is not None


async def _beside(read: Callable[[bytes], T], line: bytes) -> T:
    return await anyio.to_thread.run_sync(read, line, abandon_on_cancel=True)


def outside(line: bytes) -> tuple[bool, int | str | None]:
    """Whether this is a request or a notification, and its id, wherever they stand among the members. Nothing else is
    built from the text, so this is cheap."""
    try:
        found = _read_outside(line)
        id = msgspec.json.decode(found.id) if len(bytes(found.id)) <= _HEAD else None
    except _UNREAD:
        return False, None
    known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
    return found.method is not msgspec.UNSET, known


def begins_with_method(line: bytes) -> bool:
    """Whether this is a request or a notification by its first members, and so no answer."""
    return _METHOD.match(line[:_HEAD]) is not None


def id_in(line: bytes) -> int | str | None:
    """The id of an answer by its first members, or None."""
    found = _ID.match(line[:_HEAD])
    return None if found is None or begins_with_method(line) else _id(found)


def asked_in(body: bytes) -> int | str | None:
    """The id of a request of our own, as it is sent."""
    found = _ID.match(body[:_HEAD])
    return None if found is None else _id(found)


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
    if _has_both(line):
        return _unusable(line, BOTH)
    if len(line) > SMALL:
        return _large(line)
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return _second_look(line)


def _large(line: bytes) -> SessionMessage | None:
    """With a reader that takes a sixth of the time: whichever thread it runs in, nobody else gets on meanwhile."""
    if more_values_than(MOST_VALUES, line):
        return _unusable(line, TOO_MANY)
    if deeper_than(DEEPEST, line):
        return _unusable(line, f"the answer is nested deeper than {DEEPEST} levels")
    with undisturbed():
        try:
            content: object = msgspec.json.decode(line)
        except _UNREAD:
            return _second_look(line)
        return _judged(content)


def mended(text: bytes) -> bytes | str:
    """What is no UTF-8 becomes the replacement character, as it does in every stream of events."""
    try:
        text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace")
    return text


def says(member: msgspec.Raw) -> bool:
    """Whether a member is there, and more than null."""
    return len(member) > 4 or (len(member) > 0 and bytes(member) != b"null")


def _has_both(line: bytes) -> bool:
    """Whether an answer says that it failed and that it did not. One that is null says nothing."""
    if b'"error"' not in line or b'"result"' not in line:
        return False
    try:
        found = msgspec.json.decode(line, type=_Ends)
    except _UNREAD:
        return False
    return says(found.result) and says(found.error)


def _second_look(line: bytes) -> SessionMessage | None:
    """Python's own reader takes text that strict ones refuse, such as half an emoji cut off by a careless server."""
    try:
        content = json.loads(mended(line))
    except (ValueError, RecursionError):
        return _unusable(line, "the answer is not JSON")
    if not isinstance(content, dict) or "method" in content:
        return None
    if _too_deep(content):
        return _unusable(line, f"the answer is nested deeper than {DEEPEST} levels")
    return _judged(content)


def _judged(content: object) -> SessionMessage | None:
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_python(content, by_name=False)
    except ValidationError:
        if not isinstance(content, dict) or "method" in content:
            return None
        id = content.get("id")
        if isinstance(id, bool) or not isinstance(id, int | str):
            return None
        return _failed(id, "the answer is not a JSON-RPC response")
    return SessionMessage(message)


def _unusable(line: bytes, why: str) -> SessionMessage | None:
    # The id of a server's own request is none of ours, even if they look alike.
    if begins_with_method(line):
        return None
    found = id_in(line)
    if found is None:
        is_request, found = outside(line)
        if is_request or found is None:
            return None
    return _failed(found, why)


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
