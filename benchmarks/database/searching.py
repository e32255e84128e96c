"""How well tables are found for the questions of the fixture, and what it costs to index five thousand of them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Final

import anyio

from benchmarks import table
from benchmarks.database.fixture import Question, databases, questions
from benchmarks.database.shelf import SchemaAlone, Shelved
from benchmarks.gateway.peers.environment import Unavailable
from benchmarks.retrieval.meaning import Kept, all_read
from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, TableColumn, TableName
from pegboard.core.model.databases import DatabaseId
from pegboard.gateway.databases.schema_search import SchemaFinder
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.providers.embedding.minilm import MiniLmEncoder, model_folder
from pegboard.search.tables import IndexedDatabase, TableIndex

AT: Final = 5
MANY: Final = 5_000
GOAL_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Hits:
    """Of a hundred questions, in percent."""

    ranker: str
    questions: int
    first: float
    """A table that answers it stands first."""
    any: float
    """One is among the first five."""
    all: float
    """All that it takes are."""
    p50: float
    """Milliseconds of CPU of one search."""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Indexed:
    tables: int
    seconds: float
    again: float
    """Seconds after one of the tables has changed."""
    p50: float
    """Milliseconds of a search among them."""

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "goal_seconds": GOAL_SECONDS}


async def lexical(misses: list[str]) -> Hits:
    return await _asked(SchemaFinder(_sources), questions(), "lexical", misses)


async def hybrid(directory: Path | Unavailable, misses: list[str]) -> Hits | Unavailable:
    if isinstance(directory, Unavailable):
        return directory
    encoder = MiniLmEncoder(model_folder(directory))
    meanings = EmbeddingIndex(encoder, Kept(), lambda: datetime.now(UTC), settling=0)
    finder = SchemaFinder(_sources, meanings)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(finder.run)
            await finder.search("anything")
            trouble = await all_read(meanings)
            told = Unavailable(trouble) if trouble else await _asked(finder, questions(), "hybrid", misses)
            tasks.cancel_scope.cancel()
    finally:
        encoder.close()
    return told


_SHELVED: Final = {source: Shelved(SchemaAlone(schema)) for source, schema in databases().items()}


def _sources() -> Mapping[DatabaseId, Shelved]:
    return _SHELVED


async def _asked(finder: SchemaFinder, asked: Sequence[Question], ranker: str, misses: list[str]) -> Hits:
    await finder.search("warm up")
    first = any_found = all_found = 0
    spent = []
    for question in asked:
        started = time.process_time_ns()
        answer = await finder.search(question.text, limit=AT)
        spent.append((time.process_time_ns() - started) / 1e6)
        if answer["ranker"] != ranker:
            raise RuntimeError(f"The answer was by {answer['ranker']!r}, and {ranker!r} is measured.")
        wanted = {f"{source}:{name}" for source, name in question.tables}
        tables = answer["tables"]
        assert isinstance(tables, list)
        found = [_full(entry) for entry in tables if isinstance(entry, dict)]
        first += found[:1] != [] and found[0] in wanted
        any_found += not wanted.isdisjoint(found)
        all_found += wanted.issubset(found)
        if wanted.isdisjoint(found):
            misses.append(f"{question.text} ({', '.join(sorted(wanted))}; found {', '.join(found)})")
    share = 100 / len(asked)
    return Hits(ranker, len(asked), first * share, any_found * share, all_found * share, median(spent))


def _full(entry: Mapping[str, object]) -> str:
    """As the fixture names it: an answer leaves out the schema of bare names, and quotes others."""
    name = str(entry["table"]).replace('"', "")
    return f"{entry['source']}:{name if '.' in name else f'public.{name}'}"


def indexed(rounds: int) -> Indexed:
    schema = many_tables(MANY)
    source = DatabaseId("many")
    changed = DatabaseSchema(
        schema.dialect,
        (DatabaseTable(schema.tables[0].name, (TableColumn("other", "text"),)), *schema.tables[1:]),
        schema.relations,
    )
    made, again, spent = [], [], []
    for _ in range(rounds):
        schemas = TableIndex()
        started = time.perf_counter()
        held = IndexedDatabase.of(source, schema, {})
        schemas.update(source, held)
        schemas.search("customers", [source])
        made.append(time.perf_counter() - started)
        started = time.perf_counter()
        schemas.update(source, IndexedDatabase.of(source, changed, {}, held))
        schemas.search("customers", [source])
        again.append(time.perf_counter() - started)
        for question in questions():
            started = time.perf_counter()
            [*islice(schemas.search(question.text, [source]).tables, AT)]
            spent.append((time.perf_counter() - started) * 1e3)
    return Indexed(len(schema.tables), median(made), median(again), median(spent))


def many_tables(count: int) -> DatabaseSchema:
    """The fixture's own tables again and again, each time in other schemas and with another ending."""
    known = [each for schema in databases().values() for each in schema.tables]
    dialect = next(iter(databases().values())).dialect
    tables = (
        DatabaseTable(
            TableName(f"{each.name.schema}_{number // len(known)}", f"{each.name.table}_{number}"), *_rest(each)
        )
        for number, each in enumerate(islice(cycle(known), count))
    )
    return DatabaseSchema(dialect, tuple(tables))


def _rest(each: DatabaseTable) -> tuple[tuple[TableColumn, ...], tuple[str, ...], str]:
    return each.columns, each.key, each.comment


def as_text(rows: Sequence[Hits | Unavailable], many: Indexed) -> str:
    headings = ("questions answered by", "first", f"one in {AT}", f"all in {AT}", "CPU ms")
    cells = [
        ("hybrid", f"not measured: {each.reason}")
        if isinstance(each, Unavailable)
        else (
            each.ranker,
            *(table.number(share, 0, " %") for share in (each.first, each.any, each.all)),
            table.number(each.p50, 2),
        )
        for each in rows
    ]
    found = table.render(headings, cells)
    size = table.render(
        ("index by words", "s", "goal s", "one changed s", "search ms"),
        [
            (
                f"{many.tables:,} tables",
                table.number(many.seconds, 2),
                table.number(GOAL_SECONDS),
                table.number(many.again, 2),
                table.number(many.p50, 2),
            )
        ],
    )
    return f"{found}\n\n{size}"
