"""Search over databases: tables by what they mean, in one of them or in all, told so that statements can be written."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from pegboard.core.database import Schema, SourceId, TableName
from pegboard.core.database.outline import called, example, outline
from pegboard.core.ids import ToolId
from pegboard.core.tool import Json, JsonObject
from pegboard.gateway.meanings import Meanings, Readable

from .results import without_folders
from .schema_reader import USUAL, Opened, Pace, Reader, Reading
from .specs import MOST_TABLES, USUAL_TABLES

if TYPE_CHECKING:
    from pegboard.search.rank import Dense
    from pegboard.search.schemas import Found, Held

_FEW_TABLES: Final = 20
_MOST_COLUMNS: Final = 40
_FEWER_COLUMNS: Final = 15
"""Of each table after the usual number of them."""


class SchemaFinder:
    def __init__(
        self, sources: Callable[[], Mapping[SourceId, Opened]], meanings: Meanings | None = None, pace: Pace = USUAL
    ) -> None:
        self._reader = Reader(sources, pace)
        self._meanings = meanings

    async def run(self) -> None:
        """Until cancelled. Without it each search reads for itself."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._reader.run)
            if self._meanings is not None:
                tasks.start_soon(self._meanings.run, self._reader.changed, self.readable, name="meanings of tables")

    async def search(
        self, query: str, sources: Collection[SourceId] | None = None, limit: int = USUAL_TABLES
    ) -> JsonObject:
        """What there is for a question in these databases, or in all, best first, as if there were no others. A source
        that cannot be read is named, with the reason."""
        read = await self._reader.looked_at(sources)
        dense = await self._dense(query)
        held = {id: each.held for id, each in read.items() if each.held is not None}
        answer = await to_thread.run_sync(partial(self._found, query, held, limit, dense), abandon_on_cancel=True)
        notices: list[Json] = [*filter(None, (_notice(id, each) for id, each in read.items()))]
        if not answer["tables"] and held:
            notices.append(_nothing(held))
        return {**answer, "notices": notices} if notices else answer

    async def schema(self, source: SourceId) -> Schema | None:
        """All that may be known of a source, as far as it could be read."""
        read = await self._reader.looked_at((source,))
        held = read[source].held if source in read else None
        return None if held is None else held.schema

    async def readable(self) -> Readable:
        """The tables as they are now, for whoever reads them for their meaning."""
        return await to_thread.run_sync(self._readable, abandon_on_cancel=True)

    def _readable(self) -> Readable:
        listed = self._reader.with_schemas(lambda schemas: schemas.listed)
        if self._meanings is None or not self._meanings.encoder.traits.is_remote:
            return Readable(listed, frozenset[ToolId]())
        return Readable(listed, frozenset(telling.key for held in listed.values() for telling in held.tellings))

    async def _dense(self, query: str) -> "Dense | None":
        if self._meanings is None:
            return None
        self._meanings.wake()
        return await self._meanings.asked(query)

    def _found(self, query: str, held: "Mapping[SourceId, Held]", limit: int, dense: "Dense | None") -> JsonObject:
        def best(found: "Found") -> list[tuple[SourceId, TableName]]:
            return [*islice(found.tables, max(1, min(limit, MOST_TABLES)))]

        found, tables = self._reader.with_schemas(
            lambda schemas: (found := schemas.found(query, held, dense), best(found))
        )
        known = [each for each in tables if each[0] in held and each[1] in held[each[0]].schema.by_name]
        entries: list[Json] = [
            _entry(query, held[id], id, name, {other for where, other in known if where == id}, place)
            for place, (id, name) in enumerate(known)
        ]
        return {"tables": entries, "ranker": found.ranker}


def _entry(
    query: str, held: "Held", source: SourceId, name: TableName, beside: set[TableName], place: int
) -> JsonObject:
    from pegboard.search.tables import columns_meant

    schema = held.schema
    wanted = columns_meant(query, schema.by_name[name])
    most = _MOST_COLUMNS if place < USUAL_TABLES else _FEWER_COLUMNS
    return {
        "source": str(source),
        "dialect": schema.dialect.title,
        **outline(schema, name, wanted, held.samples.get(name), most),
        "example": example(schema, name, wanted, beside),
    }


def _notice(id: SourceId, reading: Reading) -> str | None:
    if reading.trouble is not None:
        known = " What is told of it is from before." if reading.held is not None else ""
        return f"Database {str(id)!r} cannot be read: {without_folders(reading.trouble)}{known}"
    if reading.held is None:
        return f"Database {str(id)!r} is still being read. Search again in a moment."
    return None


def _nothing(held: "Mapping[SourceId, Held]") -> str:
    """Of few tables the names help more than any advice."""
    names = {id: [called(name, each.schema) for name in each.schema.by_name] for id, each in held.items()}
    searched = sum(map(len, names.values()))
    if not searched:
        return "There are no tables to search."
    if searched > _FEW_TABLES:
        return (
            f"None of {searched} tables fits these words. Search with other words, for example what its columns hold."
        )
    told = "; ".join(f"{id} has {', '.join(tables)}" for id, tables in names.items() if tables)
    return f"No table fits these words: {told}."
