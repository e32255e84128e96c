"""Functions and tables of DuckDB's own: those that compute or describe the schema may be used, all others may not.

Which functions there are is asked of the engine itself, so that a new version brings its new ones; what is refused is
what reads settings, files, secrets or the catalog, what waits, and what leaves something behind.
"""

import re
from collections import defaultdict
from typing import Final

import duckdb

TABLE_FUNCTIONS: Final = frozenset(
    {"generate_series", "json_each", "json_tree", "pg_timezone_names", "range", "repeat", "repeat_row", "unnest"}
)
CATALOG_FUNCTIONS: Final = frozenset(
    {"duckdb_columns", "duckdb_constraints", "duckdb_functions", "duckdb_indexes", "duckdb_keywords"}
    | {"duckdb_schemas", "duckdb_tables", "duckdb_types", "duckdb_views", "pragma_show", "pragma_table_info"}
    | {"pragma_version"}
)
CATALOG_TABLES: Final = frozenset(
    {"duckdb_columns", "duckdb_constraints", "duckdb_indexes", "duckdb_schemas", "duckdb_tables", "duckdb_types"}
    | {"duckdb_views", "pg_am", "pg_attrdef", "pg_attribute", "pg_class", "pg_collation", "pg_constraint"}
    | {"pg_database", "pg_depend", "pg_description", "pg_enum", "pg_index", "pg_indexes", "pg_namespace", "pg_proc"}
    | {"pg_sequence", "pg_sequences", "pg_tables", "pg_tablespace", "pg_type", "pg_views", "sqlite_master"}
    | {"sqlite_schema"}
)
CATALOG_SCHEMAS: Final = frozenset({"information_schema", "pg_catalog"})
REFUSED_TABLES: Final = frozenset(
    {"duckdb_databases", "duckdb_logs", "pg_prepared_statements", "pg_settings", "pragma_database_list"}
    | {"sqlite_temp_master", "sqlite_temp_schema"}
)
"""They show where files are, what others asked, or the settings of the engine."""

_REFUSED: Final = re.compile(
    r"add_parquet_key|currval|current_connection_id|current_setting|error|get_?env|getvariable|nextval|query.*|setseed"
    r"|setval|sleep_ms|stats|write_log|.*execute.*|.*serialize.*|read_.*|.*_scan|which_secret"
)
_SCALARS: Final = """
    SELECT DISTINCT lower(function_name) FROM duckdb_functions()
    WHERE internal AND function_type IN ('scalar', 'aggregate')
"""
_MACROS: Final = """
    SELECT lower(function_name), lower(string_agg(macro_definition, ' ')) FROM duckdb_functions()
    WHERE internal AND function_type = 'macro' GROUP BY 1
"""
_OWN_MACROS: Final = """
    SELECT lower(function_name), function_type, macro_definition FROM duckdb_functions()
    WHERE NOT internal AND function_type IN ('macro', 'table_macro')
"""
_READS: Final = re.compile(r"\bselect\b|duckdb_|pragma_|sleep_ms|current_setting")
_SYNTAX: Final = frozenset(
    {"unnest", "row", "count_star", "grouping", "grouping_id", "ordinality", "row_number", "rank", "dense_rank", "fill"}
    | {"percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"}
)
"""What the parser writes as functions, and the catalog does not list."""


def computing_functions(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The functions that compute from their arguments, by the engine's own list."""
    scalars = {str(name) for (name,) in connection.execute(_SCALARS).fetchall()}
    macros = {str(name) for name, text in connection.execute(_MACROS).fetchall() if _READS.search(str(text)) is None}
    return frozenset(name for name in scalars | macros | _SYNTAX if _REFUSED.fullmatch(name) is None)


def own_macros(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Those that the database brings itself, each with the statements that it stands for."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, kind, text in connection.execute(_OWN_MACROS).fetchall():
        found[str(name)].append(str(text) if kind == "table_macro" else f"SELECT {text}")
    return found
