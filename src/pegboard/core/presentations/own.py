"""The tools that presentations have of their own: how one is made, and what it costs."""

from collections.abc import Iterable, Mapping
from typing import Final

from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.tool import Json, JsonObject, Tool, ToolSpec

READ_ONLY_HINTS: Final[JsonObject] = {"readOnlyHint": True, "openWorldHint": False}
DESTRUCTIVE_HINTS: Final[JsonObject] = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
"""The hints of whatever tool is called through it."""

CALL_TOOL: Final = "call_tool"


def build_own_tool(
    name: str, description: str, properties: JsonObject, required: Iterable[Json], annotations: JsonObject
) -> Tool:
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    if needed := [*required]:
        schema["required"] = needed
    spec = ToolSpec(name, description=description, input_schema=schema, annotations=annotations)
    return Tool(ToolId(BuiltinKey(), name), spec)


def tools_by_name(*tools: Tool) -> Mapping[str, Tool]:
    return {tool.id.name: tool for tool in tools}


def flag_schema(what: str) -> JsonObject:
    return {"type": "boolean", "default": False, "description": what}


def text_schema(what: str) -> JsonObject:
    return {"type": "string", "minLength": 1, "description": what}
