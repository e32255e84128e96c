"""The tools of a board as documents to search: nothing in them that an agent may not be told."""

from collections.abc import Iterable
from typing import Final

from pegboard.core.policy import Policy
from pegboard.core.told import told
from pegboard.core.tool import Tool, ToolSpec

from .lexical import Document

MOST_PARAMETERS: Final = 100


def documents(tools: Iterable[Tool], policy: Policy) -> tuple[Document, ...]:
    return tuple(_document(tool, policy) for tool in tools)


def _document(tool: Tool, policy: Policy) -> Document:
    """Of what is withheld the name alone: that a search finds it by a word would tell that the word is in it."""
    source, spec = str(tool.id.source), told(tool, policy)
    if spec is None:
        return Document(tool.id, tool.id.name, source=source)
    look = policy.overrides.for_tool(tool.id)
    return Document(
        tool.id,
        tool.id.name,
        (spec.title if look.name_override is None else look.name_override) or "",
        spec.description if look.description_override is None else look.description_override,
        _parameters(spec),
        source,
    )


def _parameters(spec: ToolSpec) -> tuple[str, ...]:
    properties = spec.input_schema.get("properties")
    return tuple(properties)[:MOST_PARAMETERS] if isinstance(properties, dict) else ()
