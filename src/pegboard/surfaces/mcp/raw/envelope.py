"""How a call ended, as the text of a JSON-RPC answer for the client's era; a tool's own result passes as it came."""

import json
from typing import Final

from pegboard.core.call import Demanded, NeedsInput, Returned, Seen, ToolFailed
from pegboard.core.nesting import deeper_than
from pegboard.core.tool import JsonObject
from pegboard.surfaces.mcp.answer import Ended, enveloped, result_of
from pegboard.surfaces.mcp.errors import ProtocolError
from pegboard.surfaces.mcp.protocol import ERROR_CODE_HTTP_STATUS, SERVER_INFO_META_KEY
from pegboard.surfaces.mcp.wire import DEEPEST

from .messages import NOTHING, UNREADABLE, answer, encode, error, error_text, read_fault, read_members, read_result

_KIND_LAST: Final = b',"resultType":"complete"}'
_WITH_BODY: Final = (Returned, ToolFailed, NeedsInput)
SERVER_INFO: Final = encode(SERVER_INFO_META_KEY)
BESIDE: Final = 262_144
"""Bytes of a result from which on its answer is written beside the event loop."""


class Envelope:
    """`stamp` says who answers where a server does not say so itself."""

    def __init__(self, stamp: JsonObject) -> None:
        self._stamp = stamp
        self._meta = encode({SERVER_INFO_META_KEY: stamp})
        self._head = b'{"resultType":"complete","_meta":%b' % self._meta
        self._stamped = b'{"_meta":%b' % self._meta
        self.list_tail = b',"ttlMs":0,"cacheScope":"private","resultType":"complete","_meta":%b' % self._meta

    def text(self, id: bytes, name: str, ended: Ended, *, modern: bool) -> tuple[int, bytes]:
        """The HTTP status, and the message."""
        if isinstance(ended, _WITH_BODY):
            seen = None if isinstance(ended, NeedsInput) else ended.seen
            passed = self._passed(ended.body, modern=modern) if seen is None else self._told(ended.body, seen, modern)
            if passed is not None:
                return 200, answer(id, passed)
        elif isinstance(ended, Demanded):
            return _status(read_fault(ended.error).code, modern=modern), error_text(id, ended.error)
        try:
            result = result_of(name, ended)
        except ProtocolError as refused:
            return _status(refused.code, modern=modern), error(id, refused.code, refused.message, refused.data)
        envelope: JsonObject = {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: self._stamp}}
        return 200, answer(id, _encoded(enveloped(result, envelope if modern else {})))

    def _passed(self, body: bytes, *, modern: bool) -> bytes | None:
        """The result with no more changed than the era asks for; `None` when not every client could read it."""
        try:
            result = read_result(body)
            if not body.isascii():
                body.decode()
        except UNREADABLE:
            return None
        if deeper_than(DEEPEST, body):
            return None
        meta = None if result.meta is NOTHING else bytes(result.meta)
        return self._told(body, Seen(result.kind is not None, meta), modern)

    def _told(self, body: bytes, seen: Seen, modern: bool) -> bytes:
        if not modern:
            return _without_kind(body) if seen.kind else body
        if seen.meta is None:
            if body[:1] == b"{":
                rest = body[1:].lstrip()
                head = self._stamped if seen.kind else self._head
                return b"%b%b%b" % (head, b"" if rest[:1] == b"}" else b",", rest)
        elif seen.kind and SERVER_INFO in seen.meta:
            return body
        return self._completed(body)

    def _completed(self, body: bytes) -> bytes:
        members: dict[str, object] = dict(read_members(body))
        members.setdefault("resultType", "complete")
        try:
            own = read_members(members["_meta"]) if "_meta" in members else {}  # type: ignore[arg-type]  # Raw is bytes to it
        except UNREADABLE:
            own = {}
        members["_meta"] = {SERVER_INFO_META_KEY: self._stamp, **own}
        return encode(members)


def is_large(ended: Ended) -> bool:
    return isinstance(ended, Returned | ToolFailed) and len(ended.body) > BESIDE


def _status(code: int, *, modern: bool) -> int:
    return ERROR_CODE_HTTP_STATUS.get(code, 200) if modern else 200


def _without_kind(body: bytes) -> bytes:
    # Where most servers write it, it is cut off without reading the rest.
    if body.endswith(_KIND_LAST):
        return body[: -len(_KIND_LAST)] + b"}"
    members = read_members(body)
    del members["resultType"]
    return encode(members)


def _encoded(result: JsonObject) -> bytes:
    try:
        return encode(result)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(result, separators=(",", ":")).encode()
