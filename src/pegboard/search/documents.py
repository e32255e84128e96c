"""Documents taken apart once: which words each has in which field, and how often."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pegboard.core.decision.facts import overridden_tool_of
from pegboard.core.decision.visibility import agent_visible_spec
from pegboard.core.json.values import Json, LazyJson
from pegboard.core.model.databases import DatabaseTool
from pegboard.core.model.ids import ServerKey, SourceKey, ToolId
from pegboard.core.model.tool import JsonSchema, Tool, ToolSpec
from pegboard.core.policy.policy import Policy
from pegboard.search.text import STOP_TERMS, content_terms, split_words, terms

# The tools of a board as documents to search: nothing in them that an agent may not be told.

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


# The fields of a document, and what a word in each is worth.


class DocumentField(IntEnum):
    NAME = 0
    TITLE = 1
    SERVER = 2
    DESCRIPTION = 3
    PARAMETERS = 4
    """Their names."""
    VALUES = 5
    """What is said of parameters: their descriptions, and the values to choose from."""


FIELD_WEIGHTS: Final = (3.0, 2.0, 1.5, 1.0, 0.8, 0.5)
"""Of a word, by field."""

LENGTH_NORMALIZATION: Final = (0.3, 0.3, 0.3, 0.6, 0.6, 0.75)
"""How much less a word is worth in a field that is longer than others: 0 is not at all, 1 in proportion."""

SATURATION: Final = 1.2
"""How soon it stops to matter how often a word is there."""

MAX_LETTERS: Final = (500, 500, 200, 4_000, 4_000, 8_000)
"""What comes after is examples and small print, and a giant text must not cost everybody's memory."""


FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int32]
FieldCounts: TypeAlias = NDArray[np.uint8]
"""A field and how often, in one byte: what is there more often than that is there no more for it."""

COUNT_BITS: Final = 5
MAX_COUNT: Final = (1 << COUNT_BITS) - 1
_NO_NUMBERS: Final[IntArray] = np.empty(0, np.int32)
_CHUNK_DOCUMENTS: Final = 2_000
"""Documents: what lies between text and numbers takes fifty times the room, so it is kept for a few only."""


@dataclass(frozen=True)
class IndexedDocuments:
    """Some documents. An index is made of parts, so that a change costs only its own.

    What the documents have lies one after the other, document by document: an object each would take ten times the
    room.
    """

    keys: tuple[ToolId, ...]
    vocabulary: tuple[str, ...]
    """Every term, sorted."""
    starts: IntArray
    """Where each document begins, and at last where all of them end."""
    terms: IntArray
    """Places in the vocabulary."""
    field_counts: FieldCounts
    lengths: IntArray
    """Of each field of each document, in terms."""
    name_sizes: IntArray
    """How many words each name has that tell something."""

    @classmethod
    def of(cls, documents: Iterable[SearchDocument]) -> "IndexedDocuments":
        rest = iter(documents)
        vocabulary: dict[str, int] = {}
        chunks = []
        while chunk := tuple(islice(rest, _CHUNK_DOCUMENTS)):
            chunks.append(_analyze(chunk, vocabulary))
        return _sort_vocabulary(vocabulary, chunks)

    def __len__(self) -> int:
        return len(self.keys)

    def with_changes(self, kept: Mapping[int, int], fresh: "IndexedDocuments", size: int) -> "IndexedDocuments":
        """Another part of that size: of the places that are kept, by their new place, and else of fresh documents in
        their order."""
        order = np.empty(size, np.int64)
        order[[*kept]] = [*kept.values()]
        new = np.ones(size, np.bool_)
        new[[*kept]] = False
        order[new] = len(self) + np.arange(len(fresh))
        both = join_parts((self, fresh))
        counts = np.diff(both.starts)[order]
        starts = _offsets(counts)
        rows = np.repeat(both.starts[order] - starts[:-1], counts) + np.arange(starts[-1])
        used, numbers = np.unique(both.terms[rows], return_inverse=True)
        return IndexedDocuments(
            tuple([both.keys[place] for place in order.tolist()]),
            tuple([both.vocabulary[place] for place in used.tolist()]),
            starts,
            numbers.astype(np.int32),
            both.field_counts[rows],
            both.lengths[order],
            both.name_sizes[order],
        )


def join_parts(parts: Sequence[IndexedDocuments]) -> IndexedDocuments:
    """One part of all their documents, in order."""
    vocabulary = tuple(sorted({term for part in parts for term in part.vocabulary}))
    numbers = {term: number for number, term in enumerate(vocabulary)}
    renumbered = [
        np.fromiter(map(numbers.__getitem__, part.vocabulary), np.int32, len(part.vocabulary))[part.terms]
        for part in parts
    ]
    return _concatenate(vocabulary, parts, renumbered)


def _concatenate(
    vocabulary: tuple[str, ...], parts: Sequence[IndexedDocuments], numbers: Sequence[IntArray]
) -> IndexedDocuments:
    return IndexedDocuments(
        tuple([key for part in parts for key in part.keys]),
        vocabulary,
        _offsets(np.concatenate([_NO_NUMBERS, *(np.diff(part.starts) for part in parts)])),
        np.concatenate([_NO_NUMBERS, *numbers]),
        np.concatenate([_NO_NUMBERS.astype(np.uint8), *(part.field_counts for part in parts)]),
        np.concatenate([_NO_NUMBERS.reshape(0, len(DocumentField)), *(part.lengths for part in parts)]),
        np.concatenate([_NO_NUMBERS, *(part.name_sizes for part in parts)]),
    )


def _analyze(documents: Sequence[SearchDocument], vocabulary: dict[str, int]) -> IndexedDocuments:
    """Its terms are numbered as they come, not in order yet."""
    said: list[int] = []
    lengths = np.zeros((len(documents), len(DocumentField)), np.int32)
    sizes = np.zeros(len(documents), np.int32)
    for place, document in enumerate(documents):
        for field, text in enumerate(document.texts):
            # Names keep the words of every sentence: a tool may be called by nothing else.
            own = (terms if field == DocumentField.NAME else content_terms)(text[: MAX_LETTERS[field]])
            said += [vocabulary.setdefault(term, len(vocabulary)) for term in own]
            lengths[place, field] = len(own)
        sizes[place] = len(name_words(document.name[: MAX_LETTERS[DocumentField.NAME]]))
    many = len(vocabulary) or 1
    slots = np.repeat(np.arange(lengths.size), lengths.ravel())
    found, counts = np.unique(slots * many + np.array(said, np.int64), return_counts=True)
    slots, numbers = np.divmod(found, many)
    places, fields = np.divmod(slots, len(DocumentField))
    return IndexedDocuments(
        tuple([document.key for document in documents]),
        (),
        _offsets(np.bincount(places, minlength=len(documents))),
        numbers.astype(np.int32),
        (fields << COUNT_BITS | np.minimum(counts, MAX_COUNT)).astype(np.uint8),
        lengths,
        sizes,
    )


def name_words(name: str) -> list[str]:
    """Those that tell something, if any does."""
    own = split_words(name)
    return [word for word in own if word not in STOP_TERMS] or own


def _sort_vocabulary(vocabulary: Mapping[str, int], chunks: Sequence[IndexedDocuments]) -> IndexedDocuments:
    sorted_words = tuple(sorted(vocabulary))
    numbers = np.empty(len(sorted_words), np.int32)
    numbers[[vocabulary[word] for word in sorted_words]] = np.arange(len(sorted_words), dtype=np.int32)
    return _concatenate(sorted_words, chunks, [numbers[chunk.terms] for chunk in chunks])


def _offsets(counts: NDArray[np.integer]) -> IntArray:
    return np.concatenate([_NO_NUMBERS, [0], np.cumsum(counts)]).astype(np.int32)
