"""What a source holds: tables with their columns, and the foreign keys between them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from .access import Access
from .source import Dialect


class TableName(NamedTuple):
    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    """As the database names it."""
    is_nullable: bool = True
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    name: TableName
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    """The columns of the primary key, in its order."""
    comment: str = ""
    is_view: bool = False
    rows: int | None = None
    """How many there are about, where the engine knows it without counting."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A foreign key: columns of one table that name rows of another, pair by pair."""

    table: TableName
    columns: tuple[str, ...]
    to: TableName
    to_columns: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """All that may be read of one source, in a steady order."""

    dialect: Dialect
    tables: tuple[Table, ...]
    relations: tuple[Relation, ...] = ()
    default: str = ""
    """The schema that a bare table name is looked up in first."""

    def names(self) -> Iterator[tuple[str, str, str]]:
        for table in self.tables:
            for column in table.columns:
                yield (*table.name, column.name)

    @cached_property
    def by_name(self) -> Mapping[TableName, Table]:
        return {table.name: table for table in self.tables}

    def relations_from(self, name: TableName) -> Sequence[Relation]:
        """What a table refers to."""
        return self._ends[0].get(name, ())

    def relations_to(self, name: TableName) -> Sequence[Relation]:
        """What refers to a table, itself aside."""
        return self._ends[1].get(name, ())

    @cached_property
    def _ends(self) -> tuple[Mapping[TableName, Sequence[Relation]], Mapping[TableName, Sequence[Relation]]]:
        out, back = defaultdict[TableName, list[Relation]](list), defaultdict[TableName, list[Relation]](list)
        for each in self.relations:
            if each.table in self.by_name and each.to in self.by_name:
                out[each.table].append(each)
                if each.to != each.table:
                    back[each.to].append(each)
        return out, back


def narrow_schema(schema: Schema, access: Access) -> Schema:
    """Without what is closed, and without a word of it: a relation or key goes with any of its columns."""
    if access.is_whole:
        return schema
    tables = tuple(
        narrow for table in schema.tables if access.opens(*table.name) and (narrow := _narrow(table, access)).columns
    )
    columns = {table.name: frozenset(column.name for column in table.columns) for table in tables}
    relations = tuple(
        each
        for each in schema.relations
        if each.table in columns
        and each.to in columns
        and columns[each.table].issuperset(each.columns)
        and columns[each.to].issuperset(each.to_columns)
    )
    return replace(schema, tables=tables, relations=relations)


def _narrow(table: Table, access: Access) -> Table:
    columns = tuple(each for each in table.columns if access.opens_column(*table.name, each.name))
    kept = {each.name for each in columns}
    return replace(table, columns=columns, key=table.key if kept.issuperset(table.key) else ())
