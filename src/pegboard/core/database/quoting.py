"""Names as a statement must write them: bare where that is safe in every engine, else in the quotes of the dialect."""

import re
from typing import Final

from .schema import Schema, TableName
from .source import Dialect

_BARE: Final = re.compile("[a-z_][a-z0-9_]*")
"""Small letters alone: PostgreSQL makes small what is not quoted."""

_WORDS: Final = """
    abort access accessible action add after against all alter always analyse analyze and any array as asc
    asensitive asof asymmetric attach authorization autoincrement before begin between bigint binary blob body
    both by call cascade case cast change char character check collate collation column columns commit
    concurrently condition conflict constraint continue convert create cross cube cume_dist current
    current_catalog current_date current_path current_role current_schema current_time current_timestamp
    current_user cursor database databases day_hour day_microsecond day_minute day_second dec decimal declare
    default deferrable deferred delayed delete dense_rank desc describe detach deterministic distinct
    distinctrow div do double drop dual each else elseif elsif empty enclosed end escape escaped except
    exception exclude exclusive exists exit explain fail false fetch filter first_value float float4 float8
    following for force foreign freeze from full fulltext function general generated get glob goto grant group
    grouping groups having high_priority history hour_microsecond hour_minute hour_second if ignore
    ignore_server_ids ilike immediate in index indexed infile initially inner inout insensitive insert instead
    int int1 int2 int3 int4 int8 integer intersect interval into io_after_gtids io_before_gtids is isnull
    iterate join json_table key keys kill lag lambda last_value lateral lead leading leave left like limit
    linear lines load localtime localtimestamp lock long longblob longtext loop low_priority manual map
    master_bind match materialized maxvalue mediumblob mediumint mediumtext merge middleint minute_microsecond
    minute_second mod modifies natural no no_write_to_binlog not nothing notnull nth_value ntile null nulls
    numeric of off offset on only optimize optimizer_costs option optionally or order others out outer outfile
    over overlaps package parallel partition percent_rank period pivot pivot_longer pivot_wider placing plan
    position pragma preceding precision primary procedure purge qualify query raise raiserror range rank read
    read_write reads real recursive ref references regexp reindex release rename repeat replace require resignal
    restrict return returning revoke right rlike rollback row row_number rows rowtype savepoint schema schemas
    second_microsecond select semi sensitive separator session_user set show signal similar smallint some
    spatial specific sql sql_big_result sql_calc_found_rows sql_small_result sqlexception sqlstate sqlwarning
    ssl starting stored straight_join struct summarize symmetric system system_user table tablesample temp
    temporary terminated then ties tinyblob tinyint tinytext to trailing transaction trigger true unbounded undo
    union unique unlock unpivot unsigned update usage use user using utc_date utc_time utc_timestamp vacuum
    values varbinary varchar varcharacter variadic varying verbose view virtual when where while window with
    within without write xor year_month zerofill
"""
RESERVED: Final = frozenset(_WORDS.split())
"""The words of SQL that one engine or another does not take for a name. A name in quotes is never wrong."""


def quoted(name: str, dialect: Dialect) -> str:
    if _BARE.fullmatch(name) and name not in RESERVED:
        return name
    mark = "`" if dialect is Dialect.MYSQL else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def called(name: TableName, schema: Schema) -> str:
    """A table as a statement names it: with its schema, but where a bare name finds just this table."""
    bare = quoted(name.table, schema.dialect)
    if not name.schema or name.schema == schema.default:
        return bare
    return f"{quoted(name.schema, schema.dialect)}.{bare}"
