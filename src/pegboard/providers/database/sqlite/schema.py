"""The schema of a SQLite file, read from its own catalog in a few statements however many tables it has."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, ForeignKey, TableColumn, TableName
from pegboard.core.model.databases import Dialect
from pegboard.providers.database.common import quote_name
from pegboard.providers.database.sqlite.authorizer import MAIN


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

    schema: DatabaseSchema
    tables: Mapping[str, Definition]
    """By name; also those that SQLite and virtual tables keep for themselves."""
    indexes: Mapping[str, Definition]
    triggers: Mapping[str, Definition]
    unique_columns: Mapping[str, frozenset[str]]
    """For each table, the columns of the indexes that its constraints make; all in lower case."""

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
    WHERE l.schema = 'main' AND l.name NOT IN ('sqlite_schema', 'sqlite_master') ORDER BY l.name
"""
_COLUMNS = "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid"
_KEYS = """
    SELECT l.name, k.id, k."table", k."from", k."to" FROM pragma_table_list AS l
    JOIN pragma_foreign_key_list(l.name, 'main') AS k WHERE l.schema = 'main' AND l.type = 'table'
    ORDER BY l.name, k.id, k.seq
"""
_UNIQUE_COLUMNS = """
    SELECT l.name, lower(c.name) FROM pragma_table_list AS l JOIN pragma_index_list(l.name, 'main') AS i
    JOIN pragma_index_info(i.name, 'main') AS c WHERE l.schema = 'main' AND i.origin <> 'c' ORDER BY l.name
"""
_OTHERS = "SELECT name, sql FROM main.sqlite_master WHERE type = ? AND sql IS NOT NULL"
_STATISTICS = "SELECT tbl, stat FROM main.sqlite_stat1 WHERE stat IS NOT NULL"


def read_schema(connection: sqlite3.Connection) -> FileSchema:
    definitions = {
        name: Definition(kind, statement or "", has_rowid=not is_without_rowid)
        for name, kind, is_without_rowid, statement in connection.execute(_TABLES).fetchall()
    }
    counts = _row_counts(connection)
    tables = dict[str, DatabaseTable]()
    for name, definition in definitions.items():
        if name.startswith("sqlite_") or definition.kind == "shadow":
            continue
        # A view whose tables are gone cannot be read.
        with suppress(sqlite3.OperationalError):
            if rows := connection.execute(_COLUMNS, (name,)).fetchall():
                columns = tuple(TableColumn(column, type, not (notnull or pk)) for column, type, notnull, pk in rows)
                key = tuple(column for _, column in sorted((pk, column) for column, _, _, pk in rows if pk))
                is_view = definition.kind == "view"
                tables[name.casefold()] = DatabaseTable(
                    TableName(MAIN, name), columns, key, "", is_view, counts.get(name)
                )
    relations = tuple(_relations(connection, tables))
    indexes, triggers = (
        {name: Definition(kind, statement) for name, statement in connection.execute(_OTHERS, (kind,)).fetchall()}
        for kind in ("index", "trigger")
    )
    schema = DatabaseSchema(Dialect.SQLITE, tuple(tables.values()), relations, MAIN)
    unique_columns = {
        name.lower(): frozenset(column for _, column in rows)
        for name, rows in groupby(connection.execute(_UNIQUE_COLUMNS).fetchall(), itemgetter(0))
    }
    return FileSchema(schema, definitions, indexes, triggers, unique_columns)


def _relations(connection: sqlite3.Connection, tables: Mapping[str, DatabaseTable]) -> Iterator[ForeignKey]:
    """A foreign key without columns means the other table's primary key; one to an unknown table means nothing."""
    for (name, _, other), rows in groupby(connection.execute(_KEYS).fetchall(), itemgetter(0, 1, 2)):
        pairs = [row[3:] for row in rows]
        table, to = tables.get(name.casefold()), tables.get(other.casefold())
        if table is None or to is None:
            continue
        to_columns = tuple(column for _, column in pairs if column is not None) or to.key
        if len(to_columns) == len(pairs):
            yield ForeignKey(table.name, tuple(column for column, _ in pairs), to.name, to_columns)


def _row_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """As ANALYZE has stored them, if it was run."""
    counts: dict[str, int] = {}
    with suppress(sqlite3.OperationalError):
        for table, statistics in connection.execute(_STATISTICS):
            first = str(statistics).partition(" ")[0]
            if first.isdigit():
                counts[str(table)] = max(int(first), counts.get(str(table), 0))
    return counts


def empty_copy_of(table: DatabaseTable, *, has_rowid: bool) -> str:
    """A statement that makes a table of these columns, without rows."""
    single_key = table.key[0] if len(table.key) == 1 else None
    parts = [_column_definition(column, is_key=column.name == single_key) for column in table.columns]
    if len(table.key) > 1:
        parts.append(f"PRIMARY KEY ({', '.join(map(quote_name, table.key))})")
    end = "" if has_rowid or not table.key else " WITHOUT ROWID"
    return f"CREATE TABLE {quote_name(table.name.table)} ({', '.join(parts)}){end}"


def _column_definition(column: TableColumn, *, is_key: bool) -> str:
    words = column.type.replace("(", " ").replace(")", " ").replace(",", " ").replace("_", "").split()
    type = column.type if words and all(word.isalnum() and word.isascii() for word in words) else ""
    constraint = "PRIMARY KEY" if is_key else "" if column.is_nullable else "NOT NULL"
    return " ".join(filter(None, (quote_name(column.name), type, constraint)))
