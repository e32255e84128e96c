"""The index of what databases hold, kept up to date: a table that changed is taken apart again, and no other."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np

from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, ForeignKey, TableName
from pegboard.core.model.databases import DatabaseId
from pegboard.core.model.ids import SourceKey, ToolId, ToolsetId, ToolsetKey
from pegboard.search.documents import IndexedDocuments, IntArray, SearchDocument
from pegboard.search.index import ChosenDocuments, SearchIndex, update_part
from pegboard.search.rank import EXACT_NAME_BONUS, Ranker, SearchResults, SemanticScores, rank_documents
from pegboard.search.text import (
    ABBREVIATIONS,
    content_terms,
    expansions,
    is_consonant_only,
    matching_short_forms,
    split_name,
    terms,
)

# The tables of databases as documents to search: names and what they are short for, comments, keys, and samples
# where
# a source gives any.
#
# The index knows what it holds by a source and a name within it, which is how tools are known; a table is known
# there by
# its database and its own qualified name.

MAX_COLUMNS: Final = 1_000
_MAX_EMBEDDED_COLUMNS: Final = 30
_MAX_COMMENT_LENGTH: Final = 500
_NAME_AFFIXES: Final = frozenset({"tbl", "tb", "t", "v", "vw", "dim", "fct", "fact", "stg", "tab", "mst", "mstr"})
"""What is written before or after the names of tables, and says nothing of what is in them."""


def source_key(source: DatabaseId) -> ToolsetKey:
    return ToolsetKey(ToolsetId(source))


def table_key(source: DatabaseId, name: TableName) -> ToolId:
    return ToolId(source_key(source), str(name))


@dataclass(frozen=True, slots=True)
class TableDocumentSource:
    """All that the document of a table is made of."""

    key: ToolId
    table: DatabaseTable
    refers_to: tuple[ForeignKey, ...] = ()
    samples: Mapping[str, Sequence[str]] | None = None

    def is_same(self, other: "TableDocumentSource") -> bool:
        return self.key == other.key and (
            self is other
            or (
                self.table == other.table
                and self.refers_to == other.refers_to
                and (self.samples or {}) == (other.samples or {})
            )
        )

    @property
    def document(self) -> SearchDocument:
        table = self.table
        columns = table.columns[:MAX_COLUMNS]
        own = [*split_name(table.name.table)]
        return SearchDocument(
            self.key,
            " ".join(_meaningful_parts(own)),
            " ".join(expansions(own)),
            table.comment,
            tuple(column.name for column in columns),
            tuple(self._value_texts()),
            f"{self.key.source} {table.name.schema}",
            self._embedding_text(own),
        )

    def _embedding_text(self, own: Sequence[str]) -> str:
        """In whole words as far as may be, and without samples: a model that reads may be elsewhere."""
        columns = ", ".join(
            _expand_words(split_name(column.name)) for column in self.table.columns[:_MAX_EMBEDDED_COLUMNS]
        )
        comment = f" ({self.table.comment[:_MAX_COMMENT_LENGTH]})" if self.table.comment else ""
        return f"{self.key.source}: table {_expand_words(_meaningful_parts(own))}{comment} with columns {columns}"

    def _value_texts(self) -> Iterator[str]:
        """Of columns: what they are short for, what is said of them, where they lead, and what is in them."""
        for column in self.table.columns[:MAX_COLUMNS]:
            yield from expansions(split_name(column.name))
            if column.comment:
                yield column.comment
        for relation in self.refers_to:
            yield relation.to_table.table
        for values in (self.samples or {}).values():
            yield from values


def matching_columns(query: str, table: DatabaseTable) -> list[str]:
    """The columns that have words of the query in their names or in what these are short for; the most first."""
    asked = {*content_terms(query)}
    scored = []
    for place, column in enumerate(table.columns[:MAX_COLUMNS]):
        said = {*terms(column.name), *terms(" ".join(expansions(split_name(column.name))))}
        if shared := len(asked & said):
            scored.append((-shared, place, column.name))
    return [name for _, _, name in sorted(scored)]


def _expand_words(parts: Iterable[str]) -> str:
    return " ".join([next(iter(ABBREVIATIONS.get(part.casefold(), ())), part.casefold()) for part in parts])


def _meaningful_parts(parts: Sequence[str]) -> Sequence[str]:
    kept = [part for part in parts if part.casefold() not in _NAME_AFFIXES]
    return kept or parts


_IDENTIFIER: Final = re.compile(r"\w[_.]\w|[a-z][A-Z]")
"""What nobody writes within a word, unless it is the name of a thing."""
_PUNCTUATION: Final = "\"'`.,;:!?()[]"
_MAX_CHOICES: Final = 64
REFERENCE_WEIGHT: Final = 0.25
"""How much of the score of what it refers to a table has too."""

Samples = Mapping[TableName, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True)
class IndexedDatabase:
    """The part of one database, and what it was made of."""

    schema: DatabaseSchema
    samples: Samples
    document_sources: tuple[TableDocumentSource, ...]
    part: IndexedDocuments
    short_forms: frozenset[str]
    """Parts of its names that are words without their vowels."""

    @classmethod
    def of(
        cls, source: DatabaseId, schema: DatabaseSchema, samples: Samples, former: "IndexedDatabase | None" = None
    ) -> "IndexedDatabase":
        tellings = tuple(
            [
                TableDocumentSource(
                    table_key(source, name), table, tuple(schema.relations_from(name)), samples.get(name)
                )
                for name, table in schema.by_name.items()
            ]
        )
        if former is None:
            part = IndexedDocuments.of(telling.document for telling in tellings)
        else:
            part = update_part(former.part, former.document_sources, tellings)
        bare = former.short_forms if former is not None and part is former.part else _short_forms(tellings)
        return cls(schema, samples, tellings, part, bare)

    def tables_named_in(self, query: str) -> list[TableName]:
        """The tables whose own name the query is, or has in it as only names are written."""
        whole = query.strip().casefold()
        written = (word.strip(_PUNCTUATION).casefold() for word in query.split() if _IDENTIFIER.search(word))
        return [name for word in dict.fromkeys((whole, *written)) for name in self._tables_by_name.get(word, ())]

    @cached_property
    def _tables_by_name(self) -> Mapping[str, Sequence[TableName]]:
        called: dict[str, list[TableName]] = {}
        for name in self.schema.by_name:
            for each in {name.table.casefold(), str(name).casefold()}:
                called.setdefault(each, []).append(name)
        return called


class TableIndex:
    """Not to be asked by two at once."""

    def __init__(self) -> None:
        self._databases: Mapping[DatabaseId, IndexedDatabase] = {}
        self._index = SearchIndex()
        self._is_stale = False
        self._names: Mapping[ToolId, tuple[DatabaseId, TableName]] = {}
        self._choices: dict[frozenset[DatabaseId], DatabaseChoice] = {}

    @property
    def databases(self) -> Mapping[DatabaseId, IndexedDatabase]:
        return self._databases

    @property
    def by_source(self) -> Mapping[SourceKey, IndexedDatabase]:
        """For whoever reads tables for their meaning."""
        return {source_key(source): held for source, held in self._databases.items()}

    def update(self, source: DatabaseId, held: IndexedDatabase) -> None:
        former = self._databases.get(source)
        self._databases = {**self._databases, source: held}
        self._is_stale |= former is None or former.part is not held.part

    def remove(self, source: DatabaseId) -> None:
        self._is_stale |= source in self._databases
        self._databases = {known: held for known, held in self._databases.items() if known != source}

    def search(
        self, query: str, sources: Iterable[DatabaseId], dense: SemanticScores | None = None
    ) -> "TableSearchResult":
        """Among these databases, as if there were no others."""
        self._refresh()
        among = frozenset(source for source in sources if source in self._databases)
        choice = self._choice_for(among)
        hits = choice.lift_by_references(rank_documents(self._expand_query(query, among), choice.documents, dense))
        names = self._names
        called = [(source, name) for source in sorted(among) for name in self._databases[source].tables_named_in(query)]
        rest = (found for key in hits if (found := names[key]) not in called)
        return TableSearchResult(hits.ranker, chain(called, rest))

    def _refresh(self) -> None:
        if not self._is_stale:
            return
        self._index = SearchIndex.from_parts([held.part for held in self._databases.values()], self._index)
        self._names = {
            telling.key: (source, telling.table.name)
            for source, held in self._databases.items()
            for telling in held.document_sources
        }
        self._choices.clear()
        self._is_stale = False

    def _choice_for(self, sources: frozenset[DatabaseId]) -> "DatabaseChoice":
        known = self._choices.get(sources)
        if known is None:
            known = DatabaseChoice.of(self._index, {source: self._databases[source] for source in sorted(sources)})
            while len(self._choices) >= _MAX_CHOICES:
                del self._choices[next(iter(self._choices))]
            self._choices[sources] = known
        return known

    def _expand_query(self, query: str, sources: Collection[DatabaseId]) -> str:
        """With the short forms of its words that names here have."""
        bare = sorted({short for source in sources for short in self._databases[source].short_forms})
        more = dict.fromkeys(short for word in split_name(query) for short in matching_short_forms(word, bare))
        return " ".join((query, *more)) if more else query


@dataclass(frozen=True)
class DatabaseChoice:
    """The tables of some databases, and which of them refer to which."""

    documents: ChosenDocuments
    referring_positions: IntArray
    """Positions."""
    referred_positions: IntArray

    @classmethod
    def of(cls, index: SearchIndex, held: Mapping[DatabaseId, IndexedDatabase]) -> "DatabaseChoice":
        tellings = [telling for each in held.values() for telling in each.document_sources]
        chosen = index.choose([telling.key for telling in tellings])
        place = {key: int(chosen.positions[index.places[key]]) for key in (telling.key for telling in tellings)}
        pairs = [
            (place[telling.key], place[table_key(source, relation.to_table)])
            for source, each in held.items()
            for telling in each.document_sources
            for relation in telling.refers_to
            if relation.to_table != telling.table.name
        ]
        both = np.array(pairs, np.int32).reshape(-1, 2)
        return cls(chosen, both[:, 0], both[:, 1])

    def lift_by_references(self, hits: SearchResults) -> SearchResults:
        """A table is about what it refers to: orders of customers are in neither name."""
        own = hits.scores.copy()
        own[[*hits.exact_positions]] -= EXACT_NAME_BONUS
        best = np.zeros(len(own))
        np.maximum.at(best, self.referring_positions, own[self.referred_positions])
        return replace(hits, scores=hits.scores + REFERENCE_WEIGHT * best)


@dataclass(frozen=True)
class TableSearchResult:
    ranker: Ranker
    tables: Iterator[tuple[DatabaseId, TableName]]
    """The best first."""


def _short_forms(tellings: Iterable[TableDocumentSource]) -> frozenset[str]:
    names = (name for each in tellings for name in (each.table.name.table, *(c.name for c in each.table.columns)))
    return frozenset(
        part.casefold() for name in dict.fromkeys(names) for part in split_name(name) if is_consonant_only(part)
    )
