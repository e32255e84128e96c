"""Messages for requests that the SDK rejects."""

import json
import re
from typing import TYPE_CHECKING, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from pegboard.core.model.text import truncate
from pegboard.surfaces.mcp.wire import sanitize_text

if TYPE_CHECKING:
    from starlette.types import Message, Send


_MAX_SHOWN_CHARS: Final = 100
_MAX_PROBLEMS: Final = 3
_MAX_REASON_CHARS: Final = 300
KNOWN_VERSIONS: Final = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
_EXPLAINED_STATUSES: Final = frozenset({400, 404})
_SDK_BAD_META: Final = "params._meta must be an object"
_SDK_BAD_MESSAGE: Final = "Validation error:"
_SDK_REPLACEMENTS: Final = {
    "Bad Request: Missing session ID": "The request names no session. Send initialize first, and the Mcp-Session-Id of "
    "its answer with every request after; or use protocol version 2026-07-28, which needs none.",
    "Session not found": "There is no such session: it has ended, or it is not yours. Send initialize again.",
}
_SDK_BAD_PARAMS: Final = "Invalid request parameters"
"""The SDK's words for a request before the handshake, as for one whose parameters are wrong."""


def explain_bad_params(method: str, error: ValidationError) -> MCPError:
    """Names each member that is missing or wrong. Never what it holds: that may be a secret."""
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    told = list(dict.fromkeys(_describe_member(each["loc"], each["type"], each["msg"]) for each in wrong))[
        :_MAX_PROBLEMS
    ]
    listed = "; ".join(told) or "they are not an object"
    return MCPError(INVALID_PARAMS, f"The params of {method} do not fit: {listed}. Correct the request.")


def explain_request_error(method: str, error: MCPError) -> MCPError:
    if error.code == METHOD_NOT_FOUND and error.data == method:
        shown = sanitize_text(truncate(method, _MAX_SHOWN_CHARS))
        told = f"There is no method {shown!r} in this version of the protocol. Use one that the capabilities name."
        return MCPError(METHOD_NOT_FOUND, told, sanitize_text(method))
    if error.code == INVALID_PARAMS and error.message == _SDK_BAD_PARAMS:
        return MCPError(INVALID_PARAMS, f"{method} comes before the handshake. Send initialize first.")
    return error


def explain_sdk_rejections(send: "Send", version: str | None) -> "Send":
    """The SDK's own refusals over HTTP, in words that help. Everything else passes as it is."""
    held: list[Message] = []

    async def send_explained(message: "Message") -> None:
        if message["type"] == "http.response.start" and message["status"] in _EXPLAINED_STATUSES:
            held.append(message)
            return
        if held:
            start = held.pop()
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                body = _explain_body(message.get("body", b""), version)
                headers = [pair for pair in start["headers"] if pair[0].lower() != b"content-length"]
                start = {**start, "headers": [*headers, (b"content-length", b"%d" % len(body))]}
                message = {**message, "body": body}
            await send(start)
        await send(message)

    return send_explained


def _explain_body(body: bytes, version: str | None) -> bytes:
    try:
        answer = json.loads(body)
        error = answer["error"]
        said = error["message"]
    except (ValueError, KeyError, TypeError):
        return body
    if not isinstance(said, str):
        return body
    if said.startswith(_SDK_BAD_META) and version not in KNOWN_VERSIONS:
        told = (
            f"Protocol version {(version or '')[:_MAX_SHOWN_CHARS]!r} is not known here. Use one of "
            f"{', '.join(KNOWN_VERSIONS)}."
        )
        data = {"supported": list(KNOWN_VERSIONS), "requested": version}
        answer["error"] = {"code": UNSUPPORTED_PROTOCOL_VERSION, "message": told, "data": data}
    elif said.startswith(_SDK_BAD_MESSAGE):
        error["message"] = "The body is no JSON-RPC 2.0 message: its params must be an object. Correct it."
    elif said in _SDK_REPLACEMENTS:
        error["message"] = _SDK_REPLACEMENTS[said]
    else:
        return body
    return json.dumps(answer, separators=(",", ":")).encode()


def _describe_member(place: tuple[int | str, ...], kind: str, why: str) -> str:
    # Where the message is read as a whole, `params` is what is spoken of anyway.
    steps = [step for step in place if step != "params"]
    name = sanitize_text(".".join(map(str, steps)))[:_MAX_SHOWN_CHARS] or "params"
    return f"{name!r} is missing" if kind == "missing" else f"{name!r}: {why[:1].lower()}{why[1:_MAX_REASON_CHARS]}"


# Answers of the handshake era as plain JSON, where the SDK would open a stream for a single message.

EVENT_PREFIX: Final = b"event: message\r\ndata: "
EVENT_END: Final = b"\r\n\r\n"
# A question to the client has an id as well; what comes after it tells the two apart.
RESPONSE_PATTERN: Final = re.compile(
    rb'\{"jsonrpc":"2\.0","id":(?:-?[0-9]+|null|"(?:[^"\\]|\\.)*"),"(?:result|error)":'
)
STREAM_HEADERS: Final = frozenset({b"content-type", b"cache-control", b"connection", b"x-accel-buffering"})


def json_instead_of_sse(send: "Send") -> "Send":
    """Holds the start of a stream back until its first event. If that is the answer already, it is sent as JSON.

    Clients bound the size of an event in a stream, and often to less than an answer may have. Anything that comes
    before the answer (a notification, a question, a sign of life) makes it the stream that it set out to be.
    """
    held: list[Message] = []
    done = False

    async def send_as_json(message: "Message") -> None:
        nonlocal done
        if done:
            return
        if message["type"] == "http.response.start":
            if _is_event_stream(message):
                held.append(message)
                return
        elif held:
            start = held.pop()
            answer = _response_in_event(message.get("body", b""))
            if answer is not None:
                done = True
                await send({**start, "headers": _json_headers(start, len(answer))})
                await send({"type": "http.response.body", "body": answer})
                return
            await send(start)
        await send(message)

    return send_as_json


def _is_event_stream(start: "Message") -> bool:
    return start["status"] == 200 and any(
        name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"]
    )


def _response_in_event(event: bytes) -> bytes | None:
    answer = event.removeprefix(EVENT_PREFIX).removesuffix(EVENT_END)
    whole = len(answer) == len(event) - len(EVENT_PREFIX) - len(EVENT_END) and b"\n" not in answer
    return answer if whole and RESPONSE_PATTERN.match(answer) else None


def _json_headers(start: "Message", length: int) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in start["headers"] if name not in STREAM_HEADERS]
    return [*kept, (b"content-type", b"application/json"), (b"content-length", b"%d" % length)]
