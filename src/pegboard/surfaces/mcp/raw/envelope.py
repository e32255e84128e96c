"""How a call ended, as the text of a JSON-RPC answer for the client's era; a tool's own result passes as it came."""

import json
from typing import Final

from pegboard.core.call import NeedsInput, ProtocolErrorReply, ResultFacts, ToolFailure, ToolSuccess
from pegboard.core.nesting import is_deeper_than
from pegboard.core.tool import JsonObject
from pegboard.surfaces.mcp.answer import CallOutcome, result_of, with_envelope
from pegboard.surfaces.mcp.errors import ProtocolError
from pegboard.surfaces.mcp.protocol import ERROR_CODE_HTTP_STATUS, SERVER_INFO_META_KEY
from pegboard.surfaces.mcp.wire import MAX_DEPTH

from .messages import (
    ABSENT,
    UNREADABLE,
    encode,
    encode_error,
    encode_error_body,
    encode_result,
    read_error,
    read_members,
    read_result,
)

_TRAILING_RESULT_TYPE: Final = b',"resultType":"complete"}'
_WITH_BODY: Final = (ToolSuccess, ToolFailure, NeedsInput)
SERVER_INFO_KEY: Final = encode(SERVER_INFO_META_KEY)
OFF_LOOP_BYTES: Final = 262_144
"""Bytes of a result from which on its answer is written beside the event loop."""


class ResultEncoder:
    """`stamp` says who answers where a server does not say so itself."""

    def __init__(self, stamp: JsonObject) -> None:
        self._server_info = stamp
        self._meta = encode({SERVER_INFO_META_KEY: stamp})
        self._complete_head = b'{"resultType":"complete","_meta":%b' % self._meta
        self._meta_head = b'{"_meta":%b' % self._meta
        self.list_tail = b',"ttlMs":0,"cacheScope":"private","resultType":"complete","_meta":%b' % self._meta

    def encode_response(self, id: bytes, name: str, ended: CallOutcome, *, modern: bool) -> tuple[int, bytes]:
        """The HTTP status, and the message."""
        if isinstance(ended, _WITH_BODY):
            seen = None if isinstance(ended, NeedsInput) else ended.facts
            passed = (
                self._passthrough(ended.body, modern=modern)
                if seen is None
                else self._with_meta(ended.body, seen, modern)
            )
            if passed is not None:
                return 200, encode_result(id, passed)
        elif isinstance(ended, ProtocolErrorReply):
            return _http_status(read_error(ended.error).code, modern=modern), encode_error_body(id, ended.error)
        try:
            result = result_of(name, ended)
        except ProtocolError as refused:
            return _http_status(refused.code, modern=modern), encode_error(
                id, refused.code, refused.message, refused.data
            )
        envelope: JsonObject = {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: self._server_info}}
        return 200, encode_result(id, _encode_lenient(with_envelope(result, envelope if modern else {})))

    def _passthrough(self, body: bytes, *, modern: bool) -> bytes | None:
        """The result with no more changed than the era asks for; `None` when not every client could read it."""
        try:
            result = read_result(body)
            if not body.isascii():
                body.decode()
        except UNREADABLE:
            return None
        if is_deeper_than(MAX_DEPTH, body):
            return None
        meta = None if result.meta is ABSENT else bytes(result.meta)
        return self._with_meta(body, ResultFacts(result.kind is not None, meta), modern)

    def _with_meta(self, body: bytes, seen: ResultFacts, modern: bool) -> bytes:
        if not modern:
            return _without_result_type(body) if seen.has_kind else body
        if seen.meta is None:
            if body[:1] == b"{":
                rest = body[1:].lstrip()
                head = self._meta_head if seen.has_kind else self._complete_head
                return b"%b%b%b" % (head, b"" if rest[:1] == b"}" else b",", rest)
        elif seen.has_kind and SERVER_INFO_KEY in seen.meta:
            return body
        return self._with_missing_members(body)

    def _with_missing_members(self, body: bytes) -> bytes:
        members: dict[str, object] = dict(read_members(body))
        members.setdefault("resultType", "complete")
        try:
            own = read_members(members["_meta"]) if "_meta" in members else {}  # type: ignore[arg-type]  # Raw is bytes to it
        except UNREADABLE:
            own = {}
        members["_meta"] = {SERVER_INFO_META_KEY: self._server_info, **own}
        return encode(members)


def is_large(ended: CallOutcome) -> bool:
    return isinstance(ended, ToolSuccess | ToolFailure) and len(ended.body) > OFF_LOOP_BYTES


def _http_status(code: int, *, modern: bool) -> int:
    return ERROR_CODE_HTTP_STATUS.get(code, 200) if modern else 200


def _without_result_type(body: bytes) -> bytes:
    # Where most servers write it, it is cut off without reading the rest.
    if body.endswith(_TRAILING_RESULT_TYPE):
        return body[: -len(_TRAILING_RESULT_TYPE)] + b"}"
    members = read_members(body)
    del members["resultType"]
    return encode(members)


def _encode_lenient(result: JsonObject) -> bytes:
    try:
        return encode(result)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(result, separators=(",", ":")).encode()
