"""What a PostgreSQL server's catalogue says of names, as values."""

from dataclasses import dataclass
from typing import Final

SYSTEM: Final = frozenset({"pg_catalog", "information_schema", "pg_toast"})


@dataclass(frozen=True)
class Made:
    """A column of a type that people put together from others."""

    schema: str
    relation: str
    column: str
    type: int


@dataclass(frozen=True)
class Beneath:
    """What is read along with a table: the tables under a view, the parents and parts of a partitioned one."""

    schema: str
    name: str
    kind: str
    columns: tuple[str, ...]
    """Those that a view over it uses."""
    definition: str | None


@dataclass(frozen=True)
class Relation:
    oid: int
    schema: str
    name: str
    kind: str
    columns: tuple[str, ...]
    definition: str | None
    beneath: tuple[Beneath, ...]
    generated: tuple[tuple[str, str], ...] = ()
    """Columns that are computed, here or in a table beneath, each with one that it is computed from."""
    made: tuple[Made, ...] = ()
    """Columns here or in a table beneath in whose type rows may lie."""

    sliced: tuple[str, ...] = ()
    """Columns that say which rows of another table are here, or in a table that a view here reads by its name."""

    @property
    def family(self) -> tuple[tuple[str, str], ...]:
        """What is read along with it: of a table, those that share rows with it."""
        return tuple((one.schema, one.name) for one in self.beneath)


@dataclass(frozen=True)
class Function:
    schema: str
    name: str
    volatility: str
    least: int
    most: int | None
    extension: str | None
    definer: bool
    added: bool
    """Not there from the beginning, whatever its schema."""
    catalogued: bool
    """Takes or gives the name of something in the catalogue (regclass and its like)."""
    inward: bool
    """Meant for the server's own use, as what reads and writes values of types that are told by number."""

    def takes(self, count: int | None) -> bool:
        return count is None or (self.least <= count and (self.most is None or count <= self.most))


@dataclass(frozen=True)
class Operator:
    schema: str
    name: str
    function: Function


@dataclass(frozen=True)
class Type:
    schema: str
    name: str
    kind: str
    extension: str | None
    row_of: tuple[str, str] | None
    """The table whose rows are of this type, or of an array of it."""
    oid: int | None = None
    """Its number, where it is put together from other types."""


@dataclass(frozen=True)
class Found:
    """What there is of what was named. A name that nothing has is not in it."""

    path: tuple[str, ...]
    database: str
    relations: dict[tuple[str | None, str], Relation]
    functions: tuple[Function, ...]
    fields: tuple[Function, ...]
    operators: tuple[Operator, ...]
    types: tuple[Type, ...]
    hides: bool
    """Whether the database has functions of its own that are called without being named."""

    def functions_named(self, schema: str | None, name: str) -> tuple[Function, ...]:
        return tuple(one for one in self.functions if one.name == name and self.reached(one.schema, schema))

    def types_named(self, schema: str | None, name: str) -> tuple[Type, ...]:
        return tuple(one for one in self.types if one.name == name and self.reached(one.schema, schema))

    def reached(self, schema: str, written: str | None) -> bool:
        return schema in self.path if written is None else schema == written
