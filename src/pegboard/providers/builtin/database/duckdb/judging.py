"""One statement, judged by DuckDB's own parse of it: what kind it is, and which functions and tables it uses."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from pegboard.core.database import Answer, Refused
from pegboard.core.folded import Json

from .connecting import alone, locked
from .functions import (
    CATALOGUE_FUNCTIONS,
    CATALOGUE_SCHEMAS,
    CATALOGUE_TABLES,
    CLOSED_TABLES,
    TABLE_FUNCTIONS,
)

_INSTEAD: Final = "Write one SELECT, FROM, VALUES, WITH, DESCRIBE or SHOW statement, or EXPLAIN before one."
_EXPLAIN: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)
_PIVOT: Final = re.compile(r"\bpivot", re.IGNORECASE)
_PIVOTS: Final = Refused(
    "PIVOT is run here only where the values that become columns are listed: DuckDB would look for them first, in a "
    "statement of its own.",
    "List them: PIVOT t ON c IN ('a', 'b') USING count(*). SELECT DISTINCT c FROM t tells which there are.",
)
_WRITES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO", "COPY"})


@dataclass(frozen=True, slots=True)
class Judged:
    explains: bool
    tells: bool
    """It asks for the schema."""
    reads: bool
    """It reads rows of tables."""
    parameters: frozenset[str]


class _RefusedError(Exception):
    def __init__(self, refused: Refused) -> None:
        self.refused = refused


class Grammar:
    """DuckDB's own, in a database by itself that holds nothing: what it asks there is the same each time."""

    def __init__(self) -> None:
        self._connection = alone()
        # There is nothing to be gained by either for one text.
        self._connection.execute("SET threads = 1")
        self._connection.execute("PRAGMA disable_optimizer")
        locked(self._connection)
        (self._question,) = self._connection.extract_statements("SELECT json_serialize_sql(?::VARCHAR)")

    def statements(self, text: str) -> list[duckdb.Statement]:
        """Raises `duckdb.Error`."""
        return self._connection.extract_statements(text)

    def tree(self, statement: str) -> Json:
        """None where it does not tell."""
        row = self._connection.execute(self._question, [statement]).fetchone()
        try:
            tree: Json = json.loads(row[0]) if row is not None else None
        except (RecursionError, ValueError):
            return None
        return tree if isinstance(tree, dict) and tree.get("error") is False else None


def judged(grammar: Grammar, statement: str, computing: frozenset[str], macros: frozenset[str]) -> Judged | Answer:
    """Raises `duckdb.Error` for what cannot be parsed."""
    found = grammar.statements(statement)
    if len(found) != 1:
        return (
            Refused("There is no statement.", _INSTEAD)
            if not found
            else Refused("More than one statement was given.", "Send one statement at a time.")
        )
    kind, names = _kind(found[0]), frozenset(found[0].named_parameters)
    explains = kind == "EXPLAIN"
    if explains:
        begin = _EXPLAIN.match(statement)
        statement = statement[begin.end() :] if begin is not None else ""
        if not _reads(grammar, statement):
            return Refused("EXPLAIN is for one statement that reads, without options.", _INSTEAD)
    elif kind == "MULTI" and _PIVOT.search(statement) is not None:
        return _PIVOTS
    elif kind != "SELECT":
        return Refused(f"{kind.replace('_', ' ')} statements are not run here.", _INSTEAD, is_write=kind in _WRITES)
    tree = grammar.tree(statement)
    if tree is None:
        return Refused("The statement cannot be checked, because DuckDB does not tell how it reads it.", _INSTEAD)
    try:
        tells, reads = _walked(tree, computing, macros)
    except _RefusedError as error:
        return error.refused
    return Judged(explains, tells, reads, names)


def sound(grammar: Grammar, computing: frozenset[str], macros: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The macros that do nothing that a statement itself may not; one may use another."""
    found = frozenset[str]()
    while more := {
        name
        for name, texts in macros.items()
        if name not in found and all(_is_sound(grammar, text, computing, found) for text in texts)
    }:
        found |= more
    return found


def _is_sound(grammar: Grammar, text: str, computing: frozenset[str], macros: frozenset[str]) -> bool:
    try:
        answer = judged(grammar, text, computing, macros)
    except (duckdb.Error, RuntimeError):
        return False
    return isinstance(answer, Judged) and not answer.tells


def _reads(grammar: Grammar, statement: str) -> bool:
    if statement.lstrip().startswith("("):
        # Options may stand there, and one of them runs the statement.
        return False
    try:
        found = grammar.statements(statement)
    except (duckdb.Error, RuntimeError):
        return False
    return [*map(_kind, found)] == ["SELECT"]


def _kind(statement: duckdb.Statement) -> str:
    try:
        return statement.type.name
    except ValueError:  # the driver has no word for each kind that the engine knows
        return "Such"


def _walked(tree: Json, computing: frozenset[str], macros: frozenset[str]) -> tuple[bool, bool]:
    tells = reads = False
    nodes = [*_nodes(tree)]
    own = {str(name).casefold() for node, _ in nodes for name in _queries(node)}
    for node, is_described in nodes:
        match node:
            case {"type": "TABLE_FUNCTION", "function": {"function_name": str(name)}}:
                tells |= _tells_by_function(name.lower(), macros)
            case {"type": "BASE_TABLE", "table_name": str(name), "schema_name": str(schema)}:
                if _tells_by_table(name.lower(), schema.lower(), node):
                    tells = True
                elif not is_described and (schema or name.casefold() not in own):
                    reads = True
            case {"type": "SHOW_REF", "show_type": str(kind)}:
                tells |= kind != "SUMMARY"
            case {"is_operator": True}:
                pass
            case {"function_name": str(name)} if name.lower() not in computing | TABLE_FUNCTIONS | macros:
                if name.lower() not in CATALOGUE_FUNCTIONS:
                    raise _RefusedError(_no_function(name))
            case _:
                pass
    return tells, reads


def _nodes(tree: Json) -> Iterator[tuple[dict[str, Json], bool]]:
    """Each part of a statement, and whether it is only described: then its rows are not read."""
    waiting: list[tuple[Json, bool]] = [(tree, False)]
    while waiting:
        node, is_described = waiting.pop()
        if isinstance(node, dict):
            yield node, is_described
            within = is_described or (node.get("type") == "SHOW_REF" and node.get("show_type") != "SUMMARY")
            waiting.extend((each, within) for each in node.values())
        elif isinstance(node, list):
            waiting.extend((each, is_described) for each in node)


def _queries(node: dict[str, Json]) -> Iterator[Json]:
    """Names that a statement gives to queries of its own."""
    match node:
        case {"cte_map": {"map": list(entries)}}:
            for entry in entries:
                if isinstance(entry, dict):
                    yield entry.get("key")
        case {"cte_name": name}:
            yield name
        case _:
            pass


def _tells_by_function(name: str, macros: frozenset[str]) -> bool:
    if name in CATALOGUE_FUNCTIONS:
        return True
    if name in TABLE_FUNCTIONS or name in macros:
        return False
    raise _RefusedError(_no_function(name))


def _tells_by_table(name: str, schema: str, node: dict[str, Json]) -> bool:
    if name in CLOSED_TABLES:
        raise _RefusedError(Refused(f"{name} is not among the tables that a statement may read.", _INSTEAD))
    path = node.get("qualified_name")
    parts = path.get("path") if isinstance(path, dict) else None
    schemas = {schema, *(str(part).lower() for part in (parts[:-1] if isinstance(parts, list) else ()))}
    return name in CATALOGUE_TABLES or not CATALOGUE_SCHEMAS.isdisjoint(schemas)


def _no_function(name: str) -> Refused:
    return Refused(
        f"The function {name}() is not among those that a statement may use.",
        "Use functions that compute from their arguments, and tables of the source.",
    )
