"""How long it takes until five thousand tables of a real server can be searched: its schema read as an engine reads
it, and taken apart by words."""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from benchmarks import table
from benchmarks.database import servers
from benchmarks.database.sales import Measurable
from benchmarks.database.searching import GOAL_SECONDS, MANY, many_tables
from benchmarks.gateway.peers.environment import Unavailable
from pegboard.core.model.databases import DatabaseId
from pegboard.search.tables import IndexedDatabase, TableIndex

_ENGINES: Final[Mapping[str, Callable[[Path], AbstractAsyncContextManager[Measurable | Unavailable]]]] = {
    "PostgreSQL": servers.postgresql,
    "MariaDB": servers.mariadb,
}


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Thousands:
    engine: str
    tables: int
    read: float
    """Seconds until the engine told its schema."""
    indexed: float
    """Seconds more until a question was answered."""
    stamp: float
    """Seconds to see that nothing has changed."""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


async def thousands(count: int = MANY) -> list[Thousands | tuple[str, Unavailable]]:
    found: list[Thousands | tuple[str, Unavailable]] = []
    for name, opened in _ENGINES.items():
        with TemporaryDirectory() as folder:
            async with opened(Path(folder)) as one:
                found.append((name, one) if isinstance(one, Unavailable) else await _measured(one, count))
    return found


async def _measured(one: Measurable, count: int) -> Thousands:
    for statement in _made(one.name, count):
        await one.bare(statement)
    schema, read = await _timed(one.engine.schema)
    _, stamp = await _timed(one.engine.schema_version)
    started = time.perf_counter()
    schemas, source = TableIndex(), DatabaseId("many")
    schemas.update(source, IndexedDatabase.of(source, schema, {}))
    schemas.search("customers", [source])
    return Thousands(one.name, len(schema.tables), read, time.perf_counter() - started, stamp)


async def _timed(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    started = time.perf_counter()
    return await work(), time.perf_counter() - started


def _made(engine: str, count: int) -> Iterator[str]:
    """Tables of the names that the fixture has, each with as many columns, all of one type."""
    for each in many_tables(count).tables:
        columns = ", ".join(f"{_quoted(engine, column.name)} int" for column in each.columns)
        yield f"CREATE TABLE {_quoted(engine, each.name.table[-50:])} ({columns})"
    if engine == "PostgreSQL":
        yield "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"


def _quoted(engine: str, name: str) -> str:
    sign = "`" if engine == "MariaDB" else '"'
    return f"{sign}{name.replace(sign, '')}{sign}"


def as_text(found: Sequence[Thousands | tuple[str, Unavailable]]) -> str:
    headings = ("tables of a server", "tables", "read s", "indexed s", "together s", "goal s", "unchanged s")
    cells = [
        (
            each.engine,
            f"{each.tables:,}",
            *(table.number(spent, 2) for spent in (each.read, each.indexed, each.read + each.indexed)),
            table.number(GOAL_SECONDS),
            table.number(each.stamp, 2),
        )
        if isinstance(each, Thousands)
        else (each[0], f"not measured: {each[1].reason}")
        for each in found
    ]
    return table.render(headings, cells)
