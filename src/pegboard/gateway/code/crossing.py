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
from pegboard.gateway.chat.results import told
from pegboard.ports.sandbox import Raised, Settled, is_small
from pegboard.prompts.stubs import Unreadable, answered

_WRITTEN: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_READ: Final = json.JSONDecoder()
LARGE: Final = 262_144
"""Bytes of an answer from which on it is read beside the event loop."""


async def crossed(ended: Outcome | Refusal, name: str, described: bool, beside: anyio.CapacityLimiter) -> Settled:
    """`name` is that of the function, `described` whether its stub tells what it gives back. A refusal has the words
    that it has for every other caller. `beside` bounds the threads that read what is large."""
    match ended:
        case Returned(body) if len(body) > LARGE:
            return await anyio.to_thread.run_sync(_value, body, name, described, abandon_on_cancel=True, limiter=beside)
        case Returned(body):
            return _value(body, name, described)
        case ToolFailed():
            return Raised("RuntimeError", told(ended, name, None) or f"{name} failed, and does not say why.")
        case NeedsInput() | Demanded():
            return Raised(
                "RuntimeError",
                f"{name} asks something of the user before it goes on, and a program cannot answer that. It did not "
                "finish. Call it by itself, outside of a program.",
            )
        case ProviderFailed() | Cancelled():
            return Raised("OSError", told(ended, name, None))
        case UnknownTool():
            return Raised("LookupError", refusal_text(ended))
        case ToolIsLocked() | NotConfirmed():
            return Raised("PermissionError", refusal_text(ended))
        case BadArguments():
            return Raised("ValueError", refusal_text(ended))
        case _:
            assert_never(ended)


def _value(body: bytes, name: str, described: bool) -> Settled:
    try:
        result = json.loads(body)
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        return Raised("OSError", f"The answer of {name} cannot be read. It may have run.")
    value = answered(result, described=described)
    return Raised("OSError", f"{name}: {value.why}") if isinstance(value, Unreadable) else value


async def plain(arguments: Mapping[str, Json], beside: anyio.CapacityLimiter) -> tuple[JsonObject, bytes] | Raised:
    """The arguments as JSON has them, and their text. What JSON cannot say is told to the program."""
    if is_small(arguments):
        return _plain(arguments)
    return await anyio.to_thread.run_sync(_plain, arguments, abandon_on_cancel=True, limiter=beside)


def _plain(arguments: Mapping[str, Json]) -> tuple[JsonObject, bytes] | Raised:
    sent = dict(arguments)
    with suppress(TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        # A tenth of the time, in which nobody else runs. It writes more than JSON has, and then reads something else.
        quick = msgspec.json.encode(sent)
        if (read := msgspec.json.decode(quick, type=dict[str, object])) == sent:
            return cast("JsonObject", read), quick
    try:
        text = _WRITTEN.encode(sent)
        same = _READ.decode(text)
    except (TypeError, ValueError, RecursionError) as error:
        return Raised("TypeError", f"Only plain JSON can be an argument of a tool: {error}")
    assert isinstance(same, dict)
    return same, text.encode()
