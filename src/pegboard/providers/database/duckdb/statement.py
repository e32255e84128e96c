"""DuckDB opened under settings, and one statement judged by its own parse: its kind, and the functions and tables that
it uses.

Which functions and tables of DuckDB's own there are is asked of the engine itself, so that a new version brings its new
ones. Functions that compute may be used; what is refused is what reads settings, files, secrets or the catalog, what
waits, and what leaves something behind.
"""

import datetime
import json
import re
import sys
import types
import zoneinfo
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import duckdb

from pegboard.core.databases.rows import QueryAnswer, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.databases.schema import TableName
from pegboard.core.json.values import Json
from pegboard.providers.database.common import quote_name

_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "256MB",
    "max_temp_directory_size": "0MB",
    "threads": "2",
    # Without this, an unknown table is looked up among the Python variables of this process.
    "python_enable_replacements": "false",
}
_TABLE_FUNCTIONS: Final = frozenset(
    {"generate_series", "json_each", "json_tree", "pg_timezone_names", "range", "repeat", "repeat_row", "unnest"}
)
_CATALOG_FUNCTIONS: Final = frozenset(
    {"duckdb_columns", "duckdb_constraints", "duckdb_functions", "duckdb_indexes", "duckdb_keywords"}
    | {"duckdb_schemas", "duckdb_tables", "duckdb_types", "duckdb_views", "pragma_show", "pragma_table_info"}
    | {"pragma_version"}
)
_CATALOG_SCHEMAS: Final = frozenset({"information_schema", "pg_catalog"})
_REFUSED_TABLES: Final = frozenset(
    {"duckdb_databases", "duckdb_logs", "pg_prepared_statements", "pg_settings", "pragma_database_list"}
    | {"sqlite_temp_master", "sqlite_temp_schema"}
)
"""They show where files are, what others asked, or the settings of the engine."""
_REFUSED_FUNCTION: Final = re.compile(
    r"add_parquet_key|currval|current_connection_id|current_setting|error|get_?env|getvariable|nextval|query.*|setseed"
    r"|setval|sleep_ms|stats|write_log|.*execute.*|.*serialize.*|read_.*|.*_scan|which_secret"
)
_READING_MACRO: Final = re.compile(r"\bselect\b|duckdb_|pragma_|sleep_ms|current_setting")
_SYNTAX: Final = frozenset(
    {"unnest", "row", "count_star", "grouping", "grouping_id", "ordinality", "row_number", "rank", "dense_rank", "fill"}
    | {"percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"}
)
"""What the parser writes as functions, and the catalog does not list."""
_FUNCTIONS: Final = """
    SELECT lower(function_name), lower(coalesce(string_agg(macro_definition, ' '), '')) FROM duckdb_functions()
    WHERE internal AND function_type IN ('scalar', 'aggregate', 'macro') GROUP BY 1, function_type = 'macro'
"""
_OWN_MACROS: Final = """
    SELECT lower(function_name), CASE function_type WHEN 'macro' THEN 'SELECT ' ELSE '' END || macro_definition,
        function_type = 'table_macro'
    FROM duckdb_functions() WHERE NOT internal AND function_type IN ('macro', 'table_macro')
"""
_CATALOG_TABLES: Final = """
    SELECT lower(view_name) FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'
"""

_INSTEAD: Final = "Write one SELECT, FROM, VALUES, WITH, DESCRIBE or SHOW statement, or EXPLAIN before one."
_EXPLAIN: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)
_PIVOT: Final = re.compile(r"\bpivot", re.IGNORECASE)
_OPEN_ENDED_PIVOT: Final = StatementRefusal(
    "PIVOT is run here only where the values that become columns are listed: DuckDB would look for them first, in a "
    "statement of its own.",
    "List them: PIVOT t ON c IN ('a', 'b') USING count(*). SELECT DISTINCT c FROM t tells which there are.",
)
_WRITES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO", "COPY"})
_SHOW_TABLES: Final = '"tables"'
_FILE_MARKS: Final = frozenset("./\\:~*?[")
"""Every name that DuckDB takes for that of a file has one of them: it needs an ending, such as `.duckdb`."""


@dataclass(frozen=True, slots=True)
class DuckdbStatement:
    """One that may be run."""

    is_explain: bool
    reads_catalog: bool
    names: frozenset[str]
    """Databases, schemas, tables and types that it names, in lower case."""
    parameters: frozenset[str]


class _RefusedError(Exception):
    def __init__(self, answer: StatementRefusal | StatementFailure) -> None:
        self.answer = answer


class Grammar:
    """DuckDB's parser, on an empty database of its own, and what may be used of DuckDB's own in a statement."""

    def __init__(self) -> None:
        self._connection = connect()
        found = self._connection.execute(_FUNCTIONS).fetchall()
        functions = {str(name) for name, macro in found if _READING_MACRO.search(str(macro)) is None} | _SYNTAX
        self._functions = frozenset(name for name in functions if _REFUSED_FUNCTION.fullmatch(name) is None)
        self._macros = frozenset[str]()
        self._table_functions = _TABLE_FUNCTIONS
        self._tables = frozenset[tuple[str, ...]]()
        tables = self._connection.execute(_CATALOG_TABLES).fetchall()
        self._catalog_tables = frozenset(str(name) for (name,) in tables)
        # Both only cost time for one text.
        self._connection.execute("SET threads = 1")
        self._connection.execute("PRAGMA disable_optimizer")
        lock(self._connection)
        (self._serialize,) = self._connection.extract_statements("SELECT json_serialize_sql(?::VARCHAR)")

    def set_tables(self, database: str, tables: Iterable[TableName]) -> None:
        """What can be read, under every name that it has."""
        names = [(database.lower(), schema.lower(), table.lower()) for schema, table in tables]
        in_main = [(name, table) for name, schema, table in names if schema == "main"]
        self._tables = frozenset({*names, *(name[1:] for name in names), *in_main, *(name[1:] for name in in_main)})

    def admit_macros(self, file: duckdb.DuckDBPyConnection) -> None:
        """The macros that the file brings itself and that do nothing that a statement may not; one may use another."""
        macros: dict[str, list[str]] = defaultdict(list)
        found = file.execute(_OWN_MACROS).fetchall()
        for name, text, _ in found:
            macros[str(name)].append(str(text))
        table_macros = {str(name) for name, _, is_table_macro in found if is_table_macro}
        while more := {
            name for name, texts in macros.items() if name not in self._macros and all(map(self.is_safe_query, texts))
        }:
            self._macros |= more
            self._table_functions |= more & table_macros

    def close(self) -> None:
        self._connection.close()

    def is_safe_query(self, text: str) -> bool:
        """Whether it may stand in a view or macro: a statement that reads, and not from the catalog."""
        try:
            judged = self.judge(text)
        except (duckdb.Error, RuntimeError):
            return False
        return isinstance(judged, DuckdbStatement) and not judged.reads_catalog

    def judge(self, text: str) -> DuckdbStatement | QueryAnswer:
        """Raises `duckdb.Error` for what cannot be parsed."""
        found = self._connection.extract_statements(text)
        if not found:
            return StatementRefusal("There is no statement.", _INSTEAD)
        if len(found) > 1:
            return StatementRefusal("More than one statement was given.", "Send one statement at a time.")
        kind, parameters = _kind(found[0]), frozenset(found[0].named_parameters)
        is_explain = kind == "EXPLAIN"
        if is_explain:
            start = _EXPLAIN.match(text)
            text = text[start.end() :] if start is not None else ""
            if not self._is_query(text):
                return StatementRefusal("EXPLAIN is for one statement that reads, without options.", _INSTEAD)
        elif kind == "MULTI" and _PIVOT.search(text) is not None:
            return _OPEN_ENDED_PIVOT
        elif kind != "SELECT":
            return StatementRefusal(
                f"{kind.replace('_', ' ')} statements are not run here.", _INSTEAD, is_write=kind in _WRITES
            )
        tree = self._tree(text)
        if tree is None:
            return StatementRefusal(
                "The statement cannot be checked, because DuckDB does not tell how it reads it.", _INSTEAD
            )
        names = set[str]()
        try:
            catalog_reads = [self._judge_node(node, names) for node in _nodes(tree)]
        except _RefusedError as error:
            return error.answer
        return DuckdbStatement(is_explain, any(catalog_reads), frozenset(names), parameters)

    def _is_query(self, text: str) -> bool:
        if text.lstrip().startswith("("):
            # These may be options, and one of them runs the statement.
            return False
        try:
            return [*map(_kind, self._connection.extract_statements(text))] == ["SELECT"]
        except (duckdb.Error, RuntimeError):
            return False

    def _tree(self, statement: str) -> Json:
        """`None` where DuckDB cannot serialize it."""
        row = self._connection.execute(self._serialize, [statement]).fetchone()
        try:
            tree: Json = json.loads(row[0]) if row is not None else None
        except (RecursionError, ValueError):
            return None
        return tree if isinstance(tree, dict) and tree.get("error") is False else None

    def _judge_node(self, node: Mapping[str, Json], names: set[str]) -> bool:
        """Whether it reads the catalog. Raises `_RefusedError`."""
        path = list[str]()
        match node:
            case {"qualified_name": {"path": list(parts)}}:
                path = [str(part).lower() for part in parts]
                names.update(path)
        match node:
            case {"type": "SHOW_REF", "show_type": "SHOW", "table_name": str(name)}:
                self._refuse_files(node, name)
                return False
            case {"type": "BASE_TABLE", "table_name": str(name), "schema_name": str(schema)}:
                if name.lower() in _REFUSED_TABLES:
                    why = f"{name} is not among the tables that a statement may read."
                    raise _RefusedError(StatementRefusal(why, _INSTEAD))
                names.update((name.lower(), schema.lower(), str(node.get("catalog_name", "")).lower()))
                if not _CATALOG_SCHEMAS.isdisjoint((schema.lower(), *path[:-1])):
                    return True
                self._refuse_files(node, str(node.get("catalog_name", "")), schema, name)
                return name.lower() in self._catalog_tables
            case {"type": "SHOW_REF", "show_type": "SHOW_SPECIAL", "table_name": str(name)}:
                return name != _SHOW_TABLES
            case {"type": "TABLE_FUNCTION", "function": {"function_name": str(name)}}:
                # DuckDB has functions of both kinds under one name, and some of these read the table that a text names.
                return self._judge_function(name.lower(), self._table_functions)
            case {"is_operator": True}:
                return False
            case {"function_name": str(name)}:
                return self._judge_function(name.lower(), self._functions | self._macros | _TABLE_FUNCTIONS)
            case _:
                return False

    def _refuse_files(self, node: Mapping[str, Json], *parts: str) -> None:
        """DuckDB looks for a table that does not exist among files, under the whole of its name. The opened file can be
        read in that way, with everything that is closed in it. Raises `_RefusedError`."""
        match node:
            case {"qualified_name": {"path": [*path]}}:
                parts = tuple(map(str, path))
        name = ".".join(filter(None, parts))
        if tuple(name.lower() for name in parts if name) not in self._tables and not _FILE_MARKS.isdisjoint(name):
            words = f"Catalog Error: Table with name {name} does not exist!"
            raise _RefusedError(StatementFailure(words, fault=StatementFault.NO_TABLE, name=name))

    def _judge_function(self, name: str, allowed: Container[str]) -> bool:
        if name in _CATALOG_FUNCTIONS:
            return True
        if name in allowed:
            return False
        why = f"The function {name}() is not among those that a statement may use."
        fix = "Use functions that compute from their arguments, and tables of the source."
        raise _RefusedError(StatementRefusal(why, fix))


def _kind(statement: duckdb.Statement) -> str:
    try:
        return statement.type.name
    except ValueError:  # the driver has no name for each kind that the engine knows
        return "Such"


def _nodes(tree: Json) -> Iterator[Mapping[str, Json]]:
    waiting: list[Json] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def connect(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """To a file, for reading, or to memory. Raises as `duckdb` does."""
    provide_time_zones()
    return duckdb.connect(path, read_only=path != ":memory:", config=_SETTINGS)


def attach(connection: duckdb.DuckDBPyConnection, path: str, name: str) -> None:
    """The file, for reading, under this name. Raises as `duckdb` does."""
    quoted_path = path.replace("'", "''")
    connection.execute(f"ATTACH '{quoted_path}' AS {quote_name(name)} (READ_ONLY)")


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on nothing outside the database can be reached, and no setting can be changed."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


class _TimeZone(zoneinfo.ZoneInfo):
    def localize(self, moment: datetime.datetime, is_dst: bool | None = False) -> datetime.datetime:
        return moment.replace(tzinfo=self)


def provide_time_zones() -> None:
    """DuckDB's Python client asks the package `pytz` for time zones. Where it is not installed, this process gets the
    standard library's under that name."""
    if "pytz" not in sys.modules:
        module = types.ModuleType("pytz")
        module.__dict__.update(utc=_TimeZone("UTC"), timezone=_time_zone)
        sys.modules["pytz"] = module


def _time_zone(name: str) -> datetime.tzinfo:
    try:
        return _TimeZone(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return _TimeZone("UTC")
