"""The tables of a MySQL or MariaDB database that the login may read: three questions, whatever their number."""

import hashlib
from collections import defaultdict
from typing import Final

from pegboard.core.database import Access, Column, Dialect, Relation, Schema, Table, TableName, narrowed

from .privileges import NOT_SYSTEM, Ask

_TABLES: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, {count} TABLE_COMMENT FROM information_schema.TABLES
WHERE {where} AND TABLE_TYPE IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') ORDER BY TABLE_SCHEMA, TABLE_NAME
"""
_COLUMNS: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, CAST(COLUMN_TYPE AS CHAR), IS_NULLABLE, COLUMN_COMMENT, COLUMN_KEY
FROM information_schema.COLUMNS WHERE {where} AND FIND_IN_SET('select', PRIVILEGES)
ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""
_KEYS: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME,
       REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE WHERE {where} ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME,
ORDINAL_POSITION
"""


def read_schema(ask: Ask, access: Access, database: str) -> Schema:
    where = "TABLE_SCHEMA = DATABASE()" if database else NOT_SYSTEM
    columns: dict[TableName, dict[str, Column]] = defaultdict(dict)
    for schema, table, name, kind, nullable, comment, _ in ask(_COLUMNS.format(where=where)):
        columns[TableName(schema, table)][name] = Column(name, str(kind), nullable == "YES", comment or "")
    keys: dict[TableName, list[str]] = defaultdict(list)
    links: dict[tuple[TableName, str], list[tuple[str, TableName, str]]] = defaultdict(list)
    for schema, table, constraint, column, to_schema, to_table, to_column in ask(_KEYS.format(where=where)):
        own = TableName(schema, table)
        if constraint == "PRIMARY":
            keys[own].append(column)
        elif to_table is not None:
            links[own, constraint].append((column, TableName(to_schema, to_table), to_column))
    tables = tuple(
        Table(
            name,
            tuple(columns[name].values()),
            tuple(keys[name]) if columns[name].keys() >= {*keys[name]} else (),
            "" if comment == "VIEW" else comment or "",
            kind == "VIEW",
            None if kind == "VIEW" or count is None else int(count),
        )
        for schema, table, kind, count, comment in ask(_TABLES.format(where=where, count="TABLE_ROWS,"))
        if (name := TableName(schema, table)) in columns
    )
    relations = tuple(
        Relation(own, tuple(one[0] for one in parts), parts[0][1], tuple(one[2] for one in parts))
        for (own, _), parts in links.items()
        if all(one[0] in columns[own] and one[2] in columns.get(one[1], {}) for one in parts)
    )
    return narrowed(Schema(Dialect.MYSQL, tables, relations, database), access)


def read_stamp(ask: Ask, database: str) -> str:
    where = "TABLE_SCHEMA = DATABASE()" if database else NOT_SYSTEM
    rows = (*ask(_TABLES.format(where=where, count="")), *ask(_COLUMNS.format(where=where)))
    return hashlib.sha256(repr(rows).encode()).hexdigest()
