"""The schema of a SQLite file, read from its own catalogue in a few statements however many tables it has."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from pegboard.core.database import Column, Dialect, Relation, Schema, Table, TableName

from .authorizer import MAIN
from .tokens import quoted


@dataclass(frozen=True, slots=True)
class Form:
    """How a table is made, beside what it holds."""

    kind: str
    """`table`, `view`, `virtual` or `shadow`."""
    has_rowid: bool
    statement: str


@dataclass(frozen=True, slots=True)
class Index:
    table: str
    columns: tuple[str, ...]
    is_unique: bool


@dataclass(frozen=True, slots=True)
class Trigger:
    table: str
    statement: str


@dataclass(frozen=True, slots=True)
class Whole:
    """All of a file, open or not."""

    schema: Schema
    forms: dict[str, Form]
    """By the table's name."""
    indexes: tuple[Index, ...]
    triggers: tuple[Trigger, ...]

    @property
    def known(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.forms)

    @property
    def virtual(self) -> frozenset[str]:
        return frozenset(name for name, form in self.forms.items() if form.kind == "virtual")

    @property
    def owners(self) -> dict[str, str]:
        """Of each table that a virtual table keeps its content in, the virtual table."""
        virtual = sorted((name.lower() for name, form in self.forms.items() if form.kind == "virtual"), key=len)
        return {
            name.lower(): owner
            for owner in virtual
            for name, form in self.forms.items()
            if form.kind == "shadow" and name.lower().startswith(f"{owner}_")
        }


_LIST = """
    SELECT l.name, l.type, l.wr, m.sql FROM pragma_table_list AS l
    LEFT JOIN main.sqlite_master AS m ON m.name = l.name AND m.type IN ('table', 'view')
    WHERE l.schema = 'main' ORDER BY l.name
"""
_COLUMNS = "SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?, 'main') ORDER BY cid"
_KEYS = 'SELECT id, seq, "table", "from", "to" FROM pragma_foreign_key_list(?, \'main\') ORDER BY id, seq'
_INDEXES = """
    SELECT l.name, l."unique", i.name FROM pragma_index_list(?, 'main') AS l, pragma_index_info(l.name, 'main') AS i
    WHERE NOT l.partial ORDER BY l.name, i.seqno
"""
_TRIGGERS = "SELECT tbl_name, sql FROM main.sqlite_master WHERE type = 'trigger' ORDER BY name"


def whole(connection: sqlite3.Connection) -> Whole:
    forms: dict[str, Form] = {}
    tables: list[Table] = []
    relations: list[Relation] = []
    indexes: list[Index] = []
    counts = _counts(connection)
    for name, kind, without_rowid, statement in connection.execute(_LIST).fetchall():
        if name in ("sqlite_schema", "sqlite_master"):
            continue
        forms[name] = Form(kind, not without_rowid, statement or "")
        if name.startswith("sqlite_") or kind == "shadow":
            continue
        columns, key = _columns(connection, name)
        if not columns:
            continue
        tables.append(Table(TableName(MAIN, name), columns, key, "", kind == "view", counts.get(name)))
        if kind == "table":
            relations.extend(_relations(connection, name))
            indexes.extend(_indexes(connection, name))
    keys = {table.name: table.key for table in tables}
    names = {table.name.table.casefold(): table.name for table in tables}
    return Whole(
        Schema(Dialect.SQLITE, tuple(tables), tuple(_resolved(relations, keys, names)), MAIN),
        forms,
        tuple(indexes),
        tuple(Trigger(table, statement) for table, statement in connection.execute(_TRIGGERS)),
    )


def _columns(connection: sqlite3.Connection, table: str) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """None for a view whose tables are gone: nobody can read it."""
    try:
        rows = connection.execute(_COLUMNS, (table,)).fetchall()
    except sqlite3.OperationalError:
        return (), ()
    shown = [row for row in rows if row[4] != 1]
    key = sorted((pk, name) for name, _, _, pk, _ in shown if pk)
    columns = tuple(Column(name, kind, is_nullable=not (notnull or pk)) for name, kind, notnull, pk, _ in shown)
    return columns, tuple(name for _, name in key)


def _relations(connection: sqlite3.Connection, table: str) -> Iterator[Relation]:
    pairs: dict[int, list[tuple[str, str, str | None]]] = defaultdict(list)
    for number, _, to, column, to_column in connection.execute(_KEYS, (table,)):
        pairs[number].append((to, column, to_column))
    for each in pairs.values():
        to_columns = tuple(to_column for _, _, to_column in each if to_column is not None)
        yield Relation(
            TableName(MAIN, table), tuple(column for _, column, _ in each), TableName(MAIN, each[0][0]), to_columns
        )


def _resolved(
    relations: Iterable[Relation], keys: dict[TableName, tuple[str, ...]], names: dict[str, TableName]
) -> Iterator[Relation]:
    """A foreign key that names no columns means the other's primary key; one that names no table means nothing."""
    for each in relations:
        to = names.get(each.to.table.casefold())
        if to is None:
            continue
        to_columns = each.to_columns or keys[to]
        if len(to_columns) == len(each.columns):
            yield Relation(each.table, each.columns, to, to_columns)


def _indexes(connection: sqlite3.Connection, table: str) -> Iterator[Index]:
    columns: dict[tuple[str, bool], list[str | None]] = defaultdict(list)
    for index, is_unique, column in connection.execute(_INDEXES, (table,)):
        columns[index, bool(is_unique)].append(column)
    for (_, is_unique), each in columns.items():
        named = tuple(column for column in each if column is not None)
        if len(named) == len(each):
            yield Index(table, named, is_unique)


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    """What ANALYZE wrote down, where somebody ran it."""
    counts: dict[str, int] = {}
    with suppress(sqlite3.OperationalError):
        for table, statistics in connection.execute("SELECT tbl, stat FROM main.sqlite_stat1"):
            first = str(statistics or "").partition(" ")[0]
            if first.isdigit():
                counts[str(table)] = max(int(first), counts.get(str(table), 0))
    return counts


def definition(table: Table, form: Form, relations: Iterable[Relation]) -> str:
    """A statement that makes the same table without rows, as far as a statement can tell; `relations` are its own."""
    alone = table.key[0] if len(table.key) == 1 else None
    parts = [
        " ".join(
            part
            for part in (
                quoted(column.name),
                _type(column.type),
                "PRIMARY KEY" if column.name == alone else "",
                "" if column.is_nullable or column.name == alone else "NOT NULL",
            )
            if part
        )
        for column in table.columns
    ]
    if len(table.key) > 1:
        parts.append(f"PRIMARY KEY ({_list(table.key)})")
    parts += [
        f"FOREIGN KEY ({_list(each.columns)}) REFERENCES {quoted(each.to.table)} ({_list(each.to_columns)})"
        for each in relations
    ]
    end = "" if form.has_rowid or not table.key else " WITHOUT ROWID"
    return f"CREATE TABLE {quoted(table.name.table)} ({', '.join(parts)}){end}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))


def _type(text: str) -> str:
    bare = text.replace("(", " ").replace(")", " ").replace(",", " ").replace(" ", "").replace("_", "")
    return text if bare.isalnum() and bare.isascii() else ""
