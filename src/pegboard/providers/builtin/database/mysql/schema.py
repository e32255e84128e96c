"""Everything in a MySQL or MariaDB database that may be asked: three questions, whatever the number of tables."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from pegboard.core.database import Access, Column, Dialect, Relation, Schema, Table, TableName, narrowed

from .columns import Made, leads_elsewhere, made, open_columns

_OTHERS: Final = "TABLE_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema')"
_MINE: Final = "TABLE_SCHEMA = DATABASE()"

TABLES: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_ROWS, TABLE_COMMENT, ENGINE FROM information_schema.TABLES
WHERE {where} AND TABLE_TYPE IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') ORDER BY TABLE_SCHEMA, TABLE_NAME
"""
KINDS: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_COMMENT FROM information_schema.TABLES WHERE {where} ORDER BY 1, 2
"""
COLUMNS: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_COMMENT, COLUMN_KEY, EXTRA,
       GENERATION_EXPRESSION, COLUMN_DEFAULT
FROM information_schema.COLUMNS WHERE {where} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""
KEYS: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME,
       REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE WHERE {where} ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME,
ORDINAL_POSITION
"""

Ask = Callable[[str], Sequence[tuple[Any, ...]]]


def read_schema(ask: Ask, access: Access, default: str, is_open: Callable[[str, str], bool]) -> Schema:
    """`is_open` tells of a view whether what lies under it is."""
    where = _MINE if default else _OTHERS
    columns: dict[TableName, list[Column]] = defaultdict(list)
    origins: dict[TableName, list[Made]] = defaultdict(list)
    for schema, table, name, kind, nullable, comment, _, *origin in ask(COLUMNS.format(where=where)):
        columns[TableName(schema, table)].append(Column(name, _text(kind), nullable == "YES", comment or ""))
        origins[TableName(schema, table)].append(made(name, *origin))
    if not access.is_whole:
        for own, all_of_it in origins.items():
            open_ones = set(open_columns(all_of_it, partial(access.opens_column, *own)))
            columns[own] = [column for column in columns[own] if column.name in open_ones]
    keys: dict[TableName, list[str]] = defaultdict(list)
    links: dict[tuple[TableName, str], list[tuple[str, TableName, str]]] = defaultdict(list)
    for schema, table, constraint, column, to_schema, to_table, to_column in ask(KEYS.format(where=where)):
        own = TableName(schema, table)
        if constraint == "PRIMARY":
            keys[own].append(column)
        elif to_table is not None:
            links[own, constraint].append((column, TableName(to_schema, to_table), to_column))
    relations = tuple(
        Relation(own, tuple(one[0] for one in parts), parts[0][1], tuple(one[2] for one in parts))
        for (own, _), parts in links.items()
    )
    tables = tuple(
        Table(
            name,
            tuple(columns[name]),
            tuple(keys[name]),
            "" if comment == "VIEW" else comment or "",
            kind == "VIEW",
            None if kind == "VIEW" or count is None else int(count),
        )
        for schema, table, kind, count, comment, engine in ask(TABLES.format(where=where))
        if (name := TableName(schema, table)) in columns
        and (kind != "VIEW" or is_open(schema, table))
        and (access.is_whole or not leads_elsewhere(engine))
    )
    known = {table.name for table in tables}
    kept = tuple(one for one in relations if one.table in known and one.to in known)
    return narrowed(Schema(Dialect.MYSQL, tables, kept, default), access)


def stamp(ask: Ask, default: str) -> str:
    where = _MINE if default else _OTHERS
    digest = hashlib.sha256()
    for question in (
        KINDS.format(where=where),
        COLUMNS.format(where=where),
    ):
        for row in ask(question):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _text(kind: Any) -> str:
    return kind.decode() if isinstance(kind, bytes) else str(kind)
