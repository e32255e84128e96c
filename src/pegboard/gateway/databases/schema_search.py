"""The built-in `search_schemas`."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from pegboard.core.databases.schema import DatabaseSchema, TableName, example_statement, quote_table, table_outline
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.databases import DatabaseId
from pegboard.core.model.ids import ToolId
from pegboard.gateway.databases.results import without_folders
from pegboard.gateway.databases.schema_reader import (
    DEFAULT_TIMINGS,
    QueryableDatabase,
    SchemaReader,
    SchemaState,
    SchemaTimings,
)
from pegboard.gateway.databases.source import DEFAULT_TABLES, MAX_TABLES
from pegboard.gateway.embeddings import EmbeddableTools, EmbeddingIndex

if TYPE_CHECKING:
    from pegboard.search.rank import SemanticScores
    from pegboard.search.tables import IndexedDatabase, TableSearchResult


_FEW_TABLES: Final = 20
_MAX_COLUMNS: Final = 40
_FEWER_COLUMNS: Final = 15
"""Of each table after the usual number of them."""


class SchemaFinder:
    def __init__(
        self,
        sources: Callable[[], Mapping[DatabaseId, QueryableDatabase]],
        meanings: EmbeddingIndex | None = None,
        pace: SchemaTimings = DEFAULT_TIMINGS,
    ) -> None:
        self._reader = SchemaReader(sources, pace)
        self._embeddings = meanings

    async def run(self) -> None:
        """Until cancelled. Without it each search reads for itself."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._reader.run)
            if self._embeddings is not None:
                tasks.start_soon(self._embeddings.run, self._reader.changes, self.embeddable, name="meanings of tables")

    async def search(
        self, query: str, sources: Collection[DatabaseId] | None = None, limit: int = DEFAULT_TABLES
    ) -> JsonObject:
        """What there is for a question in these databases, or in all, best first, as if there were no others. A source
        that cannot be read is named, with the reason."""
        read = await self._reader.current(sources)
        dense = await self._semantic_scores(query)
        held = {id: each.schema for id, each in read.items() if each.schema is not None}
        answer = await to_thread.run_sync(partial(self._search, query, held, limit, dense), abandon_on_cancel=True)
        notices: list[Json] = [*filter(None, (_notice(id, each) for id, each in read.items()))]
        if not answer["tables"] and held:
            notices.append(_no_match_text(held))
        return {**answer, "notices": notices} if notices else answer

    async def schema(self, source: DatabaseId) -> DatabaseSchema | None:
        """All that may be known of a source, as far as it could be read."""
        read = await self._reader.current((source,))
        held = read[source].schema if source in read else None
        return None if held is None else held.schema

    async def embeddable(self) -> EmbeddableTools:
        """The tables as they are now, for whoever reads them for their meaning."""
        return await to_thread.run_sync(self._embeddable, abandon_on_cancel=True)

    def _embeddable(self) -> EmbeddableTools:
        listed = self._reader.with_schemas(lambda schemas: schemas.by_source)
        if self._embeddings is None or not self._embeddings.encoder.traits.is_remote:
            return EmbeddableTools(listed, frozenset[ToolId]())
        return EmbeddableTools(
            listed, frozenset(telling.key for held in listed.values() for telling in held.document_sources)
        )

    async def _semantic_scores(self, query: str) -> "SemanticScores | None":
        if self._embeddings is None:
            return None
        self._embeddings.wake()
        return await self._embeddings.semantic_scores(query)

    def _search(
        self, query: str, held: "Mapping[DatabaseId, IndexedDatabase]", limit: int, dense: "SemanticScores | None"
    ) -> JsonObject:
        def best(found: "TableSearchResult") -> list[tuple[DatabaseId, TableName]]:
            return [*islice(found.tables, max(1, min(limit, MAX_TABLES)))]

        found, tables = self._reader.with_schemas(
            lambda schemas: (found := schemas.search(query, held, dense), best(found))
        )
        known = [each for each in tables if each[0] in held and each[1] in held[each[0]].schema.by_name]
        entries: list[Json] = [
            _entry(query, held[id], id, name, {other for where, other in known if where == id}, place)
            for place, (id, name) in enumerate(known)
        ]
        return {"tables": entries, "ranker": found.ranker}


def _entry(
    query: str, held: "IndexedDatabase", source: DatabaseId, name: TableName, beside: set[TableName], place: int
) -> JsonObject:
    from pegboard.search.tables import matching_columns

    schema = held.schema
    wanted = matching_columns(query, schema.by_name[name])
    most = _MAX_COLUMNS if place < DEFAULT_TABLES else _FEWER_COLUMNS
    return {
        "source": str(source),
        "dialect": schema.dialect.title,
        **table_outline(schema, name, wanted, held.samples.get(name), most),
        "example": example_statement(schema, name, wanted, beside),
    }


def _notice(id: DatabaseId, reading: SchemaState) -> str | None:
    if reading.problem is not None:
        known = " What is told of it is from before." if reading.schema is not None else ""
        return f"Database {str(id)!r} cannot be read: {without_folders(reading.problem)}{known}"
    if reading.schema is None:
        return f"Database {str(id)!r} is still being read. Search again in a moment."
    return None


def _no_match_text(held: "Mapping[DatabaseId, IndexedDatabase]") -> str:
    """Of few tables the names help more than any advice."""
    names = {id: [quote_table(name, each.schema) for name in each.schema.by_name] for id, each in held.items()}
    searched = sum(map(len, names.values()))
    if not searched:
        return "There are no tables to search."
    if searched > _FEW_TABLES:
        return (
            f"None of {searched} tables fits these words. Search with other words, for example what its columns hold."
        )
    told = "; ".join(f"{id} has {', '.join(tables)}" for id, tables in names.items() if tables)
    return f"No table fits these words: {told}."
