"""What is closed in a SQLite file because it shows something that is closed: generated columns, views and indexes.

A view that the operator allows by its own name stays open: it is a documented way to show part of a table.
"""

import sqlite3
from itertools import pairwise

from pegboard.core.database import Access, Table
from pegboard.providers.builtin.database.generated_columns import generated_from_closed

from .authorizer import MAIN, Authorizer, Closed
from .functions import INDEX_MODULES
from .schema import Definition, FileSchema
from .statement import names_in, quote_name, tokenize


def close_derived(file: sqlite3.Connection, guard: Authorizer, found: FileSchema, access: Access) -> Access:
    """`guard` is the authorizer of the file; afterwards it knows what is closed."""
    access = access.closing(
        *(
            (MAIN, table.name.table, column)
            for table in found.schema.tables
            if not table.is_view and access.opens(*table.name)
            for column in generated_from_closed(table, found.tables[table.name.table].statement, access)
        )
    )
    while True:
        guard.closed, trusted = Closed.of(found.schema, access), frozenset[str]()
        more: list[tuple[str, str]] = []
        for table in found.schema.tables:
            definition = found.tables[table.name.table]
            if not access.opens(*table.name) or not _shows_closed(file, guard, table, definition):
                continue
            is_trusted = definition.kind == "view" and access.allows_by_name(*table.name)
            if is_trusted and (views := _views_within(file, guard, table)):
                trusted |= views
            else:
                more.append((MAIN, table.name.table))
        if not more:
            break
        access = access.closing(*more)
    guard.trusted_views = trusted
    guard.unheard_triggers = frozenset(
        name.lower() for name, each in found.triggers.items() if _may_join_closed(each.statement, guard.closed)
    )
    return access


def _shows_closed(file: sqlite3.Connection, guard: Authorizer, table: Table, definition: Definition) -> bool:
    match definition.kind:
        case "view":
            return _may_join_closed(definition.statement, guard.closed) or not _compiles(file, guard, table)
        case "virtual":
            return _indexes_closed(table, definition.statement, guard.closed)
        case _:
            return False


def _compiles(file: sqlite3.Connection, guard: Authorizer, view: Table) -> bool:
    guard.begin()
    try:
        file.execute(f"EXPLAIN {_select_all(view)}").close()
    except sqlite3.Error:
        return False
    return not guard.denials and not guard.reaches_closed(frozenset())


def _select_all(view: Table) -> str:
    columns = ", ".join(quote_name(column.name) for column in view.columns)
    return f"SELECT {columns} FROM {MAIN}.{quote_name(view.name.table)}"  # noqa: S608 - names are quoted


def _may_join_closed(statement: str, closed: Closed) -> bool:
    """Whether it may compare closed columns by `NATURAL JOIN` or `JOIN … USING`, of which SQLite does not ask."""
    names = names_in(tokenize(statement))
    if names.isdisjoint(("natural", "using")):
        return False
    if not names.isdisjoint(closed.tables):
        return True
    partly_closed = names & closed.columns.keys()
    compared = frozenset[str]().union(*(closed.columns[table] for table in partly_closed))
    return bool(partly_closed and "natural" in names) or not names.isdisjoint(compared)


def _indexes_closed(table: Table, statement: str, closed: Closed) -> bool:
    """Whether a virtual table is made over something closed, or is of a module that reads more than its own. FTS4 takes
    the columns of its content table where its definition names none."""
    tokens = tokenize(statement)
    names = names_in(tokens) | {column.name.lower() for column in table.columns}
    modules = [after for token, after in pairwise(tokens) if token.is_keyword("USING")]
    if not modules or modules[0].value.lower() not in INDEX_MODULES or not names.isdisjoint(closed.tables):
        return True
    return any(not names.isdisjoint(closed.columns[table]) for table in names & closed.columns.keys())


def _views_within(file: sqlite3.Connection, guard: Authorizer, view: Table) -> frozenset[str]:
    """The view and those that it reads from; none if it does more than read tables of the file."""
    before, guard.closed = guard.closed, Closed()
    try:
        return frozenset(guard.within - {""}) if _compiles(file, guard, view) else frozenset()
    finally:
        guard.closed = before
