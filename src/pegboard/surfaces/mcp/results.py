"""Outcomes as results of the protocol: a tool's result unchanged, everything else as text for a model."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from pegboard.core.calls.call import (
    BadArguments,
    CallCancellation,
    ConfirmationRefusal,
    LockedToolRefusal,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    Refusal,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
    refusal_text,
)
from pegboard.core.json.values import Json, JsonObject
from pegboard.surfaces.mcp.protocol import INTERNAL_ERROR, INVALID_PARAMS, SERVER_INFO_META_KEY, ProtocolError
from pegboard.surfaces.mcp.wire import UnreadableJson, parse_result, sanitize_text

REQUEST_CANCELLED: Final = -32800
"""Not of the protocol, but what peers of the handshake era are told of a request that was given up."""

ERROR_META_KEY: Final = "pegboard/error"
"""Under which a result tells a client's program the protocol's error that the server answered a call with."""

CallOutcome: TypeAlias = Outcome | Refusal


def result_of(name: str, ended: CallOutcome) -> JsonObject:
    """Raises the protocol's error where the protocol asks for one; everything else is a result."""
    match ended:
        case ToolSuccess(body):
            return _passthrough_result(name, body, failed=False)
        case ToolFailure(body):
            return _passthrough_result(name, body, failed=True)
        case NeedsInput(body):
            return _passthrough_result(name, body, failed=False)
        case ProtocolErrorReply(error):
            raise _to_protocol_error(name, error)
        case ProviderFailure(why, may_have_run, error):
            told = error_result(provider_failure_message(name, why, may_have_run))
            own = None if error is None else parse_result(error)
            return told if own is None or isinstance(own, UnreadableJson) else {**told, "_meta": {ERROR_META_KEY: own}}
        case LockedToolRefusal() | BadArguments() | ConfirmationRefusal():
            return error_result(refusal_text(ended))
        case UnknownTool():
            raise ProtocolError(INVALID_PARAMS, sanitize_text(refusal_text(ended)))
        case CallCancellation():
            raise ProtocolError(REQUEST_CANCELLED, cancelled_message(name))
        case _:
            assert_never(ended)


def cancelled_message(name: str) -> str:
    return f"The call of {name!r} was given up before there was an answer."


def provider_failure_message(name: str, why: str, may_have_run: bool) -> str:
    what = f"The call of {name!r} failed: {why.strip().rstrip('.')}."
    if may_have_run:
        return f"{what} It may have run all the same: check what it did before you call it again."
    return f"{what} It did not run, so you can call it again."


def error_result(text: str) -> JsonObject:
    return {"content": [{"type": "text", "text": sanitize_text(text)}], "isError": True}


def with_envelope(result: JsonObject, envelope: Mapping[str, Json]) -> JsonObject:
    """The result under the SDK's envelope for the client's era: it says who answered, and of which kind it is.

    Everything else of the result stays as it came, members that no version of the protocol knows included.
    """
    kind = envelope.get("resultType")
    if kind is None:
        return {key: value for key, value in result.items() if key != "resultType"}
    answer = {**result, "resultType": result.get("resultType", kind)}
    stamp, own = envelope.get("_meta"), result.get("_meta")
    if isinstance(stamp, dict):
        server: JsonObject = {SERVER_INFO_META_KEY: stamp[SERVER_INFO_META_KEY]}
        answer["_meta"] = {**server, **own} if isinstance(own, dict) else server
    return answer


def _to_protocol_error(name: str, error: bytes) -> ProtocolError:
    told = parse_result(error)
    if not isinstance(told, UnreadableJson):
        match told:
            case {"code": int(code), "message": str(message)}:
                return ProtocolError(code, message, told.get("data"))
    return ProtocolError(INTERNAL_ERROR, f"The call of {name!r} failed: its server asked for something unreadable.")


def _passthrough_result(name: str, body: bytes, *, failed: bool) -> JsonObject:
    result = parse_result(body)
    if isinstance(result, UnreadableJson):
        return error_result(
            provider_failure_message(name, f"its answer cannot be passed on: {result.why}", may_have_run=True)
        )
    return {**result, "isError": True} if failed else result


# What a request is answered with, past the SDK's models: they would drop what they do not know.


@dataclass
class ActualResult:
    result: JsonObject | None = None


ACTUAL_RESULT: Final[ContextVar[ActualResult]] = ContextVar("answer")
"""Set around each request. Whoever serves it puts the real answer here, and gives the SDK an empty one to check."""


# One page of the tools that a client is shown, or why there is none.


@dataclass(frozen=True)
class ToolPage:
    tools: tuple[JsonObject, ...]
    next: str | None


@dataclass(frozen=True)
class BadCursor:
    why: str
