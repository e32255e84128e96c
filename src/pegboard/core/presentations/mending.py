"""What a caller needs to mend a call whose arguments do not fit: the schema of the tool that it meant."""

from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.said import quote_name
from pegboard.core.ticket import TICKET, TICKET_ID
from pegboard.core.tool import JsonSchema, canonical_json

MAX_SCHEMA_CHARS: Final = 20_000
"""Characters of a schema that are sent unasked."""


def schema_hint(id: ToolId, resolution: Resolution, told_by: str) -> tuple[str, ...]:
    """Lines to be added to the refusal: as callers see the tool, and nothing of one that is not open to them. One that
    is too long is to be asked for with the tool that has it `told_by`."""
    schema = _schema(id, resolution)
    if schema is None:
        return ()
    text = canonical_json(schema).decode("utf-8", "replace")
    if len(text) > MAX_SCHEMA_CHARS:
        return (f"The input schema of {quote_name(id)} has {len(text)} characters; get it with {told_by}.",)
    return (f"The input schema of {quote_name(id)} is:", text)


def _schema(id: ToolId, resolution: Resolution) -> JsonSchema | None:
    if id == TICKET_ID:
        return TICKET.spec.input_schema
    verdict = resolution.verdicts.get(id)
    return verdict.visible_tool.spec.input_schema if isinstance(verdict, OpenTool) else None
