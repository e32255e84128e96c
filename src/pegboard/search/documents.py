"""The tools of a board as documents to search: nothing in them that an agent may not be told."""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from pegboard.core.policy import Policy
from pegboard.core.rules import shape_of
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
    look, shape = policy.overrides.for_tool(tool.id), shape_of(tool, policy)
    return Document(
        tool.id,
        tool.id.name,
        (spec.title if look.name_override is None else look.name_override) or "",
        spec.description if look.description_override is None else look.description_override,
        _parameters(spec, frozenset() if shape is None else shape.gone),
        source,
    )


def _parameters(spec: ToolSpec, gone: frozenset[str]) -> tuple[str, ...]:
    properties = spec.input_schema.get("properties")
    names = (name for name in properties if name not in gone) if isinstance(properties, dict) else ()
    return tuple(islice(names, MOST_PARAMETERS))
