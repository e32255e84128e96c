"""What a server answers to `tools/call`, from its bytes to an outcome: looked at, not rebuilt."""

import json
from typing import Any, Final

import anyio.to_thread
import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import JSONRPCError, JSONRPCResponse

from pegboard.core.call import Outcome, Returned, Seen, ToolFailed
from pegboard.core.nesting import READABLE, deeper_than, more_values_than
from pegboard.memory import undisturbed
from pegboard.providers.mcp.answers import outcome
from pegboard.providers.mcp.messages import BOTH, DEEPEST, MOST_VALUES, TOO_MANY, mended, message_of, says
from pegboard.providers.mcp.trouble import NONSENSE

BESIDE: Final = 262_144
"""Bytes of an answer from which on it is read beside the event loop."""


class Message(msgspec.Struct):
    """The outside of a JSON-RPC message. What it carries stays as it was written."""

    id: int | str | None = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Block(msgspec.Struct, gc=False):
    type: str


_NOTHING: Final = msgspec.Raw(b"")
_COMPLETE: Final = msgspec.Raw(b'"complete"')


class _Result(msgspec.Struct):
    content: list[_Block]
    is_error: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"false"), name="isError")
    kind: msgspec.Raw = msgspec.field(default=_COMPLETE, name="resultType")
    meta: msgspec.Raw = msgspec.field(default=_NOTHING, name="_meta")


class _Error(msgspec.Struct):
    code: int
    message: str
    data: Any = None


read_message: Final = msgspec.json.Decoder(Message).decode
_read_result: Final = msgspec.json.Decoder(_Result).decode
_read_error: Final = msgspec.json.Decoder(_Error).decode
_TRUE: Final = msgspec.Raw(b"true")
_PLAIN: Final = Seen(False, None)
_OF_A_KIND: Final = Seen(True, None)
_FIRST: Final = b'{"jsonrpc":"2.0","id":"'
_BEGINS: Final = len(_FIRST)
_THEN: Final = b'","result":'
UNREAD: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a reader raises for what it cannot read."""


def message_in(body: bytes) -> Message | None:
    """None for what a strict reader refuses."""
    try:
        if not body.isascii():
            body.decode()
        return read_message(body)
    except UNREAD:
        return None


def result_in(body: bytes) -> tuple[str, bytes] | None:
    """The id and the result of a plain answer, as most servers write one: known by its bytes, and not read yet. Whether
    there is nothing else in it shows when the result is read, because then that is no JSON."""
    if not body.startswith(_FIRST) or not body.endswith(b"}"):
        return None
    end = body.find(b'"', _BEGINS)
    if not body.startswith(_THEN, end):
        return None
    return body[_BEGINS:end].decode("latin-1"), body[end + len(_THEN) : -1]


async def read(body: bytes, id: int | str, server: object) -> Outcome:
    """What this answer to the request of this id means. Raises `MCPError` for an error, and for nonsense."""
    if len(body) <= BESIDE:
        return read_now(body, id, server)
    return await anyio.to_thread.run_sync(_read_large, body, id, server, abandon_on_cancel=True)


def _read_large(body: bytes, id: int | str, server: object) -> Outcome:
    with undisturbed():
        return read_now(body, id, server)


def read_now(body: bytes, id: int | str, server: object) -> Outcome:
    found = result_in(body)
    if found is not None and found[0] == id and (told := returned(found[1])) is not None:
        return told
    message = message_in(body)
    return leniently(body, id, server) if message is None else meaning(message, body, id, server)


def returned(text: bytes) -> Returned | ToolFailed | None:
    """What a result says, if it is one, and complete."""
    try:
        if not text.isascii():
            text.decode()
        result = _read_result(text)
    except UNREAD:
        return None
    if result.kind != _COMPLETE:
        return None
    kind, meta = result.kind is not _COMPLETE, result.meta
    seen: Seen | None = (_OF_A_KIND if kind else _PLAIN) if meta is _NOTHING else Seen(kind, bytes(meta))
    if deeper_than(READABLE, text):
        if deeper_than(DEEPEST - 1, text):
            return None
        seen = None
    return (ToolFailed if result.is_error == _TRUE else Returned)(text, seen)


def meaning(message: Message, body: bytes, id: int | str, server: object) -> Outcome:
    if message.error and says(message.error):
        if says(message.result):
            raise MCPError(NONSENSE, BOTH)
        if more_values_than(MOST_VALUES, bytes(message.error)):
            raise MCPError(NONSENSE, TOO_MANY)
        try:
            told = _read_error(message.error)
        except UNREAD:
            return leniently(body, id, server)
        # A server that could not read the request does not know its id.
        if message.id != id and message.id is not None:
            raise MCPError(NONSENSE, "the answer is one to another request")
        raise MCPError(told.code, told.message, told.data)
    if message.id != id or message.method:
        return leniently(body, id, server)
    if deeper_than(DEEPEST, body):
        raise MCPError(NONSENSE, f"the answer is nested deeper than {DEEPEST} levels")
    return returned(bytes(message.result)) or leniently(body, id, server)


def leniently(body: bytes, id: int | str, server: object) -> Outcome:
    """The long way: for a result that asks back, and for what a strict reader refuses, such as half a character."""
    found = message_of(body)
    message = None if found is None else found.message
    if isinstance(message, JSONRPCError) and message.id in (id, None):
        raise MCPError(message.error.code, message.error.message, message.error.data)
    if isinstance(message, JSONRPCResponse) and message.id == id:
        return outcome(message.result, str(server))
    if isinstance(message, JSONRPCResponse | JSONRPCError):
        raise MCPError(NONSENSE, "the answer is one to another request")
    if more_values_than(MOST_VALUES, body):
        raise MCPError(NONSENSE, TOO_MANY)
    try:
        json.loads(mended(body))
    except (ValueError, RecursionError):
        raise MCPError(NONSENSE, "the answer is not JSON") from None
    raise MCPError(NONSENSE, "the answer is not a JSON-RPC response")
