"""What of a call's end crosses into the program that made it: plain JSON, or an exception in words known elsewhere."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, assert_never, cast

import anyio
import anyio.to_thread
import msgspec

from pegboard.core.call import (
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
from pegboard.core.tool import Json, JsonObject
from pegboard.gateway.chat.results import describe_outcome
from pegboard.ports.sandbox import CallAnswer, CallFailure, is_small
from pegboard.prompts.stubs import UnreadableAnswer, program_answer

_ENCODER: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_DECODER: Final = json.JSONDecoder()
OFF_LOOP_BYTES: Final = 262_144
"""Bytes of an answer from which on it is read beside the event loop."""


async def to_program_value(
    ended: Outcome | Refusal, name: str, described: bool, beside: anyio.CapacityLimiter
) -> CallAnswer:
    """`name` is that of the function, `described` whether its stub tells what it gives back. A refusal has the words
    that it has for every other caller. `beside` bounds the threads that read what is large."""
    match ended:
        case ToolSuccess(body) if len(body) > OFF_LOOP_BYTES:
            return await anyio.to_thread.run_sync(
                _decode_value, body, name, described, abandon_on_cancel=True, limiter=beside
            )
        case ToolSuccess(body):
            return _decode_value(body, name, described)
        case ToolFailure():
            return CallFailure(
                "RuntimeError", describe_outcome(ended, name, None) or f"{name} failed, and does not say why."
            )
        case NeedsInput() | ProtocolErrorReply():
            return CallFailure(
                "RuntimeError",
                f"{name} asks something of the user before it goes on, and a program cannot answer that. It did not "
                "finish. Call it by itself, outside of a program.",
            )
        case ProviderFailure() | CallCancellation():
            return CallFailure("OSError", describe_outcome(ended, name, None))
        case UnknownTool():
            return CallFailure("LookupError", refusal_text(ended))
        case LockedToolRefusal() | ConfirmationRefusal():
            return CallFailure("PermissionError", refusal_text(ended))
        case BadArguments():
            return CallFailure("ValueError", refusal_text(ended))
        case _:
            assert_never(ended)


def _decode_value(body: bytes, name: str, described: bool) -> CallAnswer:
    try:
        result = json.loads(body)
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        return CallFailure("OSError", f"The answer of {name} cannot be read. It may have run.")
    value = program_answer(result, described=described)
    return CallFailure("OSError", f"{name}: {value.why}") if isinstance(value, UnreadableAnswer) else value


async def to_plain_json(
    arguments: Mapping[str, Json], beside: anyio.CapacityLimiter
) -> tuple[JsonObject, bytes] | CallFailure:
    """The arguments as JSON has them, and their text. What JSON cannot say is told to the program."""
    if is_small(arguments):
        return _to_plain_json(arguments)
    return await anyio.to_thread.run_sync(_to_plain_json, arguments, abandon_on_cancel=True, limiter=beside)


def _to_plain_json(arguments: Mapping[str, Json]) -> tuple[JsonObject, bytes] | CallFailure:
    sent = dict(arguments)
    with suppress(TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        # A tenth of the time, in which nobody else runs. It writes more than JSON has, and then reads something else.
        quick = msgspec.json.encode(sent)
        if (read := msgspec.json.decode(quick, type=dict[str, object])) == sent:
            return cast("JsonObject", read), quick
    try:
        text = _ENCODER.encode(sent)
        same = _DECODER.decode(text)
    except (TypeError, ValueError, RecursionError) as error:
        return CallFailure("TypeError", f"Only plain JSON can be an argument of a tool: {error}")
    assert isinstance(same, dict)
    return same, text.encode()
