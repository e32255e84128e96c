"""What a source holds: tables with their columns, and the foreign keys between them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from .access import DatabaseAccess
from .source import Dialect


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
