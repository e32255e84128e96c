"""What a caller needs to mend a call whose arguments do not fit: the schema of the tool that it meant."""

from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.resolve import Open, Resolution
from pegboard.core.said import plainly
from pegboard.core.ticket import TICKET, TICKET_ID
from pegboard.core.tool import JsonSchema, canonical

LONGEST: Final = 20_000
"""Characters of a schema that are sent unasked."""


def schema_words(id: ToolId, resolution: Resolution, told_by: str) -> tuple[str, ...]:
    """Lines to be added to the refusal: as callers see the tool, and nothing of one that is not open to them. One that
    is too long is to be asked for with the tool that has it `told_by`."""
    schema = _schema(id, resolution)
    if schema is None:
        return ()
    text = canonical(schema).decode("utf-8", "replace")
    if len(text) > LONGEST:
        return (f"The input schema of {plainly(id)} has {len(text)} characters; get it with {told_by}.",)
    return (f"The input schema of {plainly(id)} is:", text)


def _schema(id: ToolId, resolution: Resolution) -> JsonSchema | None:
    if id == TICKET_ID:
        return TICKET.spec.input_schema
    verdict = resolution.verdicts.get(id)
    return verdict.shown.spec.input_schema if isinstance(verdict, Open) else None
