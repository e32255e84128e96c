"""What is open of a file, as views of a database in memory. The file itself is attached under a name that is secret.

DuckDB has no privileges: a statement can name these views, and nothing else finds its way into the search path.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import duckdb

from pegboard.core.database import Access, Schema, Table, TableName, narrowed
from pegboard.providers.builtin.database.generated_columns import generated_from_closed
from pegboard.providers.builtin.database.sqlite.statement import names_in, tokenize

from .connection import attach, connect_to_memory, lock, quote_name
from .functions import computing_functions
from .schema import read_definitions, read_schema
from .statement import Grammar, is_safe_query

_TAKEN_NAMES: Final = frozenset({"memory", "system", "temp", "main"})


@dataclass(frozen=True)
class OpenViews:
    connection: duckdb.DuckDBPyConnection
    secret: str
    """The name that the file is attached under."""
    whole: Schema
    schema: Schema
    """All that is open."""
    functions: frozenset[str]
    """Those that statements may call."""


def make_views(path: str, database: str, access: Access, grammar: Grammar) -> OpenViews:
    """Raises `UnavailableError`."""
    connection, secret = connect_to_memory(), f"h{secrets.token_hex(16)}"
    try:
        attach(connection, path, secret)
        whole, definitions = read_schema(connection, secret), read_definitions(connection, secret)
        schema = narrowed(whole, _close_derived(whole, definitions, access))
        if database.lower() not in _TAKEN_NAMES:
            # Under the file's own name, so that full names work.
            connection.execute(f"ATTACH ':memory:' AS {quote_name(database)}")
            connection.execute(f"USE {quote_name(database)}")
        for name in sorted({table.name.schema for table in schema.tables}):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_name(name)}")
        functions = computing_functions(connection)
        column_counts = {table.name: len(table.columns) for table in whole.tables}
        views = dict[TableName, Table]()
        made = set[TableName]()
        for table in schema.tables:
            if not table.is_view or access.allows_by_name(*table.name):
                columns = ", ".join(quote_name(column.name) for column in table.columns)
                source = quote_name(secret, *table.name)
                connection.execute(f"CREATE VIEW {quote_name(*table.name)} AS SELECT {columns} FROM {source}")  # noqa: S608 - names are quoted
                made.add(table.name)
            # A view with a closed column is closed: without the column it would be another view.
            elif len(table.columns) == column_counts[table.name] and is_safe_query(
                grammar, _query_of(definitions[table.name]), functions
            ):
                views[table.name] = table
        is_partly_closed = any(len(table.columns) < column_counts[table.name] for table in schema.tables)
        made |= _make_own_views(connection, views, definitions, may_join_naturally=not is_partly_closed)
        lock(connection)
    except BaseException:
        connection.close()
        raise
    tables = tuple(table for table in schema.tables if table.name in made)
    relations = tuple(each for each in schema.relations if each.table in made and each.to in made)
    return OpenViews(connection, secret, whole, replace(schema, tables=tables, relations=relations), functions)


def _close_derived(found: Schema, definitions: Mapping[TableName, str], access: Access) -> Access:
    """Columns that are computed from closed ones are closed too, and so are full-text indexes over them."""
    closed: list[tuple[str, ...]] = []
    closed_indexes: set[str] = set()
    for table in found.tables:
        schema, name = table.name
        if not table.is_view and access.opens(schema, name):
            closed += [
                (schema, name, column) for column in generated_from_closed(table, definitions[table.name], access)
            ]
        if not all(access.opens_column(schema, name, column.name) for column in table.columns):
            closed_indexes.add(f"fts_{schema}_{name}".casefold())
    closed += [tuple(table.name) for table in found.tables if table.name.schema.casefold() in closed_indexes]
    return access.closing(*closed)


def _query_of(view: str) -> str:
    """What stands behind the first AS of a statement that makes a view."""
    depth = 0
    for token in tokenize(view):
        depth += (token.value == "(") - (token.value == ")")
        if depth == 0 and token.is_keyword("AS"):
            return view[token.end :]
    return ""


def _make_own_views(
    connection: duckdb.DuckDBPyConnection,
    views: Mapping[TableName, Table],
    definitions: Mapping[TableName, str],
    *,
    may_join_naturally: bool,
) -> set[TableName]:
    """The file's own views that work with what is open, by their own statements. One may need another, so they are
    tried until none is added. A `NATURAL JOIN` would pair other rows without the closed columns."""
    made = set[TableName]()
    while True:
        before = len(made)
        for name, view in views.items():
            statement = definitions[name]
            if name in made or ("natural" in names_in(tokenize(statement)) and not may_join_naturally):
                continue
            if _make_own_view(connection, view, statement):
                made.add(name)
        if len(made) == before:
            return made


def _make_own_view(connection: duckdb.DuckDBPyConnection, view: Table, statement: str) -> bool:
    try:
        connection.execute(statement)
        described = connection.execute(f"DESCRIBE {quote_name(*view.name)}").fetchall()
        if [row[0] for row in described] == [column.name for column in view.columns]:
            return True
        connection.execute(f"DROP VIEW {quote_name(*view.name)}")
    except duckdb.Error:
        connection.execute(f"DROP VIEW IF EXISTS {quote_name(*view.name)}")
    return False
