"""How a prompt describes a tool and `tool_search`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.json.values import Json, JsonObject, materialize
from pegboard.core.model.settings import SEARCH
from pegboard.core.presentations.deferred_tools import DEFAULT_RESULTS, MAX_RESULTS
from pegboard.core.presentations.retrieval import query_schemas
from pegboard.prompts.stubs.render import Stub

# What a format is told of a tool.


@dataclass(frozen=True, slots=True)
class ToolShape:
    name: str
    """As the model is to write it: a wire name, not an id."""
    description: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    """The JSON Schema of its arguments."""
    stub: Stub | None = None
    """Where it is a function of a program: how that is told."""

    @property
    def properties(self) -> Mapping[str, Json]:
        found = self.parameters.get("properties")
        return found if isinstance(found, dict) else {}


def tools_by_name(tools: Sequence[ToolShape]) -> dict[str, ToolShape]:
    """Of two with one name the first counts."""
    found: dict[str, ToolShape] = {}
    for tool in tools:
        found.setdefault(tool.name, tool)
    return found


# Tools as the `tools` array of a request tells them.


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


SEARCH_SHAPE: Final = ToolShape(
    SEARCH,
    "Find tools by what they do. There are more tools than you are shown: search whenever none of them fits. What is "
    "found can be called at once, by its own name.",
    {
        "type": "object",
        "properties": {
            **query_schemas("How many tools to find at most.", DEFAULT_RESULTS, MAX_RESULTS),
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)
