"""From the bytes of a `tools/call` answer to an outcome, without rebuilding the result."""

import json
from typing import Any, Final, NamedTuple

import anyio.to_thread
import msgspec
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from pegboard.core.calls.call import Outcome, ResultFacts, ToolFailure, ToolSuccess
from pegboard.core.json.values import MAX_JSON_DEPTH, MAX_READABLE_DEPTH, has_more_values_than, is_deeper_than
from pegboard.memory import pause_garbage_collection
from pegboard.providers.mcp.errors import UNUSABLE_ANSWER
from pegboard.providers.mcp.messages import (
    LARGE_MESSAGE_BYTES,
    MAX_MESSAGE_VALUES,
    RESULT_AND_ERROR_MESSAGE,
    TOO_MANY_VALUES_MESSAGE,
    answer_id_in,
    is_present,
    parse_message,
    repair_utf8,
)
from pegboard.providers.mcp.results import outcome_of_result

OFF_LOOP_BYTES: Final = 262_144
"""Bytes of an answer from which on it is read beside the event loop."""


class ServerMessage(msgspec.Struct):
    """The outside of a JSON-RPC message. What it carries stays as it was written."""

    id: int | str | None = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class _ContentBlock(msgspec.Struct, gc=False):
    type: str


_NO_META: Final = msgspec.Raw(b"")
_COMPLETE: Final = msgspec.Raw(b'"complete"')


class _ToolResult(msgspec.Struct):
    content: list[_ContentBlock]
    is_error: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"false"), name="isError")
    kind: msgspec.Raw = msgspec.field(default=_COMPLETE, name="resultType")
    meta: msgspec.Raw = msgspec.field(default=_NO_META, name="_meta")


class _JsonRpcError(msgspec.Struct):
    code: int
    message: str
    data: Any = None


decode_message: Final = msgspec.json.Decoder(ServerMessage).decode
_decode_result: Final = msgspec.json.Decoder(_ToolResult).decode
_decode_error: Final = msgspec.json.Decoder(_JsonRpcError).decode
_TRUE: Final = msgspec.Raw(b"true")
_PLAIN_FACTS: Final = ResultFacts(False, None)
_TYPED_FACTS: Final = ResultFacts(True, None)
_ID_PREFIX: Final = b'{"jsonrpc":"2.0","id":"'
_ID_START: Final = len(_ID_PREFIX)
_RESULT_PREFIX: Final = b'","result":'
DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a reader raises for what it cannot read."""


def try_decode_message(body: bytes) -> ServerMessage | None:
    """None for what a strict reader refuses."""
    try:
        if not body.isascii():
            body.decode()
        return decode_message(body)
    except DECODE_ERRORS:
        return None


def split_plain_answer(body: bytes) -> tuple[str, bytes] | None:
    """The id and the result of a plain answer, as most servers write one: known by its bytes, and not read yet. Whether
    there is nothing else in it shows when the result is read, because then that is no JSON."""
    if not body.startswith(_ID_PREFIX) or not body.endswith(b"}"):
        return None
    end = body.find(b'"', _ID_START)
    if not body.startswith(_RESULT_PREFIX, end):
        return None
    return body[_ID_START:end].decode("latin-1"), body[end + len(_RESULT_PREFIX) : -1]


async def read_outcome(body: bytes, id: int | str, server: object) -> Outcome:
    """What this answer to the request of this id means. Raises `MCPError` for an error, and for nonsense."""
    if len(body) <= OFF_LOOP_BYTES:
        return read_outcome_now(body, id, server)
    return await anyio.to_thread.run_sync(_read_undisturbed, body, id, server, abandon_on_cancel=True)


def _read_undisturbed(body: bytes, id: int | str, server: object) -> Outcome:
    with pause_garbage_collection():
        return read_outcome_now(body, id, server)


def read_outcome_now(body: bytes, id: int | str, server: object) -> Outcome:
    found = split_plain_answer(body)
    if found is not None and found[0] == id and (told := parse_tool_result(found[1])) is not None:
        return told
    message = try_decode_message(body)
    return read_leniently(body, id, server) if message is None else outcome_of_message(message, body, id, server)


def parse_tool_result(text: bytes) -> ToolSuccess | ToolFailure | None:
    """What a result says, if it is one, and complete."""
    try:
        if not text.isascii():
            text.decode()
        result = _decode_result(text)
    except DECODE_ERRORS:
        return None
    if result.kind != _COMPLETE:
        return None
    kind, meta = result.kind is not _COMPLETE, result.meta
    seen: ResultFacts | None = (
        (_TYPED_FACTS if kind else _PLAIN_FACTS) if meta is _NO_META else ResultFacts(kind, bytes(meta))
    )
    if is_deeper_than(MAX_READABLE_DEPTH, text):
        if is_deeper_than(MAX_JSON_DEPTH - 1, text):
            return None
        seen = None
    return (ToolFailure if result.is_error == _TRUE else ToolSuccess)(text, seen)


def outcome_of_message(message: ServerMessage, body: bytes, id: int | str, server: object) -> Outcome:
    if message.error and is_present(message.error):
        if is_present(message.result):
            raise MCPError(UNUSABLE_ANSWER, RESULT_AND_ERROR_MESSAGE)
        if has_more_values_than(MAX_MESSAGE_VALUES, bytes(message.error)):
            raise MCPError(UNUSABLE_ANSWER, TOO_MANY_VALUES_MESSAGE)
        try:
            told = _decode_error(message.error)
        except DECODE_ERRORS:
            return read_leniently(body, id, server)
        # A server that could not read the request does not know its id.
        if message.id != id and message.id is not None:
            raise MCPError(UNUSABLE_ANSWER, "the answer is one to another request")
        raise MCPError(told.code, told.message, told.data)
    if message.id != id or message.method:
        return read_leniently(body, id, server)
    if is_deeper_than(MAX_JSON_DEPTH, body):
        raise MCPError(UNUSABLE_ANSWER, f"the answer is nested deeper than {MAX_JSON_DEPTH} levels")
    return parse_tool_result(bytes(message.result)) or read_leniently(body, id, server)


def read_leniently(body: bytes, id: int | str, server: object) -> Outcome:
    """The long way: for a result that asks back, and for what a strict reader refuses, such as half a character."""
    found = parse_message(body)
    message = None if found is None else found.message
    if isinstance(message, JSONRPCError) and message.id in (id, None):
        raise MCPError(message.error.code, message.error.message, message.error.data)
    if isinstance(message, JSONRPCResponse) and message.id == id:
        return outcome_of_result(message.result, str(server))
    if isinstance(message, JSONRPCResponse | JSONRPCError):
        raise MCPError(UNUSABLE_ANSWER, "the answer is one to another request")
    if has_more_values_than(MAX_MESSAGE_VALUES, body):
        raise MCPError(UNUSABLE_ANSWER, TOO_MANY_VALUES_MESSAGE)
    try:
        json.loads(repair_utf8(body))
    except (ValueError, RecursionError):
        raise MCPError(UNUSABLE_ANSWER, "the answer is not JSON") from None
    raise MCPError(UNUSABLE_ANSWER, "the answer is not a JSON-RPC response")


# Answers to calls on a stream that the SDK's session reads too: passed through it whole, as the bytes they came in.
#
# So they mean what they mean on every other transport, and nothing of them is written anew.

RAW_ANSWER_KEY: Final = "pegboard/whole"
"""Where the session finds an answer in place of a result."""

_MAX_OPEN_CALLS: Final = 8_192


class RawAnswer(NamedTuple):
    id: int | str
    body: bytes


class SharedStreamCalls:
    """Knows the calls of one stream by their ids."""

    def __init__(self) -> None:
        self._open_calls: dict[str, None] = {}
        """As texts: to some servers "7" and 7 are the same."""

    def register_call(self, request: JSONRPCRequest) -> None:
        """This is about to be sent."""
        if request.method == "tools/call":
            if len(self._open_calls) >= _MAX_OPEN_CALLS:
                del self._open_calls[next(iter(self._open_calls))]
            self._open_calls[str(request.id)] = None

    def wrap_answer(self, body: bytes) -> SessionMessage | None:
        """What the session is given for the result of a call; None for everything else, and for an error."""
        if not self._open_calls:
            return None
        # A large one is read beside the event loop by whoever waits for it.
        id = answer_id_in(body) if len(body) > LARGE_MESSAGE_BYTES else _id_of_result(body)
        if id is None or str(id) not in self._open_calls:
            return None
        del self._open_calls[str(id)]
        return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=id, result={RAW_ANSWER_KEY: RawAnswer(id, body)}))


def _id_of_result(body: bytes) -> int | str | None:
    message = try_decode_message(body)
    return None if message is None or message.method or not message.result or is_present(message.error) else message.id
