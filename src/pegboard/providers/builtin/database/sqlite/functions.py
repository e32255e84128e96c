"""Functions and pragmas that a statement may use, by name: those that compute from their arguments alone."""

from typing import Final

FUNCTIONS: Final = frozenset(
    """
    -> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling changes char coalesce concat concat_ws cos
    cosh count cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value
    floor format glob group_concat hex highlight if ifnull iif instr json json_array json_array_insert
    json_array_length json_error_position json_extract json_group_array json_group_object json_insert json_object
    json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid jsonb jsonb_array
    jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch
    jsonb_remove jsonb_replace jsonb_set julianday lag last_insert_rowid last_value lead length like likelihood likely
    ln log log10 log2 lower ltrim match max median min mod nth_value ntile nullif octet_length offsets percent_rank
    percentile percentile_cont percentile_disc pi pow power printf quote radians random randomblob rank replace round
    row_number rtrim sign sin sinh snippet soundex sqlite_version sqrt strftime string_agg substr substring subtype sum
    tan tanh time timediff total total_changes trim trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely
    upper zeroblob
    """.split()  # noqa: SIM905 - a list of one word a line would be pages long
)

PRAGMAS: Final = frozenset(
    """
    collation_list compile_options foreign_key_list function_list index_info index_list index_xinfo table_info
    table_list table_xinfo
    """.split()  # noqa: SIM905 - a list of one word a line would be pages long
)
"""Those that describe the schema. `database_list` is not among them: it shows where the file is."""

READ_PRAGMAS: Final = frozenset(
    {"application_id", "data_version", "encoding", "page_count", "page_size", "schema_version", "user_version"}
)
"""Those that return a number of the file, and set it when they are given one."""

TABLE_FUNCTIONS: Final = ("json_each", "json_tree")
CATALOG: Final = frozenset({"sqlite_master", "sqlite_schema", *(f"pragma_{name}" for name in PRAGMAS)})
"""Tables that describe the schema."""
EPONYMOUS_TABLES: Final = (*TABLE_FUNCTIONS, *sorted(f"pragma_{name}" for name in PRAGMAS))

INDEX_MODULES: Final = frozenset({"fts3", "fts4", "fts4aux", "fts5", "fts5vocab", "geopoly", "rtree", "rtree_i32"})
"""Virtual tables that keep their content in the file, and read nothing but what their definition names."""
