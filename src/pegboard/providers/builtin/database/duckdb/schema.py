"""The schema of a DuckDB file, from the engine's own catalog."""

from collections import defaultdict

import duckdb

from pegboard.core.database import Column, Dialect, Relation, Schema, Table, TableName

_TABLES = """
    SELECT schema_name, table_name, comment, estimated_size, false FROM duckdb_tables() WHERE database_name = ?
    UNION ALL
    SELECT schema_name, view_name, comment, NULL, true FROM duckdb_views() WHERE database_name = ? AND NOT internal
    ORDER BY ALL
"""
_COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
    WHERE database_name = ? AND NOT internal ORDER BY schema_name, table_name, column_index
"""
_KEYS = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
    FROM duckdb_constraints() WHERE database_name = ? AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
    ORDER BY schema_name, table_name, constraint_index
"""
_DEFINITIONS = """
    SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = ? UNION ALL
    SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = ? AND NOT internal ORDER BY 1, 2
"""


def read_schema(connection: duckdb.DuckDBPyConnection, database: str) -> Schema:
    """All of it, open or not."""
    columns: dict[TableName, list[Column]] = defaultdict(list)
    for schema, table, name, kind, nullable, comment in connection.execute(_COLUMNS, [database]).fetchall():
        columns[TableName(schema, table)].append(Column(name, kind, bool(nullable), comment or ""))
    keys: dict[TableName, tuple[str, ...]] = {}
    relations: list[Relation] = []
    for schema, table, kind, own, other, others in connection.execute(_KEYS, [database]).fetchall():
        name = TableName(schema, table)
        if kind == "PRIMARY KEY":
            keys[name] = tuple(own)
        else:
            # A foreign key reaches no further than its own schema.
            relations.append(Relation(name, tuple(own), TableName(schema, other), tuple(others)))
    tables = tuple(
        Table(name, tuple(columns[name]), keys.get(name, ()), comment or "", bool(is_view), rows)
        for schema, table, comment, rows, is_view in connection.execute(_TABLES, [database, database]).fetchall()
        if columns[name := TableName(schema, table)]
    )
    return Schema(Dialect.DUCKDB, tables, tuple(relations), "main")


def read_definitions(connection: duckdb.DuckDBPyConnection, database: str) -> dict[TableName, str]:
    """The statements that make its tables and views."""
    return {
        TableName(schema, name): str(statement)
        for schema, name, statement in connection.execute(_DEFINITIONS, [database, database]).fetchall()
    }
