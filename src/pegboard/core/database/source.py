"""A database source as the operator declares it: what of it may be read, and how much at once; and tools over sources,
shown to each caller as if there were no databases but those that it may ask."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NewType, TypeAlias

from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.server import DeclaredAt
from pegboard.core.tool import Tool, ToolSpec

from .access import DatabaseAccess

DatabaseId = NewType("DatabaseId", str)

MAX_CALL_ROWS: Final = 1000
"""What a caller may ask for, unless the source declares another limit."""
DEFAULT_CALL_ROWS: Final = 100
"""For a caller that does not say how many."""
_MAX_PLAN_BYTES: Final = 64_000


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
class QueryLimits:
    """How much of an answer a source gives, and how long it may take. All are kept while rows are fetched; none by
    writing into a statement."""

    rows: int = DEFAULT_CALL_ROWS
    bytes: int = 1_000_000
    """Of all rows together, as JSON text has them, give or take punctuation."""
    cell_chars: int = 2_000
    """Bytes of one value; longer ones are cut."""
    seconds: float = 10.0

    def for_plan(self) -> "QueryLimits":
        """A plan is one value in some engines, and of no use when it is cut."""
        return replace(self, cell_chars=max(self.cell_chars, min(self.bytes, _MAX_PLAN_BYTES)))


DEFAULT_QUERY_LIMITS: Final = QueryLimits(rows=MAX_CALL_ROWS)


@dataclass(frozen=True)
class DatabaseSettings:
    id: DatabaseId
    url: str = field(repr=False)
    """As it was written: references are followed when it is opened."""
    origin: DeclaredAt
    enabled: bool = True
    description: str = ""
    access: DatabaseAccess = field(default_factory=DatabaseAccess)
    limits: QueryLimits = DEFAULT_QUERY_LIMITS
    """Its rows are the most that one call may ask for."""
    samples: bool = False
    """Whether values of it may be read for the search, and shown by it."""
    writes: bool = False
    """Whether statements may change it, each after a person's yes."""
    force: bool = False
    """Whether it is served though its login may do more than it should."""

    def limits_for_call(self, rows: int | None) -> QueryLimits:
        """For a call that asks for so many rows."""
        return replace(self.limits, rows=min(DEFAULT_CALL_ROWS if rows is None else rows, self.limits.rows))

    def without_origin(self) -> "DatabaseSettings":
        """All that an open source is made from: another line of the file changes nothing."""
        return replace(self, origin=DeclaredAt("", 0))


def enabled_databases(databases: Mapping[DatabaseId, DatabaseSettings]) -> Mapping[DatabaseId, DatabaseSettings]:
    return {id: databases[id] for id in sorted(databases) if databases[id].enabled}


@dataclass(frozen=True, slots=True)
class VisibleDatabase:
    """What a caller sees of a database that it may ask."""

    id: DatabaseId
    dialect: str
    description: str = ""
    writes: bool = False
    rows: int = 0
    """The most that one call may ask for."""


BuildSpec: TypeAlias = Callable[[Sequence[VisibleDatabase]], ToolSpec]
"""The tool over just these. Also over none: what is the same whatever databases there are."""


@dataclass(frozen=True, slots=True)
class DatabaseTool(Tool):
    databases: tuple[VisibleDatabase, ...] = ()
    build_spec: BuildSpec | None = field(default=None, repr=False, compare=False)
    _narrowed_tools: dict[tuple[DatabaseId, ...], "DatabaseTool"] = field(
        default_factory=dict[tuple[DatabaseId, ...], "DatabaseTool"], init=False, repr=False, compare=False
    )

    @property
    def ids(self) -> tuple[DatabaseId, ...]:
        return tuple([each.id for each in self.databases])

    def narrow_to(self, ids: Collection[DatabaseId]) -> "DatabaseTool":
        """Over those of its databases alone. One value for one choice, so that what follows from it can be cached."""
        kept = tuple([each for each in self.databases if each.id in ids])
        if len(kept) == len(self.databases) or self.build_spec is None:
            return self
        chosen = tuple([each.id for each in kept])
        if chosen not in self._narrowed_tools:
            spec = self.build_spec(kept)
            self._narrowed_tools[chosen] = DatabaseTool(
                self.id, spec, self.extra, self.is_checked_by_provider, kept, self.build_spec
            )
        return self._narrowed_tools[chosen]


def build_database_tool(name: str, build_spec: BuildSpec, databases: Sequence[VisibleDatabase]) -> DatabaseTool:
    tool_id = ToolId(BuiltinKey(), name)
    return DatabaseTool(tool_id, build_spec(databases), databases=tuple(databases), build_spec=build_spec)
