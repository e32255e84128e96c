"""How the tables of a source hang together: each with what it refers to, and with what refers to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .schema import Relation, Schema, Table, TableName


@dataclass(frozen=True, slots=True)
class Joins:
    """Of one table."""

    out: tuple[Relation, ...] = ()
    """What it refers to."""
    back: tuple[Relation, ...] = ()
    """What refers to it, itself aside."""


NONE = Joins()


@dataclass(frozen=True, slots=True)
class Plan:
    """A schema made ready to be asked about single tables."""

    schema: Schema
    tables: Mapping[TableName, Table] = field(repr=False)
    joins: Mapping[TableName, Joins] = field(repr=False)

    @classmethod
    def of(cls, schema: Schema) -> "Plan":
        out: dict[TableName, list[Relation]] = {}
        back: dict[TableName, list[Relation]] = {}
        tables = {table.name: table for table in schema.tables}
        for each in schema.relations:
            if each.table not in tables or each.to not in tables:
                continue
            out.setdefault(each.table, []).append(each)
            if each.to != each.table:
                back.setdefault(each.to, []).append(each)
        named = {*out, *back}
        joins = {name: Joins(tuple(out.get(name, ())), tuple(back.get(name, ()))) for name in named}
        return cls(schema, tables, joins)

    def of_table(self, name: TableName) -> Joins:
        return self.joins.get(name, NONE)
