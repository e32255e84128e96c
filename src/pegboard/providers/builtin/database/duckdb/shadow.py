"""Two databases in memory that hold what is open of a file: one with its tables as views upon it, and its shadow.

The shadow has the same tables without rows, and nothing of the file is attached to it. A statement is bound there
first, so that what is closed is answered as what does not exist, by the same words of the engine; statements that ask
for the schema or a plan are answered by it alone. Only then is a statement run where the file is.
"""

import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import duckdb

from pegboard.core.database import Access, Relation, Schema, Table, TableName, narrowed
from pegboard.providers.builtin.database.generated_columns import generated_from_closed

from .connecting import alone, attach, locked, quote
from .reading import statements, views, whole

_TAKEN: Final = frozenset({"memory", "system", "temp", "main"})


@dataclass(frozen=True)
class Shown:
    world: duckdb.DuckDBPyConnection
    shadow: duckdb.DuckDBPyConnection
    whole: Schema
    schema: Schema
    """All that is open."""


def shown(path: str, database: str, access: Access) -> Shown:
    """Raises `Away`."""
    world, shadow = alone(), alone()
    # Nobody can guess it, and nobody is told.
    hidden = f"h{secrets.token_hex(16)}"
    try:
        attach(world, path, hidden)
        found = whole(world, hidden)
        opened = narrowed(found, _closing(found, statements(world, hidden), access))
        complete = {table.name: len(table.columns) for table in found.tables}
        for connection in (world, shadow):
            _prepare(connection, database, {table.name.schema for table in opened.tables})
        kept = [table for table in opened.tables if not table.is_view]
        for table in kept:
            shadow.execute(_definition(table, opened.relations))
            columns = ", ".join(quote(column.name) for column in table.columns)
            source = f"{quote(hidden)}.{_quoted(table.name)}"
            world.execute(f"CREATE VIEW {_quoted(table.name)} AS SELECT {columns} FROM {source}")  # noqa: S608 - quoted
        # One with a closed column is closed: to take it out would take another view.
        candidates = {
            table.name: table for table in opened.tables if table.is_view and len(table.columns) == complete[table.name]
        }
        kept += _viewed(candidates, views(world, hidden), world, shadow)
        locked(world)
        locked(shadow)
    except BaseException:
        world.close()
        shadow.close()
        raise
    order = {table.name: place for place, table in enumerate(opened.tables)}
    tables = tuple(sorted(kept, key=lambda table: order[table.name]))
    return Shown(world, shadow, found, replace(opened, tables=tables))


def _closing(found: Schema, made_by: Mapping[TableName, str], access: Access) -> Access:
    """Columns that are computed from closed ones, and the tables of full-text indexes over them, are closed too."""
    names: list[tuple[str, ...]] = []
    indexed: set[str] = set()
    for table in found.tables:
        schema, name = table.name
        if not table.is_view and access.opens(schema, name):
            names += [(schema, name, column) for column in generated_from_closed(table, made_by[table.name], access)]
        if not all(access.opens_column(schema, name, column.name) for column in table.columns):
            indexed.add(f"fts_{schema}_{name}".casefold())
    names += [tuple(table.name) for table in found.tables if table.name.schema.casefold() in indexed]
    return access.closing(*names)


def _prepare(connection: duckdb.DuckDBPyConnection, database: str, schemas: Iterable[str]) -> None:
    """Under the file's own name, so that full names work too."""
    if database.lower() not in _TAKEN:
        connection.execute(f"ATTACH ':memory:' AS {quote(database)}")
        connection.execute(f"USE {quote(database)}")
    for schema in sorted(schemas):
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(schema)}")


def _viewed(
    candidates: Mapping[TableName, Table],
    statements: Mapping[TableName, str],
    *places: duckdb.DuckDBPyConnection,
) -> list[Table]:
    """The views that work with what is open, made anew from their own words; one may need another, so until none is
    added."""
    made: dict[TableName, Table] = {}
    while True:
        before = len(made)
        for name, table in candidates.items():
            if name not in made and all(_made(place, name, statements[name], table) for place in places):
                made[name] = table
        if len(made) == before:
            return [*made.values()]


def _made(connection: duckdb.DuckDBPyConnection, name: TableName, statement: str, table: Table) -> bool:
    try:
        connection.execute(statement)
        described = connection.execute(f"DESCRIBE {_quoted(name)}").fetchall()
    except duckdb.Error:
        described = []
    if [row[0] for row in described] == [column.name for column in table.columns]:
        return True
    with suppress(duckdb.Error):
        connection.execute(f"DROP VIEW IF EXISTS {_quoted(name)}")
    return False


def _definition(table: Table, relations: Iterable[Relation]) -> str:
    parts = [
        f"{quote(column.name)} {column.type}{'' if column.is_nullable else ' NOT NULL'}" for column in table.columns
    ]
    if table.key:
        parts.append(f"PRIMARY KEY ({', '.join(map(quote, table.key))})")
    return f"CREATE TABLE {_quoted(table.name)} ({', '.join(parts)})"


def _quoted(name: TableName) -> str:
    return f"{quote(name.schema)}.{quote(name.table)}"
