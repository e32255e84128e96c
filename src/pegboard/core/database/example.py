"""A statement to begin with, for one table: some of its columns, with the name of what it refers to beside them."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from .joins import Plan
from .quoting import called, quoted
from .schema import Relation, Table, TableName

_COLUMNS: Final = 5
_ROWS: Final = 10
_LABELS: Final = ("name", "title", "label", "code", "number", "nm", "desc", "email", "description")
_TEXTS: Final = ("char", "text", "string", "clob")


def example(plan: Plan, name: TableName, wanted: Sequence[str] = (), beside: Collection[TableName] = ()) -> str:
    """`wanted` are columns to show before others, `beside` are tables to join with before others."""
    schema, table = plan.schema, plan.tables[name]
    shown = [*islice(_chosen(table, wanted), _COLUMNS)]
    joined = _joined(plan, name, beside)
    if joined is None:
        columns = ", ".join(quoted(column, schema.dialect) for column in shown) or "*"
        return f"SELECT {columns} FROM {called(name, schema)} LIMIT {_ROWS}"  # noqa: S608 - every name is quoted
    relation, label = joined
    own, other = _aliases(name.table, relation.to.table)
    on = " AND ".join(
        f"{other}.{quoted(there, schema.dialect)} = {own}.{quoted(here, schema.dialect)}"
        for here, there in zip(relation.columns, relation.to_columns, strict=True)
    )
    columns = ", ".join(f"{own}.{quoted(column, schema.dialect)}" for column in shown)
    return (
        f"SELECT {columns}, {other}.{quoted(label, schema.dialect)} FROM {called(name, schema)} AS {own} "  # noqa: S608
        f"JOIN {called(relation.to, schema)} AS {other} ON {on} LIMIT {_ROWS}"
    )


def _chosen(table: Table, wanted: Sequence[str]) -> Iterator[str]:
    there = [column.name for column in table.columns]
    order = chain((name for name in (*table.key, *wanted) if name in there), there)
    return iter(dict.fromkeys(order))


def _joined(plan: Plan, name: TableName, beside: Collection[TableName]) -> tuple[Relation, str] | None:
    """What it refers to that has something to read."""
    found = [
        (relation, label)
        for relation in plan.of_table(name).out
        if relation.to != name and relation.columns and (label := _label(plan.tables[relation.to])) is not None
    ]
    return min(found, key=lambda each: each[0].to not in beside, default=None)


def _label(table: Table) -> str | None:
    texts = [
        column.name
        for column in table.columns
        if column.name not in table.key and any(text in column.type.casefold() for text in _TEXTS)
    ]
    ranked = ((rank, name) for name in texts for rank, word in enumerate(_LABELS) if word in name.casefold())
    return min(ranked, default=(0, texts[0] if texts else None))[1]


def _aliases(own: str, other: str) -> tuple[str, str]:
    """Their first letters, where these are letters that every engine takes, and two."""
    first, second = own[:1].casefold(), other[:1].casefold()
    plain = all(letter.isascii() and letter.isalpha() for letter in (first, second) if letter) and first and second
    return (first, second) if plain and first != second else ("a", "b")
