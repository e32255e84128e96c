"""A table as it is told to whoever is to write a statement: what it is called, its columns, its keys, its joins."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from pegboard.core.folded import Json, JsonObject

from .joins import Plan
from .quoting import called, quoted
from .schema import Column, Relation, Table, TableName

MOST_COLUMNS: Final = 40
MOST_RELATIONS: Final = 20
_LONGEST_COMMENT: Final = 300

Samples = Mapping[str, Sequence[str]]
"""Values of some columns, by their names."""


def outline(
    plan: Plan, name: TableName, wanted: Collection[str] = (), samples: Samples | None = None, most: int = MOST_COLUMNS
) -> JsonObject:
    """`table` is written as a statement must write it. Of very many columns it shows those of keys, those that are
    `wanted`, and the first, and says how many are left."""
    table = plan.tables[name]
    joins = plan.of_table(name)
    shown = _shown(table, wanted, {column for relation in joins.out for column in relation.columns}, most)
    told: JsonObject = {"table": called(name, plan.schema)}
    if table.is_view:
        told["is_view"] = True
    if table.comment:
        told["comment"] = _short(table.comment)
    if table.rows is not None:
        told["rows_about"] = table.rows
    told["columns"] = [_column(plan, table, column, (samples or {}).get(column.name, ())) for column in shown]
    if left := len(table.columns) - len(shown):
        told["columns_left"] = left
    relations = (*joins.out, *joins.back)
    if relations:
        told["joins"] = [_join(plan, each) for each in relations[:MOST_RELATIONS]]
    if len(relations) > MOST_RELATIONS:
        told["joins_left"] = len(relations) - MOST_RELATIONS
    return told


def _shown(table: Table, wanted: Collection[str], keys: Collection[str], most: int) -> Sequence[Column]:
    if len(table.columns) <= most:
        return table.columns

    def rank(place: int) -> tuple[int, int]:
        name = table.columns[place].name
        return 0 if name in table.key else 1 if name in wanted else 2 if name in keys else 3, place

    best = sorted(range(len(table.columns)), key=rank)[:most]
    return [table.columns[place] for place in sorted(best)]


def _column(plan: Plan, table: Table, column: Column, samples: Sequence[str]) -> JsonObject:
    told: JsonObject = {"name": quoted(column.name, plan.schema.dialect), "type": column.type}
    if column.name in table.key:
        told["is_key"] = True
    elif not column.is_nullable:
        told["is_required"] = True
    if column.comment:
        told["comment"] = _short(column.comment)
    if samples:
        values: list[Json] = [*samples]
        told["samples"] = values
    return told


def _join(plan: Plan, relation: Relation) -> str:
    """As the condition of a join."""
    own, other = called(relation.table, plan.schema), called(relation.to, plan.schema)
    write = plan.schema.dialect
    return " AND ".join(
        f"{own}.{quoted(here, write)} = {other}.{quoted(there, write)}"
        for here, there in zip(relation.columns, relation.to_columns, strict=True)
    )


def _short(text: str) -> str:
    """On one line: what a comment says is written by anybody."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_COMMENT else line[: _LONGEST_COMMENT - 1] + "…"
