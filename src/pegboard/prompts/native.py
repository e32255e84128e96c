"""Tools as the `tools` array of a request tells them."""

import json
from collections.abc import Sequence

from pegboard.core.folded import plain
from pegboard.core.tool import Json, JsonObject

from .shapes import ToolShape


def function(shape: ToolShape) -> JsonObject:
    parameters: dict[str, Json] = dict(shape.parameters) or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": shape.name, "description": shape.description, "parameters": parameters},
    }


def functions(shapes: Sequence[ToolShape]) -> list[Json]:
    return [function(shape) for shape in shapes]


def functions_text(shapes: Sequence[ToolShape]) -> str:
    return json.dumps(functions(shapes), ensure_ascii=False, separators=(",", ":"), default=plain)
