"""From the bytes of a server to JSON-RPC messages: lines of bounded length, and what can be made of a bad one.

A request that can no longer be answered properly is answered here with an error, so that nobody waits for its deadline.
"""

import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from secrets import token_hex
from typing import Final, TypeAlias, TypeVar

import anyio.to_thread
import httpx2
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from pegboard.core.json.values import MAX_JSON_DEPTH, has_more_values_than, is_deeper_than
from pegboard.memory import pause_garbage_collection
from pegboard.providers.mcp.errors import UNUSABLE_ANSWER
from pegboard.providers.mcp.rate import PROGRESS_BURST, PROGRESS_RATE_PER_S, MessageRateLimiter

MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the longest message we take from a server, over whichever transport."""

LARGE_MESSAGE_BYTES: Final = 1024 * 1024
"""Bytes of the longest message we take that is no answer."""

MAX_ON_LOOP_BYTES: Final = 65_536
"""Bytes of the longest message that is read on the event loop."""

MAX_MESSAGE_VALUES: Final = 500_000
"""In one message, each list and object counted as well: nobody gets on while they are built, for some 100 ms at most. A
list of 10,000 tools of fifty values each has so many."""

TOO_MANY_VALUES_MESSAGE: Final = (
    f"the answer holds more than {MAX_MESSAGE_VALUES:,} values, counting each list and object"
)


log: Final = logging.getLogger(__name__)

_LOG_METHOD: Final = b'"notifications/message"'
_HEAD_BYTES: Final = 512
# Good enough for every serializer there is, because an answer's id comes before its result in all of them.
_ID_PATTERN: Final = re.compile(
    rb'^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(-?\d{1,15}|"[^"\\]{1,100}")\s*,'
)
# Only members of the message itself before it: a result may well have a "method" of its own.
_METHOD_PATTERN: Final = re.compile(
    rb'^\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:-?\d{1,15}|null|"[^"\\]{0,100}")\s*,)*\s*"method"\s*:'
)


class _MethodAndId(msgspec.Struct):
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    id: msgspec.Raw = msgspec.Raw(b"null")


_decode_method_and_id: Final = msgspec.json.Decoder(_MethodAndId).decode
_DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _ResultAndError(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


RESULT_AND_ERROR_MESSAGE: Final = "the answer has both a result and an error"


@dataclass(frozen=True, slots=True)
class OversizedLine:
    """A line that was let go, by its first bytes."""

    head: bytes


Line: TypeAlias = bytes | OversizedLine
T = TypeVar("T")


class OutputLineSplitter:
    """Cuts a stream of bytes into lines. Whatever comes, it holds at most one line of the allowed length."""

    def __init__(self, longest: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._dropped_head: bytes | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no line has begun."""
        return not self._parts and self._dropped_head is None

    def feed(self, chunk: bytes) -> Iterator[Line]:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._append(end)
            yield self._take_line()
        self._append(rest)

    def _append(self, part: bytes) -> None:
        if self._dropped_head is not None or not part:
            return
        self._parts.append(part)
        before, self._size = self._size, self._size + len(part)
        if self._size > self._max_bytes or (
            before <= LARGE_MESSAGE_BYTES < self._size and _METHOD_PATTERN.match(self._head())
        ):
            self._dropped_head = self._head()
            self._parts.clear()

    def _head(self) -> bytes:
        return b"".join(self._parts)[:_HEAD_BYTES]

    def _take_line(self) -> Line:
        line: Line = b"".join(self._parts) if self._dropped_head is None else OversizedLine(self._dropped_head)
        self._parts.clear()
        self._size, self._dropped_head = 0, None
        return line


class McpMessageReader:
    """Reads the lines of one server in their order, and keeps the event loop free while it reads a large one.

    Nobody asked for a request or a notification: a large one is let go unread, and the log tells of the first. So is a
    large answer that nobody `awaits`. Log messages are not even looked at while nobody `hears` them: some servers write
    little else.
    """

    def __init__(
        self, whose: str, hears: Callable[[], bool], awaits: Callable[[int | str], bool] = lambda _: True
    ) -> None:
        self._server_name = whose
        self._has_listener = hears
        self._is_awaited = awaits
        self.dropped_count = 0
        self.unsolicited_count = 0

    async def read_message(self, line: Line) -> SessionMessage | None:
        if isinstance(line, OversizedLine):
            if _METHOD_PATTERN.match(line.head):
                self._drop_oversized()
                return None
            return parse_message(line)
        if len(line) <= LARGE_MESSAGE_BYTES and is_log_message(line) and not self._has_listener():
            return None
        if len(line) <= MAX_ON_LOOP_BYTES:
            return parse_message(line)
        id: int | str | None = None
        if not (is_request := begins_with_method(line)) and (id := answer_id_in(line)) is None:
            is_request, id = await _run_in_thread(method_and_id, line)
        if is_request and len(line) > LARGE_MESSAGE_BYTES:
            self._drop_oversized()
            return None
        if not is_request and id is not None and not self._is_awaited(id):
            self._drop_unsolicited()
            return None
        return await _run_in_thread(parse_message, line)

    def _drop_oversized(self) -> None:
        self.dropped_count += 1
        if self.dropped_count == 1:
            log.warning(
                "%s sent a request or notification longer than %d MiB. It was dropped, and so is every further one.",
                self._server_name,
                LARGE_MESSAGE_BYTES // 1024 // 1024,
            )

    def _drop_unsolicited(self) -> None:
        self.unsolicited_count += 1
        if self.unsolicited_count == 1:
            log.warning(
                "%s sent an answer longer than %d KiB that nobody waits for. It was dropped unread, and so is every "
                "further one.",
                self._server_name,
                MAX_ON_LOOP_BYTES // 1024,
            )


def is_log_message(line: bytes) -> bool:
    """Whether this is a log message by its first members."""
    head = line[:_HEAD_BYTES]
    return _LOG_METHOD in head and _METHOD_PATTERN.match(head) is not None


async def _run_in_thread(read: Callable[[bytes], T], line: bytes) -> T:
    return await anyio.to_thread.run_sync(read, line, abandon_on_cancel=True)


def method_and_id(line: bytes) -> tuple[bool, int | str | None]:
    """Whether this is a request or a notification, and its id, wherever they stand among the members. Nothing else is
    built from the text, so this is cheap."""
    try:
        found = _decode_method_and_id(line)
        id = msgspec.json.decode(found.id) if len(bytes(found.id)) <= _HEAD_BYTES else None
    except _DECODE_ERRORS:
        return False, None
    known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
    return found.method is not msgspec.UNSET, known


def begins_with_method(line: bytes) -> bool:
    """Whether this is a request or a notification by its first members, and so no answer."""
    return _METHOD_PATTERN.match(line[:_HEAD_BYTES]) is not None


def answer_id_in(line: bytes) -> int | str | None:
    """The id of an answer by its first members, or None."""
    found = _ID_PATTERN.match(line[:_HEAD_BYTES])
    return None if found is None or begins_with_method(line) else _parse_id(found)


def request_id_in(body: bytes) -> int | str | None:
    """The id of a request of our own, as it is sent."""
    found = _ID_PATTERN.match(body[:_HEAD_BYTES])
    return None if found is None else _parse_id(found)


def _parse_id(found: re.Match[bytes]) -> int | str:
    id: int | str = json.loads(found.group(1).decode("utf-8", "replace"))
    return id


def parse_message(line: Line) -> SessionMessage | None:
    """The message on a line, or None for what is none."""
    if isinstance(line, OversizedLine):
        return _error_for_unusable(line.head, f"the answer is longer than {MAX_MESSAGE_BYTES // 1024 // 1024} MiB")
    line = line.strip()
    if not line.startswith(b"{"):
        return None
    if _has_result_and_error(line):
        return _error_for_unusable(line, RESULT_AND_ERROR_MESSAGE)
    if len(line) > MAX_ON_LOOP_BYTES:
        return _parse_large(line)
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return _parse_leniently(line)


def _parse_large(line: bytes) -> SessionMessage | None:
    """With a reader that takes a sixth of the time: whichever thread it runs in, nobody else gets on meanwhile."""
    if has_more_values_than(MAX_MESSAGE_VALUES, line):
        return _error_for_unusable(line, TOO_MANY_VALUES_MESSAGE)
    if is_deeper_than(MAX_JSON_DEPTH, line):
        return _error_for_unusable(line, f"the answer is nested deeper than {MAX_JSON_DEPTH} levels")
    with pause_garbage_collection():
        try:
            content: object = msgspec.json.decode(line)
        except _DECODE_ERRORS:
            return _parse_leniently(line)
        return _validate(content)


def repair_utf8(text: bytes) -> bytes | str:
    """What is no UTF-8 becomes the replacement character, as it does in every stream of events."""
    try:
        text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace")
    return text


def is_present(member: msgspec.Raw) -> bool:
    """Whether a member is there, and more than null."""
    return len(member) > 4 or (len(member) > 0 and bytes(member) != b"null")


def _has_result_and_error(line: bytes) -> bool:
    """Whether an answer says that it failed and that it did not. One that is null says nothing."""
    if b'"error"' not in line or b'"result"' not in line:
        return False
    try:
        found = msgspec.json.decode(line, type=_ResultAndError)
    except _DECODE_ERRORS:
        return False
    return is_present(found.result) and is_present(found.error)


def _parse_leniently(line: bytes) -> SessionMessage | None:
    """Python's own reader takes text that strict ones refuse, such as half an emoji cut off by a careless server."""
    try:
        content = json.loads(repair_utf8(line))
    except (ValueError, RecursionError):
        return _error_for_unusable(line, "the answer is not JSON")
    if not isinstance(content, dict) or "method" in content:
        return None
    if _is_too_deep(content):
        return _error_for_unusable(line, f"the answer is nested deeper than {MAX_JSON_DEPTH} levels")
    return _validate(content)


def _validate(content: object) -> SessionMessage | None:
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_python(content, by_name=False)
    except ValidationError:
        if not isinstance(content, dict) or "method" in content:
            return None
        id = content.get("id")
        if isinstance(id, bool) or not isinstance(id, int | str):
            return None
        return _error_message(id, "the answer is not a JSON-RPC response")
    return SessionMessage(message)


def _error_for_unusable(line: bytes, why: str) -> SessionMessage | None:
    # The id of a server's own request is none of ours, even if they look alike.
    if begins_with_method(line):
        return None
    found = answer_id_in(line)
    if found is None:
        is_request, found = method_and_id(line)
        if is_request or found is None:
            return None
    return _error_message(found, why)


def _error_message(id: int | str, why: str) -> SessionMessage:
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=UNUSABLE_ANSWER, message=why)))


def _is_too_deep(content: object) -> bool:
    level: list[object] = [content]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


# What a server writes that nobody waits for, told from its outside: a flood of it is let go before it costs much.

_SIEVE_LOG_METHOD: Final = "notifications/message"
_PROGRESS_METHOD: Final = "notifications/progress"
_MAX_OPEN_REQUESTS: Final = 8_192


class _Envelope(msgspec.Struct):
    jsonrpc: str = ""
    id: int | str | None = None
    method: str = ""


_decode_envelope: Final = msgspec.json.Decoder(_Envelope).decode


def is_not_json(line: Line) -> bool:
    """Whether this cannot be a message, by its first character."""
    return isinstance(line, bytes) and line[:1] != b"{" and line.lstrip()[:1] != b"{"


class UnsolicitedFilter:
    """For one server's output, chunk by chunk, after its calls have taken what is theirs."""

    def __init__(self) -> None:
        self._open_requests: dict[str, None] = {}
        """The ids of what was asked beside the calls, as texts: to some servers "7" and 7 are the same."""
        self._progress_limiter = MessageRateLimiter(PROGRESS_BURST, PROGRESS_RATE_PER_S)
        self._seen_in_chunk: set[bytes] = set()

    def expect(self, id: int | str) -> None:
        """Somebody waits for an answer to this request, from before it is sent."""
        if len(self._open_requests) >= _MAX_OPEN_REQUESTS:
            del self._open_requests[next(iter(self._open_requests))]
        self._open_requests[str(id)] = None

    def take_expected(self, id: int | str) -> bool:
        """Whether somebody waits for a large answer to this request, of which there is one."""
        if str(id) not in self._open_requests:
            return False
        del self._open_requests[str(id)]
        return True

    def begin_chunk(self) -> None:
        """A new chunk: what it repeats of the last one may be news again."""
        self._seen_in_chunk.clear()

    def can_drop(self, line: Line) -> bool:
        """Whether nothing is lost without this line. What a strict reader refuses may be an answer, and is kept."""
        if not isinstance(line, bytes) or len(line) > LARGE_MESSAGE_BYTES:
            return False
        try:
            if not line.isascii():
                line.decode()
            outside = _decode_envelope(line)
        except _DECODE_ERRORS:
            return False
        if not outside.method:
            return str(outside.id) not in self._open_requests if outside.id is not None else outside.jsonrpc != "2.0"
        if outside.jsonrpc != "2.0":
            return True
        if outside.id is not None or outside.method == _SIEVE_LOG_METHOD:
            return False
        if outside.method == _PROGRESS_METHOD:
            return not self._progress_limiter.try_acquire()
        # The other notifications are bells: two of the same in one chunk ring once.
        if line in self._seen_in_chunk:
            return True
        self._seen_in_chunk.add(line)
        return False


# Large messages over HTTP: built here, beside the event loop and within bounds, and let past the SDK's own reader.
#
# That one holds everybody up, and builds whatever comes. In place of a large message it gets a small one of its
# kind,
# which is exchanged for the large one when it comes out on the other side.

_PLACEHOLDER_KEY: Final = "pegboard/large"
_MAX_HELD: Final = 64
_BLANK_LINE: Final = re.compile(rb"(?>\r\n|\n|\r){2}")
_OVERLAP_BYTES: Final = 3
"""Bytes that the end of one chunk and the beginning of the next may share a blank line over."""


class LargeMessageExchange:
    """Of one server. What it holds is on its way through the SDK."""

    def __init__(self, whose: str) -> None:
        self._filter = UnsolicitedFilter()
        self._event_reader = McpMessageReader(whose, lambda: True, self._filter.take_expected)
        self._body_reader = McpMessageReader(whose, lambda: True)
        self._messages: dict[str, JSONRPCMessage] = {}

    def register_request(self, body: bytes) -> None:
        """This is about to be sent, and if it is a request, somebody waits for the answer."""
        if (id := request_id_in(body)) is not None:
            self._filter.expect(id)

    async def replace_body(self, text: bytes) -> bytes | None:
        """What the SDK gets in place of the body of an answer; None for what is no message."""
        return await self._substitute(text, self._body_reader)

    async def replace_events(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The same stream, whole events at a time, with small events in place of large ones."""
        parts: list[bytes] = []
        size = 0
        async for chunk in chunks:
            tail = parts[-1][-_OVERLAP_BYTES:] if parts else b""
            if chunk.endswith((b"\n\n", b"\r\n\r\n")):
                end = len(chunk)
            else:
                end = max((found.end() for found in _BLANK_LINE.finditer(tail + chunk)), default=0) - len(tail)
            if end <= 0:
                parts.append(chunk)
                size += len(chunk)
                if size > MAX_MESSAGE_BYTES:
                    # The SDK has words for an event without end.
                    yield b"".join(parts)
                    parts, size = [], 0
                continue
            whole = b"".join((*parts, chunk[:end]))
            rest = chunk[end:]
            parts, size = ([rest], len(rest)) if rest else ([], 0)
            if len(whole) <= MAX_ON_LOOP_BYTES:
                yield whole
                continue
            begin = 0
            for found in _BLANK_LINE.finditer(whole):
                event, begin = whole[begin : found.end()], found.end()
                yield event if len(event) <= MAX_ON_LOOP_BYTES else await self._replace_event(event)
            if begin < len(whole):
                yield whole[begin:]
        if parts:
            yield b"".join(parts)

    def restore(self, arrived: SessionMessage) -> SessionMessage:
        """The large message in whose place this one came, or this one."""
        message = arrived.message
        if isinstance(message, JSONRPCError):
            return arrived
        told = message.params if isinstance(message, JSONRPCRequest | JSONRPCNotification) else message.result
        token = None if not told else told.get(_PLACEHOLDER_KEY)
        held = self._messages.pop(token, None) if isinstance(token, str) else None
        if held is None:
            return arrived
        if not isinstance(held, JSONRPCNotification) and not isinstance(message, JSONRPCNotification):
            held.id = message.id
        return SessionMessage(held, arrived.metadata)

    async def _replace_event(self, event: bytes) -> bytes:
        lines = event.splitlines()
        fields = [line.partition(b":") for line in lines if line]
        text = b"\n".join(value.removeprefix(b" ") for name, _, value in fields if name == b"data")
        kept = [line for line in lines if line and line.partition(b":")[0] != b"data"]
        small = text if len(text) <= MAX_ON_LOOP_BYTES else await self._substitute(text, self._event_reader)
        if small:
            kept += [b"data: " + line for line in small.split(b"\n")]
        return b"\n".join((*kept, b"", b""))

    async def _substitute(self, text: bytes, reader: McpMessageReader) -> bytes | None:
        read = await reader.read_message(text)
        if read is None:
            return None
        message = read.message
        if isinstance(message, JSONRPCError) and message.id is None:
            told_error = {"code": message.error.code, "message": message.error.message[:MAX_ON_LOOP_BYTES]}
            return json.dumps({"jsonrpc": "2.0", "id": None, "error": told_error}).encode()
        token = token_hex(16)
        if len(self._messages) >= _MAX_HELD:
            del self._messages[next(iter(self._messages))]
        self._messages[token] = message
        told: dict[str, object] = {"jsonrpc": "2.0"}
        if not isinstance(message, JSONRPCNotification):
            told["id"] = message.id
        if isinstance(message, JSONRPCRequest | JSONRPCNotification):
            told |= {"method": message.method, "params": {_PLACEHOLDER_KEY: token}}
        else:
            told["result"] = {_PLACEHOLDER_KEY: token}
        return json.dumps(told).encode()


def decompress_body(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it was before it was compressed for the way. From now on the response is of that."""
    packed = httpx2.Response(
        response.status_code,
        headers={"content-encoding": response.headers.pop("content-encoding", "identity")},
        stream=response.stream,
        request=response.request,
    )
    return packed.aiter_bytes()
