"""The tools of a board as documents to search: nothing in them that an agent may not be told."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pegboard.core.database.source import DatabaseTool
from pegboard.core.folded import LazyJson
from pegboard.core.ids import ServerKey, SourceKey, ToolId
from pegboard.core.policy import Policy
from pegboard.core.rules import overridden_tool_of
from pegboard.core.told import agent_visible_spec
from pegboard.core.tool import Json, JsonSchema, Tool, ToolSpec

MAX_PARAMETERS: Final = 100
MAX_VALUES: Final = 20


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """What may be known of one tool, as text."""

    key: ToolId
    name: str
    title: str = ""
    description: str = ""
    parameters: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """What is said of the parameters, and what they may be."""
    server: str = ""
    embedding_text: str = ""
    """What is read of it for its meaning, where that is not made of the rest."""

    @property
    def texts(self) -> tuple[str, ...]:
        """In the order of the fields."""
        return (
            *(self.name, self.title, self.server, self.description),
            *(" ".join(self.parameters), " ".join(self.values)),
        )


@dataclass(frozen=True, slots=True)
class ToolDocumentSource:
    """All that the document of a tool is made of. Cheap to make and to compare, where a document is neither."""

    key: ToolId
    spec: ToolSpec | None
    """Nothing: only the name may be told."""
    name_override: str | None = None
    description_override: str | None = None
    hidden_parameters: frozenset[str] = frozenset()
    """The parameters that nobody is told of."""

    @classmethod
    def of(cls, tool: Tool, policy: Policy) -> "ToolDocumentSource":
        """Of what is withheld the name alone: that a search finds it by a word would tell that the word is in it."""
        if isinstance(tool, DatabaseTool) and policy.databases_for_all is not None:
            # One index is for all callers: none of them finds it by the words of a database that another may ask.
            tool = tool.narrow_to(policy.databases_for_all)
        spec = agent_visible_spec(tool, policy)
        if spec is None:
            return cls(tool.id, None)
        look, shape = policy.overrides.for_tool(tool.id), overridden_tool_of(tool, policy)
        if shape is None:
            return cls(tool.id, spec, look.name_override, look.description_override)
        shown = shape.tool.spec if spec is tool.spec else spec
        return cls(tool.id, shown, look.name_override, look.description_override, shape.removed_names)

    def is_same(self, other: "ToolDocumentSource") -> bool:
        return (
            self.key == other.key
            and (self.name_override, self.description_override) == (other.name_override, other.description_override)
            and self.hidden_parameters == other.hidden_parameters
            and (self.spec is other.spec or _reads_alike(self.spec, other.spec))
        )

    @property
    def document(self) -> SearchDocument:
        server, spec = source_name(self.key.source), self.spec
        if spec is None:
            return SearchDocument(self.key, self.key.name, server=server)
        title, description = self.name_override, self.description_override
        properties = spec.input_schema.get("properties")
        kept = properties if isinstance(properties, dict) else {}
        parameters = {
            name: kept[name]
            for name in islice((name for name in kept if name not in self.hidden_parameters), MAX_PARAMETERS)
        }
        return SearchDocument(
            self.key,
            self.key.name,
            (spec.title if title is None else title) or "",
            spec.description if description is None else description,
            tuple(parameters),
            tuple(text for schema in parameters.values() for text in _schema_texts(schema)),
            server,
        )


def build_documents(tools: Iterator[Tool] | tuple[Tool, ...], policy: Policy) -> tuple[SearchDocument, ...]:
    return tuple(ToolDocumentSource.of(tool, policy).document for tool in tools)


def source_name(source: SourceKey) -> str:
    """What a source is called. A server that was added by itself has a toolset of the same name, which is not said
    twice."""
    return source.server if isinstance(source, ServerKey) and str(source.server) == source.toolset else str(source)


def _schema_texts(schema: Json) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    if isinstance(description := schema.get("description"), str):
        yield description
    if isinstance(values := schema.get("enum"), list):
        yield from (value for value in values[:MAX_VALUES] if isinstance(value, str))


def _reads_alike(one: ToolSpec | None, other: ToolSpec | None) -> bool:
    return (
        one is not None
        and other is not None
        and (one.title, one.description) == (other.title, other.description)
        and _same_schema(one.input_schema, other.input_schema)
    )


def _same_schema(one: JsonSchema, other: JsonSchema) -> bool:
    """By their texts. One that could not be folded is not compared: it may be too deep for it."""
    return one is other or (isinstance(one, LazyJson) and isinstance(other, LazyJson) and one.text == other.text)
