"""A database source as the operator declares it: what of it may be read, and how much at once; and tools over sources,
shown to each caller as if there were no databases but those that it may ask."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NewType, TypeAlias

from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.server import DeclaredAt
from pegboard.core.tool import Tool, ToolSpec

from .access import Access

SourceId = NewType("SourceId", str)

MAX_CALL_ROWS: Final = 1000
"""What a caller may ask for, unless the source declares another limit."""
DEFAULT_CALL_ROWS: Final = 100
"""For a caller that does not say how many."""
_PLAN_BYTES: Final = 64_000


class Dialect(Enum):
    SQLITE = "sqlite"
    DUCKDB = "duckdb"
    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    """MariaDB too: one protocol, and one SQL but for details."""

    @property
    def title(self) -> str:
        """As people write it."""
        return {"sqlite": "SQLite", "duckdb": "DuckDB", "postgresql": "PostgreSQL", "mysql": "MySQL"}[self.value]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of an answer a source gives, and how long it may take. All are kept while rows are fetched; none by
    writing into a statement."""

    rows: int = DEFAULT_CALL_ROWS
    bytes: int = 1_000_000
    """Of all rows together, as JSON text has them, give or take punctuation."""
    cell: int = 2_000
    """Bytes of one value; longer ones are cut."""
    seconds: float = 10.0

    def for_plan(self) -> "Limits":
        """A plan is one value in some engines, and of no use when it is cut."""
        return replace(self, cell=max(self.cell, min(self.bytes, _PLAN_BYTES)))


DEFAULT_LIMITS: Final = Limits(rows=MAX_CALL_ROWS)


@dataclass(frozen=True)
class Database:
    id: SourceId
    url: str = field(repr=False)
    """As it was written: references are followed when it is opened."""
    origin: DeclaredAt
    enabled: bool = True
    description: str = ""
    access: Access = field(default_factory=Access)
    limits: Limits = DEFAULT_LIMITS
    """Its rows are the most that one call may ask for."""
    samples: bool = False
    """Whether values of it may be read for the search, and shown by it."""
    writes: bool = False
    """Whether statements may change it, each after a person's yes."""
    force: bool = False
    """Whether it is served though its login may do more than it should."""

    def limits_of_call(self, rows: int | None) -> Limits:
        """For a call that asks for so many rows."""
        return replace(self.limits, rows=min(DEFAULT_CALL_ROWS if rows is None else rows, self.limits.rows))

    def without_origin(self) -> "Database":
        """All that an open source is made from: another line of the file changes nothing."""
        return replace(self, origin=DeclaredAt("", 0))


def enabled_databases(databases: Mapping[SourceId, Database]) -> Mapping[SourceId, Database]:
    return {id: databases[id] for id in sorted(databases) if databases[id].enabled}


@dataclass(frozen=True, slots=True)
class ToolDatabase:
    """What a caller sees of a database that it may ask."""

    id: SourceId
    dialect: str
    description: str = ""
    writes: bool = False
    rows: int = 0
    """The most that one call may ask for."""


BuildSpec: TypeAlias = Callable[[Sequence[ToolDatabase]], ToolSpec]
"""The tool over just these. Also over none: what is the same whatever databases there are."""


@dataclass(frozen=True, slots=True)
class DatabaseTool(Tool):
    databases: tuple[ToolDatabase, ...] = ()
    build_spec: BuildSpec | None = field(default=None, repr=False, compare=False)
    _narrowed: dict[tuple[SourceId, ...], "DatabaseTool"] = field(
        default_factory=dict[tuple[SourceId, ...], "DatabaseTool"], init=False, repr=False, compare=False
    )

    @property
    def ids(self) -> tuple[SourceId, ...]:
        return tuple([each.id for each in self.databases])

    def within(self, ids: Collection[SourceId]) -> "DatabaseTool":
        """Over those of its databases alone. One value for one choice, so that what follows from it can be cached."""
        kept = tuple([each for each in self.databases if each.id in ids])
        if len(kept) == len(self.databases) or self.build_spec is None:
            return self
        chosen = tuple([each.id for each in kept])
        if chosen not in self._narrowed:
            spec = self.build_spec(kept)
            self._narrowed[chosen] = DatabaseTool(self.id, spec, self.extra, self.checked_there, kept, self.build_spec)
        return self._narrowed[chosen]


def database_tool(name: str, build_spec: BuildSpec, databases: Sequence[ToolDatabase]) -> DatabaseTool:
    tool_id = ToolId(BuiltinKey(), name)
    return DatabaseTool(tool_id, build_spec(databases), databases=tuple(databases), build_spec=build_spec)
