"""The object that a call is written as: by which keys models name the tool and its arguments, and what wraps it."""

from dataclasses import dataclass
from typing import Final

from pegboard.core.folded import Json

from .json_value import parse_arguments

NAME_KEYS: Final = ("name", "tool_name", "toolName", "function_name", "tool", "function", "action", "recipient_name")
ARGUMENT_KEYS: Final = (
    "arguments",
    "parameters",
    "args",
    "params",
    "tool_args",
    "tool_input",
    "tool_parameters",
    "input",
    "action_input",
    "kwargs",
)
WRAPPER_KEYS: Final = (
    "tool_calls",
    "toolCalls",
    "tool_call",
    "toolCall",
    "function_call",
    "functionCall",
    "function",
    "tool_uses",
)
IGNORED_KEYS: Final = ("type", "id", "tool_call_id", "call_id", "index", "thought", "thoughts", "description")
KNOWN_KEYS: Final = frozenset(NAME_KEYS + ARGUMENT_KEYS + WRAPPER_KEYS + IGNORED_KEYS)


@dataclass(frozen=True, slots=True)
class EnvelopeCall:
    """A call as an object tells it."""

    name: str
    arguments: dict[str, Json]
    repairs: tuple[str, ...] = ()


def read_envelope(value: Json, depth: int = 0) -> list[EnvelopeCall] | str:
    """The calls that a value is, or in a clause why it is none."""
    if isinstance(value, list):
        calls: list[EnvelopeCall] = []
        for one in value:
            inner = read_envelope(one, depth + 1) if depth < 4 else "it is wrapped too often"
            if isinstance(inner, str):
                return inner
            calls += inner
        return calls or "the list of calls is empty"
    if not isinstance(value, dict):
        return "it is no JSON object"
    for key in WRAPPER_KEYS:
        inside = value.get(key)
        if isinstance(inside, dict | list) and not (key == "function" and "name" in value):
            return read_envelope(inside, depth + 1) if depth < 4 else "it is wrapped too often"
    name = next((name for key in NAME_KEYS if isinstance(name := value.get(key), str)), "")
    if not name.strip():
        return "it has no name"
    keys = [key for key in ARGUMENT_KEYS if key in value]
    if len(keys) > 1:
        # {"arguments": …, "parameters": …}: whichever ran, the other could have been meant.
        same = [value[key] for key in keys]
        if any(one != same[0] for one in same):
            return f"it has both {keys[0]!r} and {keys[1]!r}"
    unknown = sorted(value.keys() - KNOWN_KEYS)
    if unknown:
        # An argument that was written beside the others must not get lost.
        return f'{unknown[0]!r} is no key of a call. Put the arguments under "{keys[0] if keys else "arguments"}"'
    read = parse_arguments(value[keys[0]]) if keys else ({}, ())
    if isinstance(read, str):
        return read
    return [EnvelopeCall(name, read[0], read[1])]
