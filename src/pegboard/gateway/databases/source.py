"""One database in use: opened at the first request, checked, closed when the settings change."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pegboard.core.databases.rows import DatabaseCheck, DatabaseFinding
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.databases import DEFAULT_CALL_ROWS, DatabaseSettings, Dialect, VisibleDatabase
from pegboard.core.model.tool import ToolSpec
from pegboard.ports.databases import DatabaseEngine, EngineFactory, RoleScript, SourceError

log = logging.getLogger(__name__)

T = TypeVar("T")

OPEN_CHECK_TIMEOUT_S: Final = 20.0
CHECK_INTERVAL_S: Final = 60.0
"""For so long a check of what the login of a source may do is relied on; then the next call repeats it."""
CLOSE_TIMEOUT_S: Final = 10.0
CHECK_TIMEOUT_S: Final = 30.0
_MAX_UNMATCHED: Final = 5
MAX_CONCURRENT: Final = 16
"""Questions to one source at a time; more wait their turn."""


class ManagedDatabase:
    """Whatever runs in it ends when it is left: with `SourceError`, whose words go to whoever asked."""

    def __init__(self, database: DatabaseSettings, engines: EngineFactory) -> None:
        self.database: Final = database
        self.dialect: Final[Dialect | None] = engines.dialect(database)
        self._engines = engines
        self._engine: DatabaseEngine | None = None
        self._checked_at: float | None = None
        """On the monotonic clock; nothing until a check has passed."""
        self._discarded: list[DatabaseEngine] = []
        """Opened once and not used any more, until somebody closes them."""
        self._open_lock = anyio.Lock()
        self._concurrency = anyio.Semaphore(MAX_CONCURRENT)
        self._running: set[anyio.CancelScope] = set()
        self._retired_because = ""

    @property
    def tool_database(self) -> VisibleDatabase:
        """What callers are told of it."""
        known, dialect = self.database, "unknown" if self.dialect is None else self.dialect.title
        return VisibleDatabase(known.id, dialect, known.description, known.writes, known.limits.rows)

    async def run_on_engine(self, work: Callable[[DatabaseEngine], Awaitable[T]]) -> T:
        """What comes of it. Raises `SourceError` where the source cannot be opened, is not served, or is left."""
        return await self._run_until_retired(lambda: self._run_if_allowed(work))

    async def check(self) -> DatabaseCheck:
        """What an operator should know of it now. Raises `SourceError` where it cannot be opened."""
        return await self._run_until_retired(self._check_now)

    async def role_script(self, admin_url: str | None, *, apply: bool) -> RoleScript | None:
        """As the engine has it, also of a source that is refused for what its login may do."""
        async with self._open_lock:
            engine = await self._open_engine()
        return await engine.role_script(admin_url, apply=apply)

    def discard_engine(self) -> None:
        """It was not reached: the next who asks opens it anew, with the secrets of then."""
        if self._engine is not None:
            self._discarded.append(self._engine)
            self._engine = None

    def retire(self, why: str) -> None:
        self._retired_because = why
        self.discard_engine()
        for scope in tuple(self._running):
            scope.cancel()

    @property
    def has_discarded(self) -> bool:
        return bool(self._discarded)

    async def close_discarded(self) -> None:
        lost, self._discarded = self._discarded, []
        for engine in lost:
            await self._close_engine(engine)

    async def _run_until_retired(self, work: Callable[[], Awaitable[T]]) -> T:
        if self._retired_because:
            raise SourceError(self._retired_because)
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                return await work()
            finally:
                self._running.discard(scope)
        raise SourceError(self._retired_because)

    async def _run_if_allowed(self, work: Callable[[DatabaseEngine], Awaitable[T]]) -> T:
        async with self._concurrency:
            async with self._open_lock:
                engine = await self._open_engine()
                if self._checked_at is None or monotonic() - self._checked_at >= CHECK_INTERVAL_S:
                    refusal = self._refusal(await self._check_engine(engine))
                    if refusal is not None:
                        self.discard_engine()
                        raise SourceError(refusal)
                    self._checked_at = monotonic()
            return await work(engine)

    async def _check_now(self) -> DatabaseCheck:
        async with self._open_lock:
            checked = await self._check_engine(await self._open_engine())
            if self._refusal(checked) is None:
                self._checked_at = monotonic()
            else:
                self.discard_engine()
            return checked

    def _refusal(self, checked: DatabaseCheck) -> str | None:
        """Why the source is not served, as agents are told: without the names of what is closed."""
        is_forced = self.database.force and bool(checked.version)
        refusing = [each for each in checked.findings if each.severity.refuses(is_forced=is_forced)]
        if any(each.statements for each in refusing):
            id = self.database.id
            return (
                "its login may do more in the database than this board allows. Its operator runs "
                f"'pegboard db check {id}' for the details and 'pegboard db role {id}' for the statements that fix it."
            )
        return " ".join(each.message for each in refusing) or None

    async def _open_engine(self) -> DatabaseEngine:
        if self._engine is None:
            self._checked_at = None
            self._engine = await anyio.to_thread.run_sync(self._engines.open_engine, self.database)
        return self._engine

    async def _check_engine(self, engine: DatabaseEngine) -> DatabaseCheck:
        with anyio.move_on_after(OPEN_CHECK_TIMEOUT_S):
            return await engine.check()
        self.discard_engine()
        raise SourceError(
            f"it did not answer within {OPEN_CHECK_TIMEOUT_S:g} seconds. See whether it runs, and try again."
        )

    async def _close_engine(self, engine: DatabaseEngine) -> None:
        try:
            with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True) as closing:
                await engine.aclose()
        except Exception:  # its end is supervised here: it must keep neither the others nor the gateway from ending
            log.exception("Database %s broke while it was closed", self.database.id)
        else:
            if closing.cancelled_caught:
                log.error("Database %s was not closed within %g seconds", self.database.id, CLOSE_TIMEOUT_S)


@dataclass(frozen=True)
class SourceCheck:
    """What an operator should know of a database: whether it answers, as which login, what it shows, what is wrong."""

    source: ManagedDatabase
    result: DatabaseCheck | None = None
    schema: DatabaseSchema | None = None
    problem: str | None = None
    """Why it cannot be asked."""

    @property
    def findings(self) -> tuple[DatabaseFinding, ...]:
        """What its operator should know though it is served, or though it is not."""
        checked = () if self.result is None else self.result.findings
        return (*(each for each in checked if each.message != self.problem), *self._unmatched_patterns())

    def _unmatched_patterns(self) -> Iterator[DatabaseFinding]:
        if self.schema is None:
            return
        access = self.source.database.access
        vain = [
            str(pattern) for pattern in access.unmatched_patterns(self.schema.column_names()) if pattern in access.allow
        ]
        if vain:
            told = ", ".join(vain[:_MAX_UNMATCHED])
            yield DatabaseFinding(
                f"No readable table matches these patterns of allow: {told}. Correct them at "
                f"{self.source.database.origin}, or grant the login SELECT on the tables."
            )


async def run_database_checks(sources: Sequence[ManagedDatabase]) -> list[SourceCheck]:
    """All at once, each for as long as a look may take."""
    found: dict[int, SourceCheck] = {}

    async def look(place: int, source: ManagedDatabase) -> None:
        found[place] = await _check_database(source)

    async with anyio.create_task_group() as tasks:
        for place, source in enumerate(sources):
            tasks.start_soon(look, place, source, name=f"a check of database {source.database.id}")
    return [found[place] for place in range(len(sources))]


async def _check_database(source: ManagedDatabase) -> SourceCheck:
    checked: DatabaseCheck | None = None
    with anyio.move_on_after(CHECK_TIMEOUT_S):
        try:
            checked = await source.check()
            schema = await source.run_on_engine(lambda engine: engine.schema())
        except SourceError as error:
            return SourceCheck(source, checked, problem=str(error))
        return SourceCheck(source, checked, schema)
    return SourceCheck(source, checked, problem=f"it did not tell what it has within {CHECK_TIMEOUT_S:g} seconds.")


# The tools over databases as callers see them: descriptions with the sources, and schemas of arguments and answers.

SEARCH: Final = "search_schemas"
EXECUTE: Final = "execute_sql"
MAX_SQL_CHARS: Final = 100_000
MAX_QUERY_CHARS: Final = 2_000
DEFAULT_TABLES: Final = 5
MAX_TABLES: Final = 20
_MAX_PARAMETERS: Final = 1_000


def _object(required: Sequence[str] = (), /, description: str = "", **properties: Json) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties}
    if description:
        schema["description"] = description
    return {**schema, "required": [*required]} if required else schema


def _list(items: JsonObject | None = None, description: str = "") -> JsonObject:
    schema: JsonObject = {"type": "array", **({"items": items} if items is not None else {})}
    return {**schema, "description": description} if description else schema


def _value(type: str, description: str = "", **rest: Json) -> JsonObject:
    return {"type": type, **rest, **({"description": description} if description else {})}


_TEXT: Final = _value("string")
_NUMBER: Final = _value("integer")
_FLAG: Final = _value("boolean")

_ROWS: Final = _object(
    ("source", "columns", "rows", "row_count", "truncated", "milliseconds"),
    source=_TEXT,
    columns=_list(
        _object(
            ("name", "type"),
            name=_TEXT,
            type=_TEXT,
            written=_list(_TEXT, "How values are written that JSON has no word for."),
        )
    ),
    rows=_list(_list(), "Values in the order of the columns."),
    row_count=_value("integer", "How many rows these are."),
    truncated={
        **_object(
            (),
            "What was left out; null where this is all.",
            more_rows=_FLAG,
            by=_value("string", "The limit that was met: rows or bytes."),
            cut_values=_list(
                _object(row=_NUMBER, column=_TEXT, bytes=_value("integer", "Of the whole value.")),
                "Values that were cut, and end in …",
            ),
        ),
        "type": ["object", "null"],
    },
    changed_rows=_value("integer", "By a statement that changes the database."),
    milliseconds=_value("number"),
)
_TABLES: Final = _object(
    ("tables",),
    tables=_list(
        _object(
            ("source", "table", "columns"),
            source=_TEXT,
            dialect=_TEXT,
            table=_value("string", "As a statement writes it."),
            is_view=_FLAG,
            comment=_TEXT,
            rows_about=_NUMBER,
            columns=_list(
                _object(
                    ("name", "type"),
                    name=_TEXT,
                    type=_TEXT,
                    is_key=_FLAG,
                    is_required=_FLAG,
                    comment=_TEXT,
                    samples=_list(),
                )
            ),
            columns_left=_value("integer", "How many more there are."),
            joins=_list(_TEXT),
            joins_left=_NUMBER,
            example=_value("string", "A statement to begin with."),
        ),
        "The best first.",
    ),
    ranker=_TEXT,
    notices=_list(_TEXT),
)


def execute_spec(sources: Sequence[VisibleDatabase]) -> ToolSpec:
    is_writable = any(source.writes for source in sources)
    about_writes = " A statement that changes a database that may be changed waits for a person's yes."
    description = (
        "Runs one SQL statement in a database and answers with its rows. Find tables and columns with search_schemas "
        "first. Write values as parameters, not into the SQL. One statement a call, without comments for hiding; "
        f"EXPLAIN is allowed.{about_writes if is_writable else ''}\nDatabases:\n" + "\n".join(_lines(sources))
    )
    parameters: JsonObject = {
        "description": "Values for the statement's placeholders: a list by place, or an object by name.",
        "anyOf": [
            _value("array", maxItems=_MAX_PARAMETERS),
            _value("object", maxProperties=_MAX_PARAMETERS),
        ],
    }
    most_rows = max((source.rows for source in sources), default=DEFAULT_CALL_ROWS)
    arguments = _object(
        ("source", "sql"),
        source=_value("string", "Which database.", enum=_ids(sources)),
        sql=_value("string", "One statement, in the dialect of the database.", minLength=1, maxLength=MAX_SQL_CHARS),
        parameters=parameters,
        max_rows=_value(
            "integer", f"The most rows to answer with. By default {DEFAULT_CALL_ROWS}.", minimum=1, maximum=most_rows
        ),
    )
    return ToolSpec(
        EXECUTE,
        "Run SQL",
        description,
        _without_other_properties(arguments),
        _ROWS,
        _annotations(is_writable=is_writable),
    )


def search_spec(sources: Sequence[VisibleDatabase]) -> ToolSpec:
    description = (
        "Finds tables and columns of databases by what they mean: names, comments, keys and relations. Answers with "
        "columns and their types, relations and an example query for each table.\nDatabases:\n"
        + "\n".join(_lines(sources))
    )
    limit = _value("integer", "How many tables at most.", minimum=1, maximum=MAX_TABLES, default=DEFAULT_TABLES)
    arguments = _object(
        ("query",),
        query=_value("string", "What you want to know, in words.", minLength=1, maxLength=MAX_QUERY_CHARS),
        source=_value("string", "Only in this database.", enum=_ids(sources)),
        limit=limit,
    )
    return ToolSpec(
        SEARCH, "Search schemas", description, _without_other_properties(arguments), _TABLES, _annotations()
    )


def _without_other_properties(arguments: JsonObject) -> JsonObject:
    return {**arguments, "additionalProperties": False}


def _ids(sources: Sequence[VisibleDatabase]) -> list[Json]:
    return [str(source.id) for source in sources]


def _annotations(*, is_writable: bool = False) -> JsonObject:
    return {
        "readOnlyHint": not is_writable,
        "destructiveHint": is_writable,
        "idempotentHint": not is_writable,
        "openWorldHint": False,
    }


def _lines(sources: Sequence[VisibleDatabase]) -> Iterator[str]:
    for source in sources:
        may = ", may be changed" if source.writes else ""
        about = f": {source.description}" if source.description else ""
        yield f"- {source.id} ({source.dialect}{may}){about}"
