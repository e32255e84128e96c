"""The schema of a SQLite file, read from its own catalog in a few statements however many tables it has."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from pegboard.core.database import Column, Dialect, Relation, Schema, Table, TableName

from .authorizer import MAIN
from .statement import quote_name


@dataclass(frozen=True, slots=True)
class Definition:
    """How a table, index or trigger was made."""

    kind: str
    """`table`, `view`, `virtual`, `shadow`, `index` or `trigger`."""
    statement: str
    has_rowid: bool = True


@dataclass(frozen=True, slots=True)
class FileSchema:
    """All of a file, open or not."""

    schema: Schema
    tables: dict[str, Definition]
    """By name; also those that SQLite and virtual tables keep for themselves."""
    indexes: dict[str, Definition]
    triggers: dict[str, Definition]

    @property
    def known(self) -> frozenset[str]:
        return frozenset(map(str.lower, self.tables))

    @property
    def virtual_tables(self) -> frozenset[str]:
        return frozenset(name for name, each in self.tables.items() if each.kind == "virtual")

    @property
    def owners(self) -> dict[str, str]:
        """For each table that a virtual table keeps its content in, the virtual table; both in lower case."""
        return {
            name.lower(): owner.lower()
            for owner in sorted(self.virtual_tables, key=len)
            for name, each in self.tables.items()
            if each.kind == "shadow" and name.lower().startswith(f"{owner.lower()}_")
        }


_TABLES = """
    SELECT l.name, l.type, l.wr, m.sql FROM pragma_table_list AS l
    LEFT JOIN main.sqlite_master AS m ON m.name = l.name AND m.type IN ('table', 'view')
    WHERE l.schema = 'main' ORDER BY l.name
"""
_COLUMNS = "SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?, 'main') ORDER BY cid"
_KEYS = 'SELECT id, seq, "table", "from", "to" FROM pragma_foreign_key_list(?, \'main\') ORDER BY id, seq'
_OTHERS = "SELECT type, name, sql FROM main.sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"


def read_schema(connection: sqlite3.Connection) -> FileSchema:
    definitions: dict[str, Definition] = {}
    tables: list[Table] = []
    relations: list[Relation] = []
    counts = _row_counts(connection)
    for name, kind, is_without_rowid, statement in connection.execute(_TABLES).fetchall():
        if name in ("sqlite_schema", "sqlite_master"):
            continue
        definitions[name] = Definition(kind, statement or "", has_rowid=not is_without_rowid)
        if name.startswith("sqlite_") or kind == "shadow":
            continue
        columns, key = _columns(connection, name)
        if not columns:
            continue
        tables.append(Table(TableName(MAIN, name), columns, key, "", kind == "view", counts.get(name)))
        if kind == "table":
            relations.extend(_relations(connection, name))
    others: dict[str, dict[str, Definition]] = {"index": {}, "trigger": {}}
    for kind, name, statement in connection.execute(_OTHERS):
        others[kind][name] = Definition(kind, statement)
    schema = Schema(Dialect.SQLITE, tuple(tables), tuple(_resolved(relations, tables)), MAIN)
    return FileSchema(schema, definitions, others["index"], others["trigger"])


def _columns(connection: sqlite3.Connection, table: str) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """None for a view whose tables are gone: it cannot be read."""
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


def _resolved(relations: Iterable[Relation], tables: Iterable[Table]) -> Iterator[Relation]:
    """A foreign key without columns means the other table's primary key; one to an unknown table means nothing."""
    by_name = {table.name.table.casefold(): table for table in tables}
    for each in relations:
        to = by_name.get(each.to.table.casefold())
        if to is not None and len(to_columns := each.to_columns or to.key) == len(each.columns):
            yield Relation(each.table, each.columns, to.name, to_columns)


def _row_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """As ANALYZE has stored them, if it was run."""
    counts: dict[str, int] = {}
    with suppress(sqlite3.OperationalError):
        for table, statistics in connection.execute("SELECT tbl, stat FROM main.sqlite_stat1"):
            first = str(statistics or "").partition(" ")[0]
            if first.isdigit():
                counts[str(table)] = max(int(first), counts.get(str(table), 0))
    return counts


def empty_copy_of(table: Table, *, has_rowid: bool) -> str:
    """A statement that makes a table of these columns, without rows."""
    single_key = table.key[0] if len(table.key) == 1 else None
    parts = [_column_definition(column, is_key=column.name == single_key) for column in table.columns]
    if len(table.key) > 1:
        parts.append(f"PRIMARY KEY ({', '.join(map(quote_name, table.key))})")
    end = "" if has_rowid or not table.key else " WITHOUT ROWID"
    return f"CREATE TABLE {quote_name(table.name.table)} ({', '.join(parts)}){end}"


def _column_definition(column: Column, *, is_key: bool) -> str:
    words = column.type.replace("(", " ").replace(")", " ").replace(",", " ").replace("_", "").split()
    type = column.type if words and all(word.isalnum() and word.isascii() for word in words) else ""
    constraint = "PRIMARY KEY" if is_key else "" if column.is_nullable else "NOT NULL"
    return " ".join(filter(None, (quote_name(column.name), type, constraint)))
