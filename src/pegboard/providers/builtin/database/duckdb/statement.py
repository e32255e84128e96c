"""One statement, judged by DuckDB's own parse of it: its kind, and the functions and tables that it uses."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from pegboard.core.database import Answer, Refused
from pegboard.core.folded import Json

from .connection import connect_to_memory, lock
from .functions import (
    CATALOG_FUNCTIONS,
    CATALOG_SCHEMAS,
    CATALOG_TABLES,
    REFUSED_TABLES,
    TABLE_FUNCTIONS,
)

_INSTEAD: Final = "Write one SELECT, FROM, VALUES, WITH, DESCRIBE or SHOW statement, or EXPLAIN before one."
_EXPLAIN: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)
_PIVOT: Final = re.compile(r"\bpivot", re.IGNORECASE)
_OPEN_ENDED_PIVOT: Final = Refused(
    "PIVOT is run here only where the values that become columns are listed: DuckDB would look for them first, in a "
    "statement of its own.",
    "List them: PIVOT t ON c IN ('a', 'b') USING count(*). SELECT DISTINCT c FROM t tells which there are.",
)
_WRITES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO", "COPY"})
_SHOW_TABLES: Final = '"tables"'


@dataclass(frozen=True, slots=True)
class Statement:
    """One that may be run."""

    is_explain: bool
    reads_catalog: bool
    names: frozenset[str]
    """Databases, schemas, tables and types that it names, in lower case."""
    parameters: frozenset[str]


class _RefusedError(Exception):
    def __init__(self, refused: Refused) -> None:
        self.refused = refused


class Grammar:
    """DuckDB's parser, on an empty database of its own."""

    def __init__(self) -> None:
        self._connection = connect_to_memory()
        # Both only cost time for one text.
        self._connection.execute("SET threads = 1")
        self._connection.execute("PRAGMA disable_optimizer")
        lock(self._connection)
        (self._serialize,) = self._connection.extract_statements("SELECT json_serialize_sql(?::VARCHAR)")

    def statements(self, text: str) -> list[duckdb.Statement]:
        """Raises `duckdb.Error`."""
        return self._connection.extract_statements(text)

    def tree(self, statement: str) -> Json:
        """`None` where DuckDB cannot serialize it."""
        row = self._connection.execute(self._serialize, [statement]).fetchone()
        try:
            tree: Json = json.loads(row[0]) if row is not None else None
        except (RecursionError, ValueError):
            return None
        return tree if isinstance(tree, dict) and tree.get("error") is False else None


def judge(grammar: Grammar, text: str, functions: frozenset[str]) -> Statement | Answer:
    """`functions` are those that it may call. Raises `duckdb.Error` for what cannot be parsed."""
    found = grammar.statements(text)
    if not found:
        return Refused("There is no statement.", _INSTEAD)
    if len(found) > 1:
        return Refused("More than one statement was given.", "Send one statement at a time.")
    kind, parameters = _kind(found[0]), frozenset(found[0].named_parameters)
    is_explain = kind == "EXPLAIN"
    if is_explain:
        start = _EXPLAIN.match(text)
        text = text[start.end() :] if start is not None else ""
        if not _is_query(grammar, text):
            return Refused("EXPLAIN is for one statement that reads, without options.", _INSTEAD)
    elif kind == "MULTI" and _PIVOT.search(text) is not None:
        return _OPEN_ENDED_PIVOT
    elif kind != "SELECT":
        return Refused(f"{kind.replace('_', ' ')} statements are not run here.", _INSTEAD, is_write=kind in _WRITES)
    tree = grammar.tree(text)
    if tree is None:
        return Refused("The statement cannot be checked, because DuckDB does not tell how it reads it.", _INSTEAD)
    names = set[str]()
    try:
        catalog_reads = [_judge_node(node, functions, names) for node in _nodes(tree)]
    except _RefusedError as error:
        return error.refused
    return Statement(is_explain, any(catalog_reads), frozenset(names), parameters)


def safe_macros(grammar: Grammar, functions: frozenset[str], macros: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The macros that do nothing that a statement itself may not; one may use another."""
    safe = frozenset[str]()
    while more := {
        name
        for name, texts in macros.items()
        if name not in safe and all(is_safe_query(grammar, text, functions | safe) for text in texts)
    }:
        safe |= more
    return safe


def is_safe_query(grammar: Grammar, text: str, functions: frozenset[str]) -> bool:
    """Whether it may stand in a view or macro: a statement that reads, and not from the catalog."""
    try:
        judged = judge(grammar, text, functions)
    except (duckdb.Error, RuntimeError):
        return False
    return isinstance(judged, Statement) and not judged.reads_catalog


def _is_query(grammar: Grammar, text: str) -> bool:
    if text.lstrip().startswith("("):
        # These may be options, and one of them runs the statement.
        return False
    try:
        return [*map(_kind, grammar.statements(text))] == ["SELECT"]
    except (duckdb.Error, RuntimeError):
        return False


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


def _judge_node(node: Mapping[str, Json], functions: frozenset[str], names: set[str]) -> bool:
    """Whether it reads the catalog. Raises `_RefusedError`."""
    match node:
        case {"qualified_name": {"path": list(path)}}:
            names.update(str(part).lower() for part in path)
    match node:
        case {"type": "BASE_TABLE", "table_name": str(name), "schema_name": str(schema)}:
            if name.lower() in REFUSED_TABLES:
                raise _RefusedError(Refused(f"{name} is not among the tables that a statement may read.", _INSTEAD))
            names.update((name.lower(), schema.lower(), str(node.get("catalog_name", "")).lower()))
            return name.lower() in CATALOG_TABLES or not CATALOG_SCHEMAS.isdisjoint(_path(node, schema))
        case {"type": "SHOW_REF", "show_type": "SHOW_SPECIAL", "table_name": str(name)}:
            return name != _SHOW_TABLES
        case {"type": "TABLE_FUNCTION", "function": {"function_name": str(name)}}:
            return _judge_function(name, functions | TABLE_FUNCTIONS)
        case {"is_operator": True}:
            return False
        case {"function_name": str(name)}:
            return _judge_function(name, functions | TABLE_FUNCTIONS)
        case _:
            return False


def _path(table: Mapping[str, Json], schema: str) -> frozenset[str]:
    match table:
        case {"qualified_name": {"path": list(path)}}:
            return frozenset((schema.lower(), *(str(part).lower() for part in path[:-1])))
        case _:
            return frozenset({schema.lower()})


def _judge_function(name: str, functions: frozenset[str]) -> bool:
    if name.lower() in CATALOG_FUNCTIONS:
        return True
    if name.lower() in functions:
        return False
    raise _RefusedError(
        Refused(
            f"The function {name}() is not among those that a statement may use.",
            "Use functions that compute from their arguments, and tables of the source.",
        )
    )
