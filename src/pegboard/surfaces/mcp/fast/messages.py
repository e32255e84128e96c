"""JSON-RPC messages of the fast path; results of tools pass through unchanged."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from pegboard.core.calls.call import NeedsInput, ProtocolErrorReply, ResultFacts, ToolFailure, ToolSuccess
from pegboard.core.json.values import MAX_READABLE_DEPTH, Json, JsonObject, is_deeper_than
from pegboard.surfaces.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    ERROR_CODE_HTTP_STATUS,
    INTERNAL_ERROR,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    ProtocolError,
)
from pegboard.surfaces.mcp.results import CallOutcome, result_of, with_envelope
from pegboard.surfaces.mcp.session_state import NO_LOGS, client_text, requested_log_level

# What a request says, read no further than it must be: members that only pass through stay text.
#
# Everything here is strict. What it cannot read takes the long road, whose answer says what is wrong.

ABSENT: Final = msgspec.Raw(b"")
EMPTY_OBJECT: Final = msgspec.Raw(b"{}")
NO_EXTRA_MEMBERS: Final[Mapping[str, bytes]] = {}
UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

encode: Final = msgspec.json.encode


class JsonRpcMessage(msgspec.Struct):
    """A request, a notification, or the answer to a question of ours."""

    jsonrpc: str
    method: str = ""
    id: msgspec.Raw = ABSENT
    params: msgspec.Raw = EMPTY_OBJECT
    result: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class CallParams(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: msgspec.Raw = EMPTY_OBJECT
    meta: msgspec.Raw = msgspec.field(default=ABSENT, name="_meta")


class CallRequest(msgspec.Struct):
    """A call that says nothing unusual, read in one go."""

    jsonrpc: str
    method: str
    id: msgspec.Raw
    params: CallParams


class ListParams(msgspec.Struct):
    cursor: str | None = None
    meta: msgspec.Raw = msgspec.field(default=ABSENT, name="_meta")


class RequestMeta(msgspec.Struct):
    """The part of `_meta` that is read here."""

    version: str | None = msgspec.field(default=None, name=PROTOCOL_VERSION_META_KEY)
    capabilities: dict[str, Any] | None = msgspec.field(default=None, name=CLIENT_CAPABILITIES_META_KEY)
    client: dict[str, Any] | None = msgspec.field(default=None, name=CLIENT_INFO_META_KEY)
    log_level: str | None = msgspec.field(default=None, name="io.modelcontextprotocol/logLevel")
    token: str | int | None = msgspec.field(default=None, name="progressToken")


class JsonRpcErrorBody(msgspec.Struct):
    code: int = INTERNAL_ERROR
    message: str = ""


class ResultHead(msgspec.Struct):
    """What the envelope of an answer depends on; the rest is only passed over, and so known to be JSON."""

    kind: str | None = msgspec.field(default=None, name="resultType")
    meta: msgspec.Raw = msgspec.field(default=ABSENT, name="_meta")


read_message: Final = msgspec.json.Decoder(JsonRpcMessage).decode
read_request: Final = msgspec.json.Decoder(CallRequest).decode
read_call: Final = msgspec.json.Decoder(CallParams).decode
read_list: Final = msgspec.json.Decoder(ListParams).decode
read_meta: Final = msgspec.json.Decoder(RequestMeta).decode
read_error: Final = msgspec.json.Decoder(JsonRpcErrorBody).decode
read_result: Final = msgspec.json.Decoder(ResultHead).decode
read_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
read_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
read_text: Final = msgspec.json.Decoder(str).decode
read_any: Final = msgspec.json.Decoder().decode


def call_params(text: msgspec.Raw) -> tuple[CallParams, Mapping[str, bytes]]:
    """And members that this version does not know, which travel on. Raises what is in `UNREADABLE`."""
    try:
        return read_call(text), NO_EXTRA_MEMBERS
    except UNREADABLE:
        members = read_members(text)
        params = CallParams(
            read_text(members.pop("name", ABSENT)),
            members.pop("arguments", EMPTY_OBJECT),
            members.pop("_meta", ABSENT),
        )
        return params, {key: normalize_json(value) for key, value in members.items()}


def encode_request_id(raw: bytes) -> bytes | None:
    """A request's id as it is written back, or `None` for what is no id of a request."""
    first = raw[:1]
    if first == b'"':
        return encode(read_text(raw))
    return raw if raw.isdigit() or (first == b"-" and raw[1:].isdigit()) else None


def normalize_json(raw: bytes) -> bytes:
    """The same value as text that may stand in a line or an event: read once, whatever a client wrote."""
    return encode(read_any(raw))


def encode_result(id: bytes, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, result)


def encode_error(id: bytes, code: int, message: str, data: Json = None) -> bytes:
    told: JsonObject = {"code": code, "message": message}
    if data is not None:
        told["data"] = data
    return encode_error_body(id, encode(told))


def encode_error_body(id: bytes, told: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id, told)


def encode_notification(method: str, params: JsonObject) -> bytes:
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), encode(params))


def encode_request(id: str, method: str, params: JsonObject) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (encode(id), encode(method), encode(params))


# The `_meta` of requests: checked and made sound once, because a client sends the same one with every request.

MAX_CACHED: Final = 1024
MAX_CACHED_BYTES: Final = 2048
MAX_META_BYTES: Final = 262_144
"""Bytes. It is about the request, and is read on the event loop; what is large belongs into the arguments."""
EMPTY_META: Final = RequestMeta()


@dataclass(frozen=True, slots=True)
class ParsedMeta:
    meta: RequestMeta
    text: bytes
    """As it is passed on; empty where there was none."""
    client_name: str = ""
    log_level: str = NO_LOGS
    """From which level on a client of the 2026-07-28 era wants log messages."""
    extra_members: Mapping[str, bytes] = field(init=False)
    """The same as what a request says beside name and arguments, if that is all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "extra_members", {"_meta": self.text})


NO_META: Final = ParsedMeta(EMPTY_META, b"")


class MetaTooLargeError(Exception):
    """No request is served that says more about itself."""


class MetaCache:
    def __init__(self) -> None:
        self._cache: dict[bytes, ParsedMeta] = {}

    def parse(self, raw: bytes) -> ParsedMeta | None:
        """`None` for what the long road must look at. Raises `MetaTooLargeError`."""
        if raw is ABSENT or not raw:
            return NO_META
        text = bytes(raw)
        known = self._cache.get(text)
        return self._parse_new(text) if known is None else known

    def _parse_new(self, text: bytes) -> ParsedMeta | None:
        if len(text) > MAX_META_BYTES:
            raise MetaTooLargeError
        try:
            meta = read_meta(text)
            told = meta.client or {}
            known = ParsedMeta(
                meta,
                normalize_json(text),
                client_text(told.get("name", ""), told.get("version", "")) if told else "",
                requested_log_level(meta.log_level) or NO_LOGS,
            )
        except UNREADABLE:
            return None
        # A token is of one request, and would only push the others out.
        if known.meta.token is None and len(text) <= MAX_CACHED_BYTES and text != bytes(EMPTY_OBJECT):
            if len(self._cache) >= MAX_CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[text] = known
        return known


def is_too_large(body: bytes) -> bool:
    """Whether a request says more about itself than is served, on whichever road."""
    if len(body) <= MAX_META_BYTES:
        return False
    try:
        return len(bytes(read_list(read_message(body).params).meta)) > MAX_META_BYTES
    except UNREADABLE:
        return False


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
        if is_deeper_than(MAX_READABLE_DEPTH, body):
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
