"""A connection to a SQLite file under limits, and what SQLite asks while it compiles a statement: may this table,
column, function or pragma be used?

SQLite asks for every column read, also within views, subqueries and triggers. It does not ask for the columns that
`NATURAL JOIN` and `JOIN … USING` compare. Statements cannot reach closed ones that way, because each compiles on the
shadow first; views and triggers are closed by their text (`shadow.py`).
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from pegboard.core.databases.rows import QueryAnswer, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import DatabaseAccess
from pegboard.providers.database.common import quote_name
from pegboard.providers.database.sqlite.statement import READ_ONLY

MAIN: Final = "main"
_FUNCTIONS: Final = frozenset(
    """
    -> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling changes char coalesce concat concat_ws cos
    cosh count cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value
    floor format glob group_concat hex highlight if ifnull iif instr json json_array json_array_insert
    json_array_length json_error_position json_extract json_group_array json_group_object json_insert json_object
    json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid jsonb jsonb_array
    jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch
    jsonb_remove jsonb_replace jsonb_set julianday lag last_insert_rowid last_value lead length like likelihood likely
    ln log log10 log2 lower ltrim match max median min mod nth_value ntile nullif octet_length offsets percent_rank
    percentile percentile_cont percentile_disc pi pow power printf quote radians random randomblob rank replace round
    row_number rtrim sign sin sinh snippet soundex sqlite_version sqrt strftime string_agg substr substring subtype sum
    tan tanh time timediff total total_changes trim trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely
    upper zeroblob
    """.split()  # noqa: SIM905 - a list of one word a line would be pages long
)
"""Those that compute from their arguments alone."""
_PRAGMAS: Final = frozenset(
    {"collation_list", "compile_options", "foreign_key_list", "function_list", "index_info", "index_list"}
    | {"index_xinfo", "table_info", "table_list", "table_xinfo"}
)
"""Those that describe the schema. `database_list` is not among them: it shows where the file is."""
_READ_PRAGMAS: Final = frozenset(
    {"application_id", "data_version", "encoding", "page_count", "page_size", "schema_version", "user_version"}
)
"""Those that return a number of the file, and set it when they are given one."""
_INTERNAL_PRAGMA: Final = "data_version"
"""A full-text index asks for it by itself, to see whether its cache is still valid."""
TABLE_FUNCTIONS: Final = frozenset({"json_each", "json_tree"})
CATALOG: Final = frozenset({"sqlite_master", "sqlite_schema", *(f"pragma_{name}" for name in _PRAGMAS)})
"""Tables that describe the schema."""

_USE_KNOWN_TABLES: Final = "Read tables and views that search_schemas tells."
_SCHEMA_CHANGE: Final = StatementRefusal(
    "The statement changes the schema, the connection or its transaction.", "Write one SELECT statement."
)
WRITES_BEYOND: Final = StatementRefusal(
    "The statement would read or write, by a trigger, a foreign key or a virtual table, more than this source shows.",
    "Change rows of another table, or ask the operator of this source for the change.",
)
_READS_BEYOND: Final = StatementRefusal(
    "The statement would read, by a virtual table, more than this source shows.", _USE_KNOWN_TABLES
)

_MAX_HEAP_BYTES: Final = 128 * 1024 * 1024
_LIMITS: Final = (
    (sqlite3.SQLITE_LIMIT_LENGTH, 32_000_000),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 400_000),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 5_000),
    (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 100),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 20),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
_SETTINGS: Final = (
    # The authorizer judges the functions and virtual tables that views and triggers use, and triggers that keep a
    # full-text index up to date need this.
    "PRAGMA trusted_schema = ON",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
    "PRAGMA mmap_size = 0",
    f"PRAGMA hard_heap_limit = {_MAX_HEAP_BYTES}",
    # What a change reaches by a key is asked of the authorizer only so.
    "PRAGMA foreign_keys = ON",
)


@dataclass(frozen=True, slots=True)
class ClosedObjects:
    """What the access rules close of a file, in lower case."""

    tables: frozenset[str] = frozenset()
    columns: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """By table, for tables that are open themselves."""

    @classmethod
    def of(cls, schema: DatabaseSchema, access: DatabaseAccess) -> "ClosedObjects":
        columns = {
            table.name.table.lower(): frozenset(
                column.name.lower() for column in table.columns if not access.allows_column(*table.name, column.name)
            )
            for table in schema.tables
            if access.allows_table(*table.name)
        }
        tables = frozenset(table.name.table.lower() for table in schema.tables)
        return cls(tables - columns.keys(), {table: names for table, names in columns.items() if names})

    def has_column(self, table: str, column: str) -> bool:
        return table in self.tables or column.lower() in self.columns.get(table, ())

    def is_mentioned_in(self, text: str) -> bool:
        """Whether a closed table, or a table with one of its closed columns, is named anywhere in it."""
        words = text.lower()
        return any(_mentions(words, table) for table in self.tables) or any(
            _mentions(words, table) and any(_mentions(words, column) for column in columns)
            for table, columns in self.columns.items()
        )


def _mentions(words: str, name: str) -> bool:
    """Also as a part of a longer name, such as that of an index."""
    return name in words and re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", words) is not None


@dataclass(slots=True)
class GuardedConnection:
    """A connection with the authorizer that judges its statements. All names are in lower case."""

    connection: sqlite3.Connection
    known_tables: frozenset[str]
    """All tables and views of the file."""
    closed_objects: ClosedObjects = field(default_factory=ClosedObjects)
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    """For each table that a virtual table keeps its content in, the virtual table."""
    triggers: frozenset[str] = frozenset()
    unheard_triggers: frozenset[str] = frozenset()
    """Triggers that may compare closed columns without SQLite asking."""
    trusted_views: frozenset[str] = frozenset()
    """Views that may read what is closed, because the operator allows them by name."""
    masks: frozenset[str] = frozenset()
    """Tables that statements read through a temporary view of their open columns."""
    hides_catalog: bool = False
    are_names_checked: bool = False
    """Statements have compiled on the shadow before: each name in them is one of an open table, or their own."""
    may_write: bool = False
    writable_indexes: frozenset[str] = frozenset()
    """Virtual tables that the statement writes: they write the tables of their content themselves."""
    denial: QueryAnswer | None = None
    """Why the last statement was not compiled."""
    read_tables: set[str] = field(default_factory=set[str])
    """Tables that the last statement names."""
    written_tables: set[str] = field(default_factory=set[str])
    within: set[str] = field(default_factory=set[str])
    """Views, triggers and named subqueries that it reads through."""
    unread: set[str] = field(default_factory=set[str])
    """Closed tables that it names, or names something else alike, and reads no column of."""
    reads_catalog: bool = False
    _is_paused: bool = False

    @contextmanager
    def pause(self) -> Iterator[None]:
        """For statements of our own."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    @contextmanager
    def allow_writes(self) -> Iterator[None]:
        """For statements that may change rows."""
        self.may_write = True
        try:
            yield
        finally:
            self.may_write = False

    def execute_own(self, *statements: str) -> None:
        with self.pause():
            for statement in statements:
                self.connection.execute(statement).close()

    def begin(self) -> None:
        """Before each statement."""
        self.denial, self.read_tables, self.written_tables, self.within, self.unread = None, set(), set(), set(), set()
        self.reads_catalog = False

    def reaches_closed(self, statement_names: frozenset[str]) -> bool:
        """Whether the last statement, of these names, counts the rows of something closed by a trigger or a view. A
        statement may itself give the name of a closed table to a query."""
        reached = self.unread | (self.within & self.closed_objects.tables) - self.trusted_views
        return bool(reached) and (not reached <= statement_names or not self.within.isdisjoint(self.triggers))

    def __call__(self, action: int, first: str | None, second: str | None, schema: str | None, via: str | None) -> int:
        if self._is_paused:
            return sqlite3.SQLITE_OK
        denial = self._judge(action, first or "", second or "", schema or MAIN, (via or "").lower())
        if denial is None:
            return sqlite3.SQLITE_OK
        self.denial = self.denial or denial
        return sqlite3.SQLITE_DENY

    def _judge(self, action: int, first: str, second: str, schema: str, via: str) -> QueryAnswer | None:
        self.within.add(via)
        if via in self.unheard_triggers:
            return self._unknown(first)
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                return None
            case sqlite3.SQLITE_READ:
                return None if self._may_read(first.lower(), second, schema, via) else self._unknown(first)
            case sqlite3.SQLITE_FUNCTION if second.lower() in _FUNCTIONS:
                return None
            case sqlite3.SQLITE_FUNCTION:
                why = f"The function {second}() is not among those that a statement may use."
                return StatementRefusal(why, "Use functions that compute from their arguments alone.")
            case sqlite3.SQLITE_PRAGMA:
                name = first.lower()
                self.reads_catalog |= name != _INTERNAL_PRAGMA
                if name in _PRAGMAS or (name in _READ_PRAGMAS and not second):
                    return None
                fix = "Use table_list, table_info, index_list or foreign_key_list, or read sqlite_schema."
                return StatementRefusal(
                    f"PRAGMA {first} is not among those that may be used, or not with a value.", fix
                )
            case sqlite3.SQLITE_INSERT | sqlite3.SQLITE_DELETE | sqlite3.SQLITE_UPDATE:
                self.written_tables.add(first.lower())
                column = second if action == sqlite3.SQLITE_UPDATE else ""
                return None if self._may_write(first.lower(), column, schema) else self._unwritable(first)
            case _:
                return _SCHEMA_CHANGE

    def _may_read(self, table: str, column: str, schema: str, via: str) -> bool:
        self.read_tables.add(table)
        if table in CATALOG:
            self.reads_catalog = True
            return schema == MAIN and not self.hides_catalog
        if table in TABLE_FUNCTIONS and table not in self.known_tables:
            return True
        if table.startswith("sqlite_temp_") or (table.startswith("sqlite_") and self.hides_catalog):
            return False
        if schema != MAIN:
            return schema == "temp" and table in self.masks
        if via in self.trusted_views:
            return table in self.known_tables
        if not column:
            # SQLite also asks this for the name that a statement gives to a query of its own.
            if table in self.closed_objects.tables:
                self.unread.add(table)
                return self.are_names_checked
            return True
        return table in self.known_tables and not self.closed_objects.has_column(self.owners.get(table, table), column)

    def _may_write(self, table: str, column: str, schema: str) -> bool:
        if (
            not self.may_write
            or schema != MAIN
            or table not in self.known_tables - self.masks
            or table.startswith("sqlite_")
        ):
            return False
        if (owner := self.owners.get(table)) is not None:
            return owner in self.writable_indexes
        if column:
            return not self.closed_objects.has_column(table, column)
        return table not in self.closed_objects.tables

    def _unknown(self, name: str) -> QueryAnswer:
        if self.are_names_checked:
            # The statement compiled where nothing closed exists, so something else reads this.
            return WRITES_BEYOND if self.may_write else _READS_BEYOND
        return StatementFailure(f"no such table: {name}", None, StatementFault.NO_TABLE, name)

    def _unwritable(self, name: str) -> QueryAnswer:
        if self.may_write and (owner := self.owners.get(name.lower())) is not None:
            return StatementRefusal(f"{name!r} is kept by {owner!r}, which alone writes it.", f"Write to {owner}.")
        if name.lower().startswith("sqlite_"):
            # SQLite registers a virtual table of its own in the schema when a statement first names it.
            return StatementRefusal(
                "The statement reads what is not among the tables of the source.", _USE_KNOWN_TABLES
            )
        if not self.may_write:
            return READ_ONLY
        if self.are_names_checked:
            return WRITES_BEYOND
        return StatementRefusal(f"{name!r} can only be read here.", "Write to a table all of whose columns are open.")


def connect(path: str | None, *, writable: bool = False) -> sqlite3.Connection:
    """To a file, or else to memory. Raises as `sqlite3` does."""
    address = ":memory:" if path is None else f"file:{quote(path)}?mode={'rw' if writable else 'ro'}"
    # The authorizer is asked when a statement is compiled and not when it runs: a cached one would not be judged again.
    connection = sqlite3.connect(
        address, uri=True, isolation_level=None, check_same_thread=False, timeout=2.0, cached_statements=0
    )
    # Text that is not UTF-8 is shown as far as it can be read.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").close()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def restrict(guard: GuardedConnection) -> None:
    """From here on only what the authorizer allows is compiled, and within limits."""
    register_virtual_tables(guard, (*TABLE_FUNCTIONS, *CATALOG))
    guard.execute_own(*_SETTINGS)
    for limit, value in _LIMITS:
        guard.connection.setlimit(limit, value)
    guard.connection.set_authorizer(guard)


def register_virtual_tables(guard: GuardedConnection, names: Iterable[str]) -> None:
    """Now, because SQLite asks the authorizer for a change of the schema when a statement first names one."""
    for name in names:
        try:
            guard.execute_own(f"EXPLAIN SELECT * FROM {quote_name(name)}")  # noqa: S608 - it is quoted
        except sqlite3.Error:
            # Older versions of SQLite lack some.
            continue
