"""Tools as the `tools` array of a request tells them."""

import json
from collections.abc import Sequence

from pegboard.core.folded import materialize
from pegboard.core.tool import Json, JsonObject

from .shapes import ToolShape


def tool_function(shape: ToolShape) -> JsonObject:
    parameters: dict[str, Json] = dict(shape.parameters) or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": shape.name, "description": shape.description, "parameters": parameters},
    }


def tool_functions(shapes: Sequence[ToolShape]) -> list[Json]:
    return [tool_function(shape) for shape in shapes]


def functions_text(shapes: Sequence[ToolShape]) -> str:
    return json.dumps(tool_functions(shapes), ensure_ascii=False, separators=(",", ":"), default=materialize)
