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

from pegboard.core.database import Database, Limits, Rows, Schema, SourceId, Table, TableName
from pegboard.core.database.outline import called, quoted
from pegboard.gateway.bell import Bell
from pegboard.gateway.cancellation import contained
from pegboard.memory import undisturbed
from pegboard.ports.databases import Engine, SourceError

if TYPE_CHECKING:
    from pegboard.search.schemas import Held, Samples, Schemas

log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_VALUES: Final = 20
"""Different ones in a column; one that has more gives none."""
LONGEST: Final = 40
_MOST_COLUMNS: Final = 20
_ROWS: Final = 500
_LIMITS: Final = Limits(rows=_ROWS, bytes=500_000, cell=4 * LONGEST, seconds=3.0)
_TEXTS: Final = ("char", "text", "string", "enum")


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds."""

    fresh: float = 1.0
    """For which a source is not looked at again."""
    patience: float = 2.0
    """That a search waits for a look at what is known already. The look goes on in the background."""
    first: float = 20.0
    """That it waits for what is not known yet."""


USUAL: Final = Pace()


class Opened(Protocol):
    """A database in use. Another object is another database, or the same with other settings."""

    @property
    def database(self) -> Database: ...

    async def asked(self, work: Callable[[Engine], Awaitable[T]]) -> T:
        """Raises `SourceError`."""
        ...


@dataclass(eq=False)
class Reading:
    """What is known of one source."""

    source: Opened
    held: "Held | None" = None
    stamp: str | None = None
    looked_at: float = float("-inf")
    trouble: str | None = None
    """Why it could not be read when it was last looked at."""
    is_looking: bool = False
    looked: anyio.Event = field(default_factory=anyio.Event)


class Reader:
    """Asked from the event loop; taking schemas apart goes on beside it."""

    def __init__(self, sources: Callable[[], Mapping[SourceId, Opened]], pace: Pace = USUAL) -> None:
        self._sources = sources
        self._pace = pace
        self._known: dict[SourceId, Reading] = {}
        self._schemas: Schemas | None = None
        self._one = Lock()
        self._tasks: TaskGroup | None = None
        self.changed: Final = Bell()

    async def run(self) -> None:
        """Until cancelled: looks begin here, and outlive whoever asked for them."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await anyio.sleep_forever()
            finally:
                self._tasks = None

    async def looked_at(self, wanted: Collection[SourceId] | None = None) -> Mapping[SourceId, Reading]:
        """Those in use, of these, as they are now or were a moment ago."""
        self._align()
        chosen = {id: known for id, known in self._known.items() if wanted is None or id in wanted}
        now = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            for id, known in chosen.items():
                if known.is_looking or now - known.looked_at >= self._pace.fresh:
                    tasks.start_soon(self._awaited, id, known)
        return chosen

    def with_schemas(self, work: "Callable[[Schemas], T]") -> T:
        """For one at a time, in whichever thread."""
        from pegboard.search.schemas import Schemas

        with self._one:
            if self._schemas is None:
                self._schemas = Schemas()
            return work(self._schemas)

    def _align(self) -> None:
        """Nothing is told of a source that is gone or has other settings: it may show less now."""
        sources = self._sources()
        for id, known in [*self._known.items()]:
            if sources.get(id) is not known.source:
                del self._known[id]
                self.with_schemas(lambda schemas, id=id: schemas.drop(id))  # type: ignore[misc] # bound at once
                self.changed.ring()
        for id, source in sources.items():
            self._known.setdefault(id, Reading(source))

    async def _awaited(self, id: SourceId, known: Reading) -> None:
        with anyio.move_on_after(self._pace.first if known.held is None else self._pace.patience):
            if known.is_looking:
                await known.looked.wait()
                return
            known.is_looking, known.looked = True, anyio.Event()
            if self._tasks is None:
                await self._look(id, known)
            else:
                self._tasks.start_soon(self._look, id, known, name=f"reading the schema of database {id}")
                await known.looked.wait()

    async def _look(self, id: SourceId, known: Reading) -> None:
        try:
            with contained():
                await self._read(id, known)
            known.trouble = None
        except SourceError as error:
            known.trouble = str(error)
        except Exception:  # a supervised task: one database must not end the search in the others
            log.exception("Reading the schema of database %s failed", id)
            known.trouble = "reading its schema failed; see the log."
        finally:
            known.looked_at = anyio.current_time()
            known.is_looking = False
            known.looked.set()

    async def _read(self, id: SourceId, known: Reading) -> None:
        stamp = await known.source.asked(lambda engine: engine.stamp())
        if known.held is not None and stamp == known.stamp:
            return
        schema = await known.source.asked(lambda engine: engine.schema())
        before = known.held
        samples, missing = kept_of(before, schema)
        await self._take(id, known, schema, samples)
        known.stamp = stamp
        if known.source.database.samples and missing:
            # Tables are found by their names before their values are read.
            known.looked.set()
            more = await known.source.asked(lambda engine: samples_of(engine, schema, missing))
            if more:
                await self._take(id, known, schema, {**samples, **more})

    async def _take(self, id: SourceId, known: Reading, schema: Schema, samples: "Samples") -> None:
        held = await anyio.to_thread.run_sync(_held, id, schema, samples, known.held, abandon_on_cancel=True)
        former = known.held

        def take(schemas: "Schemas") -> bool:
            # Whoever leaves a source forgets it first and drops it here afterwards, so it is never taken for good.
            if self._known.get(id) is not known:
                return False
            schemas.take(id, held)
            return True

        if not await anyio.to_thread.run_sync(self.with_schemas, take):
            return
        known.held = held
        if former is None or former.part is not held.part:
            self.changed.ring()


def _held(id: SourceId, schema: Schema, samples: "Samples", former: "Held | None") -> "Held":
    from pegboard.search.schemas import Held

    with undisturbed():
        return Held.of(id, schema, samples, former)


async def samples_of(
    engine: Engine, schema: Schema, tables: Iterable[Table]
) -> dict[TableName, dict[str, tuple[str, ...]]]:
    """Short texts of few different values, from the first rows of each table: columns of many values name people and
    things, and nobody asks for those by a word. A table that cannot be read in good time has none."""
    found: dict[TableName, dict[str, tuple[str, ...]]] = {}
    for table in tables:
        columns = _columns(table)
        if not columns or table.is_view:
            continue
        named = ", ".join(quoted(column, schema.dialect) for column in columns)
        statement = f"SELECT {named} FROM {called(table.name, schema)} LIMIT {_ROWS}"  # noqa: S608 - all is quoted
        answer = await engine.run(statement, (), _LIMITS)
        if isinstance(answer, Rows) and (values := _values(columns, answer)):
            found[table.name] = values
    return found


def _columns(table: Table) -> Sequence[str]:
    texts = (column.name for column in table.columns if any(text in column.type.casefold() for text in _TEXTS))
    return [name for name in texts if name not in table.key][:_MOST_COLUMNS]


def _values(columns: Sequence[str], answer: Rows) -> dict[str, tuple[str, ...]]:
    kept: dict[str, tuple[str, ...]] = {}
    for number, column in enumerate(columns):
        values = [row[number] for row in answer.rows if row[number] is not None]
        texts = sorted({value for value in values if isinstance(value, str)})
        # A list or an object is no word, even of a column whose type tells of texts.
        is_of_texts = all(isinstance(value, str) for value in values)
        is_short = all(0 < len(text) <= LONGEST and text.isprintable() for text in texts)
        if texts and is_of_texts and is_short and len(texts) <= MOST_VALUES:
            kept[column] = tuple(texts)
    return kept


def kept_of(former: "Held | None", now: Schema) -> tuple[dict[TableName, Mapping[str, tuple[str, ...]]], list[Table]]:
    """The samples of tables that are as they were, and the tables that have to be read."""
    if former is None:
        return {}, [*now.tables]
    before = former.schema.by_name
    same = {name for name, table in now.by_name.items() if before.get(name) == table}
    kept = {name: values for name, values in former.samples.items() if name in same}
    return kept, [table for name, table in now.by_name.items() if name not in same]
