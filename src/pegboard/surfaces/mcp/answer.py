"""How a call ended, as the protocol's result: a tool's own answer unchanged, all else as text a model can act on."""

from collections.abc import Mapping
from typing import Final, TypeAlias, assert_never

from pegboard.core.call import (
    BadArguments,
    Cancelled,
    Demanded,
    NeedsInput,
    NotConfirmed,
    Outcome,
    ProviderFailed,
    Refusal,
    Returned,
    ToolFailed,
    ToolIsLocked,
    UnknownTool,
    refusal_text,
)
from pegboard.core.tool import Json, JsonObject

from .errors import ProtocolError
from .protocol import INTERNAL_ERROR, INVALID_PARAMS, SERVER_INFO_META_KEY
from .wire import Unreadable, result_object, sound_text

REQUEST_CANCELLED: Final = -32800
"""Not of the protocol, but what peers of the handshake era are told of a request that was given up."""

ERROR_META_KEY: Final = "pegboard/error"
"""Under which a result tells a client's program the protocol's error that the server answered a call with."""

Ended: TypeAlias = Outcome | Refusal


def result_of(name: str, ended: Ended) -> JsonObject:
    """Raises the protocol's error where the protocol asks for one; everything else is a result."""
    match ended:
        case Returned(body):
            return _passed_on(name, body, failed=False)
        case ToolFailed(body):
            return _passed_on(name, body, failed=True)
        case NeedsInput(body):
            return _passed_on(name, body, failed=False)
        case Demanded(error):
            raise _demand(name, error)
        case ProviderFailed(why, may_have_run, error):
            told = error_result(provider_text(name, why, may_have_run))
            own = None if error is None else result_object(error)
            return told if own is None or isinstance(own, Unreadable) else {**told, "_meta": {ERROR_META_KEY: own}}
        case ToolIsLocked() | BadArguments() | NotConfirmed():
            return error_result(refusal_text(ended))
        case UnknownTool():
            raise ProtocolError(INVALID_PARAMS, sound_text(refusal_text(ended)))
        case Cancelled():
            raise ProtocolError(REQUEST_CANCELLED, given_up(name))
        case _:
            assert_never(ended)


def given_up(name: str) -> str:
    return f"The call of {name!r} was given up before there was an answer."


def provider_text(name: str, why: str, may_have_run: bool) -> str:
    what = f"The call of {name!r} failed: {why.strip().rstrip('.')}."
    if may_have_run:
        return f"{what} It may have run all the same: check what it did before you call it again."
    return f"{what} It did not run, so you can call it again."


def error_result(text: str) -> JsonObject:
    return {"content": [{"type": "text", "text": sound_text(text)}], "isError": True}


def enveloped(result: JsonObject, envelope: Mapping[str, Json]) -> JsonObject:
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


def _demand(name: str, error: bytes) -> ProtocolError:
    told = result_object(error)
    if not isinstance(told, Unreadable):
        match told:
            case {"code": int(code), "message": str(message)}:
                return ProtocolError(code, message, told.get("data"))
    return ProtocolError(INTERNAL_ERROR, f"The call of {name!r} failed: its server asked for something unreadable.")


def _passed_on(name: str, body: bytes, *, failed: bool) -> JsonObject:
    result = result_object(body)
    if isinstance(result, Unreadable):
        return error_result(provider_text(name, f"its answer cannot be passed on: {result.why}", may_have_run=True))
    return {**result, "isError": True} if failed else result
