"""A database in memory that has what is open of a file, and nothing else: its tables without rows.

A statement compiles on it before it touches the file. What is closed does not exist there, so SQLite itself answers as
for a name that does not exist, in every way in which a statement can name it. Statements that ask for the schema or
for a plan are answered by the shadow alone.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pegboard.core.database import Access, Schema, narrowed

from .authorizer import MAIN, Authorizer, Closed
from .connection import CACHED_STATEMENTS, restrict
from .schema import FileSchema, empty_copy_of
from .statement import quote_name

_ROWIDS: Final = frozenset({"rowid", "oid", "_rowid_"})


@dataclass(frozen=True)
class Shadow:
    connection: sqlite3.Connection
    guard: Authorizer
    schema: Schema
    """All that is open."""
    masks: Sequence[str]
    """Statements that make, on the file, a temporary view for each table with closed columns: it has the open ones."""
    rowids: frozenset[str]
    """Names of a rowid that are not those of a column."""


def make_shadow(guard: Authorizer, found: FileSchema, access: Access) -> Shadow:
    """`guard` is the authorizer of the file."""
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, cached_statements=CACHED_STATEMENTS
    )
    schema = narrowed(found.schema, access)
    masks: list[str] = []
    for table in schema.tables:
        name, definition = table.name.table, found.tables[table.name.table]
        is_whole = name.lower() not in guard.closed.columns
        if not is_whole:
            columns = ", ".join(quote_name(column.name) for column in table.columns)
            read = f"SELECT {columns} FROM {MAIN}.{quote_name(name)}"  # noqa: S608 - names are quoted
            masks.append(f"CREATE TEMP VIEW {quote_name(name)} AS {read}")
        # A view is a table here, so that one with INSTEAD OF triggers can be named in a change; the file judges that.
        has_own = is_whole and definition.kind != "view" and _make(connection, definition.statement, guard.closed)
        if not has_own:
            connection.execute(empty_copy_of(table, has_rowid=definition.has_rowid)).close()
    for index in found.indexes.values():
        _make(connection, index.statement, guard.closed)
    known = frozenset(table.name.table.lower() for table in schema.tables)
    masked = known & guard.closed.columns.keys()
    own_guard = Authorizer(known, replace(guard.closed, tables=frozenset()), masks=masked)
    restrict(connection, own_guard)
    rowids = _ROWIDS - {column.lower() for _, _, column in schema.names()}
    return Shadow(connection, own_guard, schema, masks, rowids)


def _make(connection: sqlite3.Connection, statement: str, closed: Closed) -> bool:
    """By its own statement, where that does not mention anything closed, and works."""
    if not statement or closed.is_mentioned_in(statement):
        return False
    try:
        connection.execute(statement).close()
    except sqlite3.Error:
        return False
    return True
