"""Functions that a statement may call, by name: they compute, and do nothing else.

Privileges do not cover what the others do: wait, lock, change settings, reach files, other sessions or other servers,
run a text as SQL, or look a table up by a name in a text. A function that somebody defined is in no list.
"""

from importlib.resources import files
from typing import Final

from pegboard.providers.builtin.database.names import names


def _read_names(text: str) -> frozenset[str]:
    found: set[str] = set()
    prefixes: list[str] = []
    for line in text.splitlines():
        if line.endswith(":"):
            prefixes = [one for one in line[:-1].split() if one.endswith("_")] or [""]
        elif not line.startswith("#"):
            found.update(f"{prefix}{name}" for prefix in prefixes for name in line.split())
    return frozenset(found)


CALLABLE: Final = _read_names(files(__package__).joinpath("functions.txt").read_text(encoding="ascii"))
ABOUT_CATALOG: Final = names(
    """
    col_description format_type has_any_column_privilege has_column_privilege has_database_privilege
    has_schema_privilege has_table_privilege obj_description pg_database_size pg_get_constraintdef pg_get_expr
    pg_get_indexdef pg_get_keywords pg_get_partkeydef pg_get_serial_sequence pg_get_userbyid pg_get_viewdef
    pg_indexes_size pg_relation_size pg_table_is_visible pg_table_size pg_total_relation_size pg_type_is_visible
    regclass regtype to_regclass to_regtype
    """
)
"""They name what is in the catalog: callable where nothing is closed."""
CATALOG: Final = names(
    """
    pg_am pg_attrdef pg_attribute pg_available_extensions pg_class pg_collation pg_constraint pg_database
    pg_description pg_enum pg_extension pg_index pg_indexes pg_inherits pg_matviews pg_namespace pg_opclass
    pg_operator pg_partitioned_table pg_policies pg_range pg_sequence pg_sequences pg_stat_all_tables
    pg_stat_user_indexes pg_stat_user_tables pg_stats pg_tables pg_timezone_abbrevs pg_timezone_names pg_trigger
    pg_type pg_views
    """
)
"""Of pg_catalog, what describes tables: readable where nothing is closed."""
