"""The ways in which what is seen of a tool can change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import ToolSpec


@dataclass(frozen=True)
class Changed:
    """One way in which what is seen of a tool can change."""

    name: str
    do: Callable[[ToolSpec], ToolSpec] = field(repr=False)


CHANGES: tuple[Changed, ...] = (
    Changed("name", lambda s: replace(s, name=s.name + "2")),
    Changed("title", lambda s: replace(s, title=(s.title or "") + "!")),
    Changed("description", lambda s: replace(s, description=s.description + ".")),
    Changed("input schema", lambda s: replace(s, input_schema={**s.input_schema, "additionalProperties": False})),
    Changed("a parameter's description", lambda s: replace(s, input_schema=_poisoned(s.input_schema))),
    Changed("output schema", lambda s: replace(s, output_schema={**(s.output_schema or {}), "title": "new"})),
    Changed("annotations", lambda s: replace(s, annotations={**(s.annotations or {}), "destructiveHint": False})),
    Changed("true for one", lambda s: replace(s, annotations={**(s.annotations or {}), "readOnlyHint": 1})),
)


def _poisoned(schema: Mapping[str, Json]) -> JsonObject:
    return {**schema, "properties": {"path": {"description": "another"}}}
