"""What a request says, read no further than it must be: members that only pass through stay text.

Everything here is strict. What it cannot read takes the long road, whose answer says what is wrong.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pegboard.core.tool import Json, JsonObject
from pegboard.surfaces.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INTERNAL_ERROR,
    PROTOCOL_VERSION_META_KEY,
)

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
