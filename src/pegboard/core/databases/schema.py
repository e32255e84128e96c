"""Tables for people who write SQL: quoted names, columns, keys, joins, and an example statement."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.databases import DatabaseAccess, Dialect
from pegboard.core.model.text import truncate

# What a source holds: tables with their columns, and the foreign keys between them.


class TableName(NamedTuple):
    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class TableColumn:
    name: str
    type: str
    """As the database names it."""
    is_nullable: bool = True
    comment: str = ""


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    name: TableName
    columns: tuple[TableColumn, ...]
    key: tuple[str, ...] = ()
    """The columns of the primary key, in its order."""
    comment: str = ""
    is_view: bool = False
    rows: int | None = None
    """How many there are about, where the engine knows it without counting."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key: columns of one table that name rows of another, pair by pair."""

    table: TableName
    columns: tuple[str, ...]
    to_table: TableName
    to_columns: tuple[str, ...]


@dataclass(frozen=True)
class DatabaseSchema:
    """All that may be read of one source, in a steady order."""

    dialect: Dialect
    tables: tuple[DatabaseTable, ...]
    relations: tuple[ForeignKey, ...] = ()
    default_schema: str = ""
    """The schema that a bare table name is looked up in first."""

    def column_names(self) -> Iterator[tuple[str, str, str]]:
        for table in self.tables:
            for column in table.columns:
                yield (*table.name, column.name)

    @cached_property
    def by_name(self) -> Mapping[TableName, DatabaseTable]:
        return {table.name: table for table in self.tables}

    def relations_from(self, name: TableName) -> Sequence[ForeignKey]:
        """What a table refers to."""
        return self._relations_by_end[0].get(name, ())

    def relations_to(self, name: TableName) -> Sequence[ForeignKey]:
        """What refers to a table, itself aside."""
        return self._relations_by_end[1].get(name, ())

    @cached_property
    def _relations_by_end(
        self,
    ) -> tuple[Mapping[TableName, Sequence[ForeignKey]], Mapping[TableName, Sequence[ForeignKey]]]:
        out, back = defaultdict[TableName, list[ForeignKey]](list), defaultdict[TableName, list[ForeignKey]](list)
        for each in self.relations:
            if each.table in self.by_name and each.to_table in self.by_name:
                out[each.table].append(each)
                if each.to_table != each.table:
                    back[each.to_table].append(each)
        return out, back


def narrow_schema(schema: DatabaseSchema, access: DatabaseAccess) -> DatabaseSchema:
    """Without what is closed, and without a word of it: a relation or key goes with any of its columns."""
    if access.is_unrestricted:
        return schema
    tables = tuple(
        narrow
        for table in schema.tables
        if access.allows_table(*table.name) and (narrow := _narrow_table(table, access)).columns
    )
    columns = {table.name: frozenset(column.name for column in table.columns) for table in tables}
    relations = tuple(
        each
        for each in schema.relations
        if each.table in columns
        and each.to_table in columns
        and columns[each.table].issuperset(each.columns)
        and columns[each.to_table].issuperset(each.to_columns)
    )
    return replace(schema, tables=tables, relations=relations)


def _narrow_table(table: DatabaseTable, access: DatabaseAccess) -> DatabaseTable:
    columns = tuple(each for each in table.columns if access.allows_column(*table.name, each.name))
    kept = {each.name for each in columns}
    return replace(table, columns=columns, key=table.key if kept.issuperset(table.key) else ())


MAX_COLUMNS: Final = 40
MAX_RELATIONS: Final = 20
_MAX_COMMENT_CHARS: Final = 300

Samples = Mapping[str, Sequence[str]]
"""Values of some columns, by their names."""
_MAX_COLUMNS: Final = 5
_ROW_LIMIT: Final = 10
_LABEL_COLUMNS: Final = ("name", "title", "label", "code", "number", "nm", "desc", "email", "description")
_TEXT_TYPES: Final = ("char", "text", "string", "clob")

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
RESERVED_WORDS: Final = frozenset(_WORDS.split())
"""The words of SQL that one engine or another does not take for a name. A name in quotes is never wrong."""


def quote_identifier(name: str, dialect: Dialect) -> str:
    if _BARE.fullmatch(name) and name not in RESERVED_WORDS:
        return name
    mark = "`" if dialect is Dialect.MYSQL else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def quote_table(name: TableName, schema: DatabaseSchema) -> str:
    """A table as a statement names it: with its schema, but where a bare name finds just this table."""
    bare = quote_identifier(name.table, schema.dialect)
    if not name.schema or name.schema == schema.default_schema:
        return bare
    return f"{quote_identifier(name.schema, schema.dialect)}.{bare}"


def table_outline(
    schema: DatabaseSchema,
    name: TableName,
    wanted: Collection[str] = (),
    samples: Samples | None = None,
    most: int = MAX_COLUMNS,
) -> JsonObject:
    """`table` is written as a statement must write it. Of very many columns it shows those of keys, those that are
    `wanted`, and the first, and says how many are left."""
    table, refers_to = schema.by_name[name], schema.relations_from(name)
    shown = _columns_to_show(table, wanted, {column for relation in refers_to for column in relation.columns}, most)
    told: JsonObject = {"table": quote_table(name, schema)}
    if table.is_view:
        told["is_view"] = True
    if table.comment:
        told["comment"] = _short_comment(table.comment)
    if table.rows is not None:
        told["rows_about"] = table.rows
    told["columns"] = [_column(schema.dialect, table, column, (samples or {}).get(column.name, ())) for column in shown]
    if left := len(table.columns) - len(shown):
        told["columns_left"] = left
    relations = (*refers_to, *schema.relations_to(name))
    if relations:
        told["joins"] = [_join(schema, each) for each in relations[:MAX_RELATIONS]]
    if len(relations) > MAX_RELATIONS:
        told["joins_left"] = len(relations) - MAX_RELATIONS
    return told


def _columns_to_show(
    table: DatabaseTable, wanted: Collection[str], keys: Collection[str], most: int
) -> Sequence[TableColumn]:
    if len(table.columns) <= most:
        return table.columns

    def rank(place: int) -> tuple[int, int]:
        name = table.columns[place].name
        return 0 if name in table.key else 1 if name in wanted else 2 if name in keys else 3, place

    best = sorted(range(len(table.columns)), key=rank)[:most]
    return [table.columns[place] for place in sorted(best)]


def _column(dialect: Dialect, table: DatabaseTable, column: TableColumn, samples: Sequence[str]) -> JsonObject:
    told: JsonObject = {"name": quote_identifier(column.name, dialect), "type": column.type}
    if column.name in table.key:
        told["is_key"] = True
    elif not column.is_nullable:
        told["is_required"] = True
    if column.comment:
        told["comment"] = _short_comment(column.comment)
    if samples:
        values: list[Json] = [*samples]
        told["samples"] = values
    return told


def _join(schema: DatabaseSchema, relation: ForeignKey) -> str:
    """As the condition of a join."""
    own, other = quote_table(relation.table, schema), quote_table(relation.to_table, schema)
    return " AND ".join(
        f"{own}.{quote_identifier(here, schema.dialect)} = {other}.{quote_identifier(there, schema.dialect)}"
        for here, there in zip(relation.columns, relation.to_columns, strict=True)
    )


def _short_comment(text: str) -> str:
    """On one line: what a comment says is written by anybody."""
    line = " ".join(text.split())
    return truncate(line, _MAX_COMMENT_CHARS, total=True)


def example_statement(
    schema: DatabaseSchema, name: TableName, wanted: Sequence[str] = (), beside: Collection[TableName] = ()
) -> str:
    """`wanted` are columns to show before others, `beside` are tables to join with before others."""
    table = schema.by_name[name]
    names = [column.name for column in table.columns]
    first = [name for name in (*table.key, *wanted) if name in names]
    shown = [*dict.fromkeys((*first, *names))][:_MAX_COLUMNS]
    joined = _table_to_join(schema, name, beside)
    if joined is None:
        columns = ", ".join(quote_identifier(column, schema.dialect) for column in shown) or "*"
        return f"SELECT {columns} FROM {quote_table(name, schema)} LIMIT {_ROW_LIMIT}"  # noqa: S608 - every name is quoted
    relation, label = joined
    own, other = _aliases(name.table, relation.to_table.table)
    on = " AND ".join(
        f"{other}.{quote_identifier(there, schema.dialect)} = {own}.{quote_identifier(here, schema.dialect)}"
        for here, there in zip(relation.columns, relation.to_columns, strict=True)
    )
    columns = ", ".join(f"{own}.{quote_identifier(column, schema.dialect)}" for column in shown)
    return (
        f"SELECT {columns}, {other}.{quote_identifier(label, schema.dialect)} "  # noqa: S608 - names quoted above
        f"FROM {quote_table(name, schema)} AS {own} "
        f"JOIN {quote_table(relation.to_table, schema)} AS {other} ON {on} LIMIT {_ROW_LIMIT}"
    )


def _table_to_join(
    schema: DatabaseSchema, name: TableName, beside: Collection[TableName]
) -> tuple[ForeignKey, str] | None:
    """What it refers to that has something to read."""
    found = [
        (relation, label)
        for relation in schema.relations_from(name)
        if relation.to_table != name
        and relation.columns
        and (label := _label_column(schema.by_name[relation.to_table])) is not None
    ]
    return min(found, key=lambda each: each[0].to_table not in beside, default=None)


def _label_column(table: DatabaseTable) -> str | None:
    texts = [
        column.name
        for column in table.columns
        if column.name not in table.key and any(text in column.type.casefold() for text in _TEXT_TYPES)
    ]
    ranked = ((rank, name) for name in texts for rank, word in enumerate(_LABEL_COLUMNS) if word in name.casefold())
    return min(ranked, default=(0, texts[0] if texts else None))[1]


def _aliases(own: str, other: str) -> tuple[str, str]:
    """Their first letters, where these are letters that every engine takes, and two."""
    first, second = own[:1].casefold(), other[:1].casefold()
    plain = all(letter.isascii() and letter.isalpha() for letter in (first, second) if letter) and first and second
    return (first, second) if plain and first != second else ("a", "b")
