"""What the databases in use hold, read in the background and kept for the search.

A source is looked at when somebody searches: its stamp says whether anything has changed, and only then its schema is
read again, of which only the tables that changed are taken apart.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from pegboard.core.databases.rows import QueryRows
from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, TableName, quote_identifier, quote_table
from pegboard.core.model.databases import DatabaseId, DatabaseSettings, QueryLimits
from pegboard.gateway.signals import ChangeSignal, contain_cancellation
from pegboard.memory import pause_garbage_collection
from pegboard.ports.databases import DatabaseEngine, SourceError

if TYPE_CHECKING:
    from pegboard.search.tables import IndexedDatabase, Samples, TableIndex


log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_VALUES: Final = 20
"""Different ones in a column; one that has more gives none."""
MAX_VALUE_CHARS: Final = 40
_MOST_COLUMNS: Final = 20
_ROWS: Final = 500
_LIMITS: Final = QueryLimits(rows=_ROWS, bytes=500_000, cell_chars=4 * MAX_VALUE_CHARS, seconds=3.0)
_TEXT_TYPES: Final = ("char", "text", "string", "enum")


@dataclass(frozen=True, slots=True)
class SchemaTimings:
    """Seconds."""

    max_age_s: float = 1.0
    """For which a source is not looked at again."""
    reread_wait_s: float = 2.0
    """That a search waits for a look at what is known already. The look goes on in the background."""
    first_read_wait_s: float = 20.0
    """That it waits for what is not known yet."""


DEFAULT_TIMINGS: Final = SchemaTimings()


class QueryableDatabase(Protocol):
    """A database in use. Another object is another database, or the same with other settings."""

    @property
    def database(self) -> DatabaseSettings: ...

    async def run_on_engine(self, work: Callable[[DatabaseEngine], Awaitable[T]]) -> T:
        """Raises `SourceError`."""
        ...


@dataclass(eq=False)
class SchemaState:
    """What is known of one source."""

    source: QueryableDatabase
    schema: "IndexedDatabase | None" = None
    version: str | None = None
    read_at: float = float("-inf")
    problem: str | None = None
    """Why it could not be read when it was last looked at."""
    is_reading: bool = False
    read_event: anyio.Event = field(default_factory=anyio.Event)


class SchemaReader:
    """Asked from the event loop; taking schemas apart goes on beside it."""

    def __init__(
        self, sources: Callable[[], Mapping[DatabaseId, QueryableDatabase]], pace: SchemaTimings = DEFAULT_TIMINGS
    ) -> None:
        self._sources = sources
        self._timings = pace
        self._known: dict[DatabaseId, SchemaState] = {}
        self._schemas: TableIndex | None = None
        self._lock = Lock()
        self._tasks: TaskGroup | None = None
        self.changes: Final = ChangeSignal()

    async def run(self) -> None:
        """Until cancelled: looks begin here, and outlive whoever asked for them."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await anyio.sleep_forever()
            finally:
                self._tasks = None

    async def current(self, wanted: Collection[DatabaseId] | None = None) -> Mapping[DatabaseId, SchemaState]:
        """Those in use, of these, as they are now or were a moment ago."""
        self._drop_replaced()
        chosen = {id: known for id, known in self._known.items() if wanted is None or id in wanted}
        now = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            for id, known in chosen.items():
                if known.is_reading or now - known.read_at >= self._timings.max_age_s:
                    tasks.start_soon(self._wait_for_schema, id, known)
        return chosen

    def with_schemas(self, work: "Callable[[TableIndex], T]") -> T:
        """For one at a time, in whichever thread."""
        from pegboard.search.tables import TableIndex

        with self._lock:
            if self._schemas is None:
                self._schemas = TableIndex()
            return work(self._schemas)

    def _drop_replaced(self) -> None:
        """Nothing is told of a source that is gone or has other settings: it may show less now."""
        sources = self._sources()
        for id, known in [*self._known.items()]:
            if sources.get(id) is not known.source:
                del self._known[id]
                self.with_schemas(lambda schemas, id=id: schemas.remove(id))  # type: ignore[misc] # bound at once
                self.changes.notify()
        for id, source in sources.items():
            self._known.setdefault(id, SchemaState(source))

    async def _wait_for_schema(self, id: DatabaseId, known: SchemaState) -> None:
        with anyio.move_on_after(
            self._timings.first_read_wait_s if known.schema is None else self._timings.reread_wait_s
        ):
            if known.is_reading:
                await known.read_event.wait()
                return
            known.is_reading, known.read_event = True, anyio.Event()
            if self._tasks is None:
                await self._refresh(id, known)
            else:
                self._tasks.start_soon(self._refresh, id, known, name=f"reading the schema of database {id}")
                await known.read_event.wait()

    async def _refresh(self, id: DatabaseId, known: SchemaState) -> None:
        try:
            with contain_cancellation():
                await self._fetch(id, known)
            known.problem = None
        except SourceError as error:
            known.problem = str(error)
        except Exception:  # a supervised task: one database must not end the search in the others
            log.exception("Reading the schema of database %s failed", id)
            known.problem = "reading its schema failed; see the log."
        finally:
            known.read_at = anyio.current_time()
            known.is_reading = False
            known.read_event.set()

    async def _fetch(self, id: DatabaseId, known: SchemaState) -> None:
        stamp = await known.source.run_on_engine(lambda engine: engine.schema_version())
        if known.schema is not None and stamp == known.version:
            return
        schema = await known.source.run_on_engine(lambda engine: engine.schema())
        before = known.schema
        samples, missing = reusable_samples(before, schema)
        await self._store(id, known, schema, samples)
        known.version = stamp
        if known.source.database.samples and missing:
            # Tables are found by their names before their values are read.
            known.read_event.set()
            more = await known.source.run_on_engine(lambda engine: samples_of(engine, schema, missing))
            if more:
                await self._store(id, known, schema, {**samples, **more})

    async def _store(self, id: DatabaseId, known: SchemaState, schema: DatabaseSchema, samples: "Samples") -> None:
        held = await anyio.to_thread.run_sync(_index_schema, id, schema, samples, known.schema, abandon_on_cancel=True)
        former = known.schema

        def take(schemas: "TableIndex") -> bool:
            # Whoever leaves a source forgets it first and drops it here afterwards, so it is never taken for good.
            if self._known.get(id) is not known:
                return False
            schemas.update(id, held)
            return True

        if not await anyio.to_thread.run_sync(self.with_schemas, take):
            return
        known.schema = held
        if former is None or former.part is not held.part:
            self.changes.notify()


def _index_schema(
    id: DatabaseId, schema: DatabaseSchema, samples: "Samples", former: "IndexedDatabase | None"
) -> "IndexedDatabase":
    from pegboard.search.tables import IndexedDatabase

    with pause_garbage_collection():
        return IndexedDatabase.of(id, schema, samples, former)


async def samples_of(
    engine: DatabaseEngine, schema: DatabaseSchema, tables: Iterable[DatabaseTable]
) -> dict[TableName, dict[str, tuple[str, ...]]]:
    """Short texts of few different values, from the first rows of each table: columns of many values name people and
    things, and nobody asks for those by a word. A table that cannot be read in good time has none."""
    found: dict[TableName, dict[str, tuple[str, ...]]] = {}
    for table in tables:
        columns = _columns(table)
        if not columns or table.is_view:
            continue
        named = ", ".join(quote_identifier(column, schema.dialect) for column in columns)
        statement = f"SELECT {named} FROM {quote_table(table.name, schema)} LIMIT {_ROWS}"  # noqa: S608 - all is quoted
        answer = await engine.run(statement, (), _LIMITS)
        if isinstance(answer, QueryRows) and (values := _values(columns, answer)):
            found[table.name] = values
    return found


def _columns(table: DatabaseTable) -> Sequence[str]:
    texts = (column.name for column in table.columns if any(text in column.type.casefold() for text in _TEXT_TYPES))
    return [name for name in texts if name not in table.key][:_MOST_COLUMNS]


def _values(columns: Sequence[str], answer: QueryRows) -> dict[str, tuple[str, ...]]:
    kept: dict[str, tuple[str, ...]] = {}
    for number, column in enumerate(columns):
        values = [row[number] for row in answer.rows if row[number] is not None]
        texts = sorted({value for value in values if isinstance(value, str)})
        # A list or an object is no word, even of a column whose type tells of texts.
        is_of_texts = all(isinstance(value, str) for value in values)
        is_short = all(0 < len(text) <= MAX_VALUE_CHARS and text.isprintable() for text in texts)
        if texts and is_of_texts and is_short and len(texts) <= MAX_VALUES:
            kept[column] = tuple(texts)
    return kept


def reusable_samples(
    former: "IndexedDatabase | None", now: DatabaseSchema
) -> tuple[dict[TableName, Mapping[str, tuple[str, ...]]], list[DatabaseTable]]:
    """The samples of tables that are as they were, and the tables that have to be read."""
    if former is None:
        return {}, [*now.tables]
    before = former.schema.by_name
    same = {name for name, table in now.by_name.items() if before.get(name) == table}
    kept = {name: values for name, values in former.samples.items() if name in same}
    return kept, [table for name, table in now.by_name.items() if name not in same]
