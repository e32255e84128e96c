"""What is closed in a SQLite file, and a database in memory that has what is open of it: its tables without rows.

A statement compiles on this shadow before it touches the file. What is closed does not exist there, so SQLite itself
answers as for a name that does not exist, in every way in which a statement can name it. Statements that ask for the
schema or for a plan are answered by the shadow alone.

Generated columns, views and indexes that show something closed are closed with it. A view that the operator allows by
its own name stays open: it is a documented way to show part of a table.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from pegboard.core.databases.rows import StatementRefusal
from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, narrow_schema
from pegboard.core.model.databases import DatabaseAccess
from pegboard.providers.database.common import quote_name
from pegboard.providers.database.sqlite.authorizer import MAIN, ClosedObjects, GuardedConnection, connect, restrict
from pegboard.providers.database.sqlite.schema import Definition, FileSchema, empty_copy_of
from pegboard.providers.database.tokens import Token, generated_from_closed, names_in, tokenize

_ROWIDS: Final = frozenset({"rowid", "oid", "_rowid_"})
_INDEX_MODULES: Final = frozenset({"fts3", "fts4", "fts4aux", "fts5", "fts5vocab", "geopoly", "rtree", "rtree_i32"})
"""Virtual tables that keep their content in the file, and read nothing but what their definition names."""


@dataclass(frozen=True)
class Shadow:
    """What is open of a file."""

    guard: GuardedConnection
    schema: DatabaseSchema
    masks: Sequence[str]
    """Statements that make, on the file, a temporary view for each table with closed columns: it has the open ones."""
    rowids: frozenset[str]
    """Names of a rowid that are not those of a column."""

    def refuse_unmasked(self, tokens: Sequence[Token]) -> StatementRefusal | None:
        """A table with closed columns is read through a temporary view. Its full name would bypass that, and a view has
        no rowid."""
        masks = self.guard.masks
        for schema, dot, table in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if dot.value == "." and table.value.lower() in masks and schema.is_name and schema.value.lower() == MAIN:
                return StatementRefusal(
                    f"{table.value!r} cannot be named with its schema here.",
                    f"Write {table.value} without {MAIN} before it.",
                )
        if not masks.isdisjoint(self.guard.read_tables):
            for token in tokens:
                if token.is_name and token.value.lower() in self.rowids:
                    why = f"{token.value} cannot be read here."
                    return StatementRefusal(why, "Read the columns that search_schemas tells.")
        return None


def make_shadow(guard: GuardedConnection, found: FileSchema, access: DatabaseAccess) -> Shadow:
    """`guard` is that of the file; afterwards it knows what is closed."""
    schema = narrow_schema(found.schema, _close_derived(guard, found, access))
    known = frozenset(table.name.table.lower() for table in schema.tables)
    masked = known & guard.closed_objects.columns.keys()
    shadow = GuardedConnection(connect(None), known, replace(guard.closed_objects, tables=frozenset()), masks=masked)
    masks: list[str] = []
    for table in schema.tables:
        name, definition = table.name.table, found.tables[table.name.table]
        is_masked = name.lower() in masked
        if is_masked:
            # An index with a closed column would give rows in the order of that column.
            hint = " NOT INDEXED" if _has_closed_index(name.lower(), found, guard.closed_objects) else ""
            masks.append(f"CREATE TEMP VIEW {quote_name(name)} AS {_select_all(table)}{hint}")
        # A view is a table here, so that one with INSTEAD OF triggers can be named in a change; the file judges that.
        if is_masked or definition.kind == "view" or not _make(shadow.connection, definition, guard.closed_objects):
            shadow.connection.execute(empty_copy_of(table, has_rowid=definition.has_rowid)).close()
    for index in found.indexes.values():
        _make(shadow.connection, index, guard.closed_objects)
    restrict(shadow)
    return Shadow(shadow, schema, masks, _ROWIDS - {column.lower() for _, _, column in schema.column_names()})


def _has_closed_index(table: str, found: FileSchema, closed: ClosedObjects) -> bool:
    columns = closed.columns[table]
    own = ClosedObjects(columns={table: columns})
    return not columns.isdisjoint(found.unique_columns.get(table, ())) or any(
        own.is_mentioned_in(index.statement) for index in found.indexes.values()
    )


def _make(connection: sqlite3.Connection, definition: Definition, closed: ClosedObjects) -> bool:
    """By its own statement, where that does not mention anything closed, and works."""
    if not definition.statement or closed.is_mentioned_in(definition.statement):
        return False
    try:
        connection.execute(definition.statement).close()
    except sqlite3.Error:
        return False
    return True


def _close_derived(guard: GuardedConnection, found: FileSchema, access: DatabaseAccess) -> DatabaseAccess:
    access = access.with_denied(
        *(
            (MAIN, table.name.table, column)
            for table in found.schema.tables
            if not table.is_view and access.allows_table(*table.name)
            for column in generated_from_closed(table, found.tables[table.name.table].statement, access)
        )
    )
    while True:
        guard.closed_objects, trusted = ClosedObjects.of(found.schema, access), frozenset[str]()
        more: list[tuple[str, str]] = []
        for table in found.schema.tables:
            definition = found.tables[table.name.table]
            if not access.allows_table(*table.name) or not _shows_closed(guard, table, definition):
                continue
            is_trusted = table.is_view and access.allows_by_name(*table.name)
            if is_trusted and (views := _views_within(guard, table)):
                trusted |= views
            else:
                more.append((MAIN, table.name.table))
        if not more:
            break
        access = access.with_denied(*more)
    guard.trusted_views = trusted
    guard.unheard_triggers = frozenset(
        name.lower() for name, each in found.triggers.items() if _may_join_closed(each.statement, guard.closed_objects)
    )
    return access


def _shows_closed(guard: GuardedConnection, table: DatabaseTable, definition: Definition) -> bool:
    match definition.kind:
        case "view":
            return _may_join_closed(definition.statement, guard.closed_objects) or not _compiles(guard, table)
        case "virtual":
            return _indexes_closed(table, definition.statement, guard.closed_objects)
        case _:
            return False


def _compiles(guard: GuardedConnection, view: DatabaseTable) -> bool:
    guard.begin()
    try:
        guard.connection.execute(f"EXPLAIN {_select_all(view)}").close()
    except sqlite3.Error:
        return False
    return guard.denial is None and not guard.reaches_closed(frozenset())


def _select_all(table: DatabaseTable) -> str:
    columns = ", ".join(quote_name(column.name) for column in table.columns)
    return f"SELECT {columns} FROM {quote_name(MAIN, table.name.table)}"  # noqa: S608 - names are quoted


def _may_join_closed(statement: str, closed: ClosedObjects) -> bool:
    """Whether it may compare closed columns by `NATURAL JOIN` or `JOIN … USING`, of which SQLite does not ask."""
    names = names_in(tokenize(statement))
    if names.isdisjoint(("natural", "using")):
        return False
    if not names.isdisjoint(closed.tables):
        return True
    partly_closed = names & closed.columns.keys()
    compared = frozenset[str]().union(*(closed.columns[table] for table in partly_closed))
    return bool(partly_closed and "natural" in names) or not names.isdisjoint(compared)


def _indexes_closed(table: DatabaseTable, statement: str, closed: ClosedObjects) -> bool:
    """Whether a virtual table is made over something closed, or is of a module that reads more than its own. FTS4 takes
    the columns of its content table where its definition names none."""
    tokens = tokenize(statement)
    names = names_in(tokens) | {column.name.lower() for column in table.columns}
    modules = [after for token, after in pairwise(tokens) if token.is_keyword("USING")]
    if not modules or modules[0].value.lower() not in _INDEX_MODULES or not names.isdisjoint(closed.tables):
        return True
    return any(not names.isdisjoint(closed.columns[table]) for table in names & closed.columns.keys())


def _views_within(guard: GuardedConnection, view: DatabaseTable) -> frozenset[str]:
    """The view and those that it reads from; none if it does more than read tables of the file."""
    before, guard.closed_objects = guard.closed_objects, ClosedObjects()
    try:
        return frozenset(guard.within - {""}) if _compiles(guard, view) else frozenset()
    finally:
        guard.closed_objects = before
