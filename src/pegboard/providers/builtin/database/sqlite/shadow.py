"""A database in memory that holds what is open of a file, and nothing else: its tables without rows, its views.

A statement is compiled on it before it touches the file. What is closed does not exist there, so it is answered as
whatever does not exist, by the same code of SQLite, in every way in which a statement can name it. Statements that ask
for the schema or for a plan are answered by it alone.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from pegboard.core.database import Access, Relation, Schema, Table, TableName, narrowed

from .authorizer import MAIN, Authorizer
from .connecting import NONE_KEPT, limited
from .joining import joining
from .reading import Whole, definition
from .tokens import quoted, uncommented


@dataclass(frozen=True)
class Shadow:
    connection: sqlite3.Connection
    authorizer: Authorizer
    schema: Schema
    """All that is open."""
    masks: dict[str, str]
    """Statements that make the views through which tables with closed columns are read, by table in small letters."""

    def mask(self, file: sqlite3.Connection, guard: Authorizer) -> None:
        with guard.ours():
            for statement in self.masks.values():
                file.execute(statement).close()
        guard.masks = frozenset(self.masks)
        guard.is_foreseen = True


def shadow(file: sqlite3.Connection, guard: Authorizer, whole: Whole, access: Access) -> Shadow:
    """`file` is the real one, with `guard` as its authorizer."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=NONE_KEPT)
    open_schema = narrowed(whole.schema, access)
    complete = {table.name: len(table.columns) for table in whole.schema.tables}
    relations: dict[TableName, list[Relation]] = defaultdict(list)
    for relation in open_schema.relations:
        relations[relation.table].append(relation)
    kept: list[Table] = []
    views: list[Table] = []
    masks: dict[str, str] = {}
    joins = joining(whole, access)
    for table in open_schema.tables:
        name, form = table.name.table, whole.forms[table.name.table]
        is_whole = len(table.columns) == complete[table.name]
        if form.kind == "view" and (joins.compares(form.statement) or not _compiles(file, guard, table)):
            continue
        if not is_whole:
            columns = ", ".join(quoted(column.name) for column in table.columns)
            read = f"SELECT {columns} FROM {MAIN}.{quoted(name)}"  # noqa: S608 - names are quoted
            masks[name.lower()] = f"CREATE TEMP VIEW {quoted(name)} AS {read}"
        if form.kind == "view" and is_whole:
            views.append(table)
            continue
        if not (form.kind == "virtual" and is_whole and _made(connection, form.statement)):
            connection.execute(definition(table, form, relations[table.name]))
        kept.append(table)
    _index(connection, whole, kept)
    kept += _viewed(connection, whole, views)
    order = {table.name: place for place, table in enumerate(open_schema.tables)}
    schema = replace(open_schema, tables=tuple(sorted(kept, key=lambda table: order[table.name])))
    known = frozenset(table.name.table.lower() for table in kept)
    authorizer = Authorizer(access, known, masks=frozenset(masks))
    limited(connection, authorizer)
    return Shadow(connection, authorizer, schema, masks)


def _compiles(file: sqlite3.Connection, guard: Authorizer, view: Table) -> bool:
    """Whether all that a view reads is open."""
    guard.begin()
    columns = ", ".join(quoted(column.name) for column in view.columns)
    try:
        name = f"{MAIN}.{quoted(view.name.table)}"
        file.execute(f"EXPLAIN SELECT {columns} FROM {name}").close()  # noqa: S608 - names are quoted
    except sqlite3.Error:
        return False
    return not guard.denied


def _viewed(connection: sqlite3.Connection, whole: Whole, views: Iterable[Table]) -> list[Table]:
    """The views that work with what is open; one that needs another goes with it."""
    made = [table for table in views if _made(connection, uncommented(whole.forms[table.name.table].statement))]
    while True:
        broken = [table for table in made if not _works(connection, table)]
        if not broken:
            return made
        for table in broken:
            connection.execute(f"DROP VIEW {quoted(table.name.table)}")
        made = [table for table in made if table not in broken]


def _works(connection: sqlite3.Connection, view: Table) -> bool:
    try:
        connection.execute(f"EXPLAIN SELECT * FROM {quoted(view.name.table)}").close()  # noqa: S608 - it is quoted
    except sqlite3.Error:
        return False
    return True


def _made(connection: sqlite3.Connection, statement: str) -> bool:
    try:
        connection.execute(statement)
    except sqlite3.Error:
        return False
    return True


def _index(connection: sqlite3.Connection, whole: Whole, tables: Iterable[Table]) -> None:
    """So that plans are like the real ones. They are named by us: a name may tell of what is closed."""
    columns = {table.name.table: {column.name for column in table.columns} for table in tables}
    for place, index in enumerate(whole.indexes):
        if index.table in columns and columns[index.table].issuperset(index.columns):
            kind = "UNIQUE INDEX" if index.is_unique else "INDEX"
            name, listed = quoted(f"{index.table}_index_{place}"), ", ".join(map(quoted, index.columns))
            with suppress(sqlite3.Error):
                connection.execute(f"CREATE {kind} {name} ON {quoted(index.table)} ({listed})")
