"""Calls as a JSON Schema, for servers that hold a model to one (`response_format`, `guided_json`)."""

import json
from collections.abc import Sequence

from pegboard.core.folded import materialize
from pegboard.core.tool import Json, JsonObject
from pegboard.prompts.shapes import ToolShape


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
