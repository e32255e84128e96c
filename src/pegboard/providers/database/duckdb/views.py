"""The schema of a DuckDB file, and what is open of it as views of a database in memory. The file itself is attached
under a name that is secret.

DuckDB has no privileges: a statement can name these views, and nothing else finds its way into the search path.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

import duckdb

from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, TableName, narrow_schema
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, Dialect
from pegboard.providers.database.common import quote_name, schema_of_rows
from pegboard.providers.database.duckdb.statement import Grammar, attach, connect, lock
from pegboard.providers.database.tokens import generated_from_closed, names_in, tokenize
from pegboard.providers.database.worker.session import OpenFile

_TABLES: Final = """
    SELECT schema_name, table_name, false, estimated_size, comment, sql FROM duckdb_tables() WHERE database_name = $1
    UNION ALL
    SELECT schema_name, view_name, true, NULL, comment, sql FROM duckdb_views()
    WHERE database_name = $1 AND NOT internal ORDER BY ALL
"""
_COLUMNS: Final = """
    SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
    WHERE database_name = ? AND NOT internal ORDER BY schema_name, table_name, column_index
"""
_KEYS: Final = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
    FROM duckdb_constraints() WHERE database_name = ? AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
    ORDER BY schema_name, table_name, constraint_index
"""
_TAKEN_NAMES: Final = frozenset({"memory", "system", "temp", "main"})

Definitions = Mapping[TableName, str]
"""The statements that make tables and views."""


@dataclass(frozen=True)
class OpenDatabase(OpenFile):
    """A file that is open for reading, or a database in memory that has what is open of it."""

    connection: duckdb.DuckDBPyConnection
    grammar: Grammar
    secret: str | None = None
    """The name that the file is attached under, where part of it is closed."""

    def close(self) -> None:
        self.connection.close()
        self.grammar.close()


def read_schema(connection: duckdb.DuckDBPyConnection, database: str) -> tuple[DatabaseSchema, Definitions]:
    """All of it, open or not."""
    tables, columns, constraints = [
        connection.execute(query, [database]).fetchall() for query in (_TABLES, _COLUMNS, _KEYS)
    ]
    # A foreign key reaches no further than its own schema.
    keys = [
        (schema, table, number, column, schema, other if kind == "FOREIGN KEY" else None, to)
        for number, (schema, table, kind, own, other, others) in enumerate(constraints)
        for column, to in zip_longest(own, others or ())
    ]
    definitions = {TableName(schema, table): str(statement) for schema, table, *_, statement in tables}
    return schema_of_rows(Dialect.DUCKDB, [row[:5] for row in tables], columns, keys, "main", FULL_ACCESS), definitions


def make_views(path: str, database: str, access: DatabaseAccess, grammar: Grammar, stamp: str) -> OpenDatabase:
    """Raises as `duckdb` does."""
    connection, secret = connect(), f"h{secrets.token_hex(16)}"
    try:
        attach(connection, path, secret)
        whole, definitions = read_schema(connection, secret)
        schema = narrow_schema(whole, _close_derived(whole, definitions, access))
        if database.lower() not in _TAKEN_NAMES:
            # Under the file's own name, so that full names work.
            connection.execute(f"ATTACH ':memory:' AS {quote_name(database)}")
            connection.execute(f"USE {quote_name(database)}")
        grammar.set_tables(database, [table.name for table in schema.tables])
        for name in sorted({table.name.schema for table in schema.tables}):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_name(name)}")
        column_counts = {table.name: len(table.columns) for table in whole.tables}
        is_partly_closed = any(len(table.columns) < column_counts[table.name] for table in schema.tables)
        made, views = set[TableName](), list[DatabaseTable]()
        for table in schema.tables:
            statement = definitions[table.name]
            if not table.is_view or access.allows_by_name(*table.name):
                columns = ", ".join(quote_name(column.name) for column in table.columns)
                source = quote_name(secret, *table.name)
                connection.execute(f"CREATE VIEW {quote_name(*table.name)} AS SELECT {columns} FROM {source}")  # noqa: S608 - names are quoted
                made.add(table.name)
            # A view with a closed column is closed: without the column it would be another view. And a `NATURAL JOIN`
            # would pair other rows without the closed columns.
            elif (
                len(table.columns) == column_counts[table.name]
                and not (is_partly_closed and "natural" in names_in(tokenize(statement)))
                and grammar.is_safe_query(_query_of(statement))
            ):
                views.append(table)
        # The file's own views, as far as they work with what is open. One may need another.
        while more := {view.name for view in views if view.name not in made and _make(connection, view, definitions)}:
            made |= more
        lock(connection)
    except BaseException:
        connection.close()
        raise
    tables = tuple(table for table in schema.tables if table.name in made)
    relations = tuple(each for each in schema.relations if each.table in made and each.to_table in made)
    schema = replace(schema, tables=tables, relations=relations)
    return OpenDatabase(whole, schema, stamp, connection, grammar, secret)


def _close_derived(whole: DatabaseSchema, definitions: Definitions, access: DatabaseAccess) -> DatabaseAccess:
    """Columns that are computed from closed ones are closed too, and so are full-text indexes over them."""
    closed: list[tuple[str, ...]] = []
    closed_indexes: set[str] = set()
    for table in whole.tables:
        if not table.is_view and access.allows_table(*table.name):
            generated = generated_from_closed(table, definitions[table.name], access)
            closed += [(*table.name, column) for column in generated]
        if not all(access.allows_column(*table.name, column.name) for column in table.columns):
            closed_indexes.add(f"fts_{table.name.schema}_{table.name.table}".casefold())
    closed += [tuple(table.name) for table in whole.tables if table.name.schema.casefold() in closed_indexes]
    return access.with_denied(*closed)


def _query_of(view: str) -> str:
    """What stands behind the first AS of a statement that makes a view."""
    depth = 0
    for token in tokenize(view):
        depth += (token.value == "(") - (token.value == ")")
        if depth == 0 and token.is_keyword("AS"):
            return view[token.end :]
    return ""


def _make(connection: duckdb.DuckDBPyConnection, view: DatabaseTable, definitions: Definitions) -> bool:
    """Whether it can be made by its own statement, and has the same columns."""
    name = quote_name(*view.name)
    try:
        connection.execute(definitions[view.name])
        described = connection.execute(f"DESCRIBE {name}").fetchall()
        if [row[0] for row in described] == [column.name for column in view.columns]:
            return True
    except duckdb.Error:
        pass
    connection.execute(f"DROP VIEW IF EXISTS {name}")
    return False
