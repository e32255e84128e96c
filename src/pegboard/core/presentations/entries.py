"""One tool as an answer tells it: in a line to choose by, or whole."""

from typing import Final

from pegboard.core.folded import LazyJson
from pegboard.core.nesting import is_deeper_than
from pegboard.core.policy import Policy
from pegboard.core.resolve import Resolution
from pegboard.core.signature import first_sentence, format_signature
from pegboard.core.tool import Json, JsonObject, JsonSchema, Tool

_MAX_DEPTH: Final = 100
_ANY_OBJECT: Final[JsonObject] = {"type": "object"}


def name_and_description(tool: Tool, resolution: Resolution, policy: Policy) -> JsonObject:
    """By the name that this caller calls it; the words that people gave it stand before its own."""
    look = policy.overrides.for_tool(tool.id)
    members: dict[str, Json] = {
        "name": resolution.names[tool.id],
        "server": str(tool.id.source),
        "title": tool.spec.title if look.name_override is None else look.name_override,
        "description": tool.spec.description if look.description_override is None else look.description_override,
    }
    return {key: value for key, value in members.items() if value is not None}


def readable_schema(schema: JsonSchema) -> JsonObject:
    """A schema that is nested too deeply for its readers is told as one that asks for nothing."""
    deep = not isinstance(schema, LazyJson) or is_deeper_than(_MAX_DEPTH, schema.text)
    return dict(_ANY_OBJECT if deep else schema)


def compact_entry(tool: Tool, resolution: Resolution, policy: Policy) -> JsonObject:
    """Its name, what it takes and gives back in a line, and the first sentence of what it does."""
    told = name_and_description(tool, resolution, policy)
    description = told["description"]
    assert isinstance(description, str)
    return {
        "name": told["name"],
        "server": told["server"],
        "signature": format_signature(tool.spec),
        "description": first_sentence(description),
    }


def full_entry(tool: Tool, resolution: Resolution, policy: Policy) -> JsonObject:
    """All that is needed to call it."""
    entry = {**name_and_description(tool, resolution, policy), "inputSchema": readable_schema(tool.spec.input_schema)}
    return {**entry, "annotations": dict(tool.spec.annotations)} if tool.spec.annotations else entry


def complete_entry(tool: Tool, resolution: Resolution, policy: Policy) -> JsonObject:
    """All that there is."""
    entry = full_entry(tool, resolution, policy)
    return (
        entry
        if tool.spec.output_schema is None
        else {**entry, "outputSchema": readable_schema(tool.spec.output_schema)}
    )
