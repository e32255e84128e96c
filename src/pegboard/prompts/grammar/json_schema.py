"""Calls as a JSON Schema, for servers that take one (`response_format`, `guided_json`)."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.json.values import Json, JsonObject, materialize
from pegboard.core.model.settings import CODE_MODE
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import Format
from pegboard.prompts.tool_shape import ToolShape


def calls_schema(
    tools: Sequence[ToolShape], *, keys: tuple[str, str] = ("name", "arguments"), several: bool = False
) -> str:
    """Of the JSON that a call is, or with `several` of an array of them: what the format `json` reads as it is, and
    others between their markers. `keys` are the members for the name and the arguments. Without a tool it
    takes nothing."""
    name, arguments = keys
    each: list[Json] = [
        {
            "type": "object",
            "properties": {name: {"const": tool.name}, arguments: {"type": "object", **tool.parameters}},
            "required": [name, arguments],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    one: JsonObject = {"anyOf": each} if each else {"not": {}}
    schema: JsonObject = {"type": "array", "items": one, "minItems": 1} if several else one
    return json.dumps(_hoist_definitions(schema, each, arguments), ensure_ascii=False, default=materialize)


def _hoist_definitions(schema: JsonObject, each: Sequence[Json], arguments: str) -> JsonObject:
    """What tools keep under `$defs` is referred to from the root, so it moves there, by names that do not meet."""
    kept: JsonObject = {}
    for place, tool in enumerate(each):
        assert isinstance(tool, dict)
        properties = tool["properties"]
        assert isinstance(properties, dict)
        own = properties[arguments]
        assert isinstance(own, dict)
        for key in ("$defs", "definitions"):
            if isinstance(held := own.get(key), dict):
                kept |= {f"tool{place}.{name}": _rename_references(inner, place) for name, inner in held.items()}
        rest = {name: inner for name, inner in own.items() if name not in ("$defs", "definitions")}
        properties[arguments] = _rename_references(rest, place)
    return {**schema, "$defs": kept} if kept else schema


def _retarget(key: str, value: Json, place: int) -> Json:
    if key != "$ref" or not isinstance(value, str):
        return _rename_references(value, place)
    for held in ("#/$defs/", "#/definitions/"):
        if value.startswith(held):
            return f"#/$defs/tool{place}.{value.removeprefix(held)}"
    return value


def _rename_references(value: Json, place: int) -> Json:
    match value:
        case dict():
            return {key: _retarget(key, inner, place) for key, inner in value.items()}
        case list():
            return [_rename_references(inner, place) for inner in value]
        case _:
            return value


# What stands around the arguments of calls in a format: found by having the format write some.

_KEY: Final = "pegboard_argument"
_WRITTEN_ARGUMENTS: Final = (f'{{"{_KEY}": 0}}', f'{{"{_KEY}":0}}')
_KEYWORD: Final = f"({_KEY}=0)"


@dataclass(frozen=True)
class CallFrame:
    """Of each tool, by its name: what stands before its arguments in a first call, and in a further one."""

    first: dict[str, str]
    further: dict[str, str]
    """From the end of the arguments before to the beginning of its own."""
    last: str
    """Behind the arguments of the last call."""
    uses_keywords: bool = False
    """Whether arguments are written as in Python, name=value, between parentheses which are part of the rest."""


def find_frame(format: Format, tools: Sequence[ToolShape]) -> CallFrame | None:
    """`None` where the format writes arguments neither as one JSON object nor as keywords, or has no tool to call. In
    CodeMode a model writes programs, which are more than their calls."""
    if not tools or format.name == CODE_MODE:
        return None
    for written in (*_WRITTEN_ARGUMENTS, _KEYWORD):
        alone = [_split(format, [tool], written) for tool in tools]
        if all(parts is not None for parts in alone):
            return _build_frame(format, tools, written)
    return None


def _build_frame(format: Format, tools: Sequence[ToolShape], written: str) -> CallFrame | None:
    opens, closes = ("(", ")") if written == _KEYWORD else ("", "")
    first: dict[str, str] = {}
    further: dict[str, str] = {}
    lasts: set[str] = set()
    for tool in tools:
        alone, beside = _split(format, [tool], written), _split(format, [tools[0], tool], written)
        other = _split(format, [tools[-1], tool], written)
        if alone is None or beside is None or other is None or beside[1] != other[1]:
            return None
        first[tool.name] = alone[0] + opens
        further[tool.name] = closes + beside[1] + opens
        lasts |= {alone[1], beside[2]}
    return CallFrame(first, further, closes + lasts.pop(), written == _KEYWORD) if len(lasts) == 1 else None


def _split(format: Format, tools: Sequence[ToolShape], written: str) -> list[str] | None:
    """Calls of these tools, with their arguments taken out."""
    parts = format.calls_text([ParsedCall(tool.name, {_KEY: 0}) for tool in tools]).split(written)
    return parts if len(parts) == len(tools) + 1 else None


# Calls as structural tags: text as the model likes, and from a marker on what a call has to be.

_MIN_MARKER_LENGTH: Final = 2
"""Characters: a shorter trigger would fire in any text."""


def _common_marker(begins: Sequence[str]) -> str | None:
    """What all calls begin with, as far as it is the format's own and no JSON."""
    shortest = min(begins, key=len)
    same = next((at for at in range(len(shortest)) if any(each[at] != shortest[at] for each in begins)), len(shortest))
    marker = re.split(r"\n|(?<=.)\{", shortest[:same])[0].rstrip()
    return None if len(marker) < _MIN_MARKER_LENGTH or marker.startswith(("{", "[{", '["')) else marker


def structural_tags(format: Format, tools: Sequence[ToolShape], *, must_call: bool = False) -> str | None:
    """In the notation of xgrammar, which vLLM and SGLang take. `None` where the format writes no JSON arguments, or has
    no marker by which a call could be told from text."""
    framed = find_frame(format, tools)
    if framed is None or framed.uses_keywords:
        return None
    trigger = _common_marker([*framed.first.values()])
    if trigger is None:
        return None
    tags: list[Json] = [
        {
            "type": "tag",
            "begin": framed.first[tool.name],
            "content": {"type": "json_schema", "json_schema": {"type": "object", **tool.parameters}},
            "end": framed.last,
        }
        for tool in tools
    ]
    inside: JsonObject = {
        "type": "triggered_tags",
        "triggers": [trigger],
        "tags": tags,
        "at_least_one": must_call,
        "stop_after_first": False,
    }
    return json.dumps({"type": "structural_tag", "format": inside}, ensure_ascii=False, default=materialize)
