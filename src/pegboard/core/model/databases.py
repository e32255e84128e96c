"""What of a source may be read: patterns over `schema.table` and `schema.table.column`, and the one rule for them.

A table is open when no deny pattern fits it and, where there are allow patterns, one of them fits. A column is open
when its table is, no deny pattern fits it and, where there are allow patterns, one fits it or its whole table. Deny
wins. Capitals do not count, because most SQL does not count them.

What is closed does not exist for whoever asks: it is in no list, and naming it is answered like a name that nothing
has.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NewType, TypeAlias

from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.patterns import MAX_PATTERN_CHARS, matches_glob
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.tool import Tool, ToolSpec

ANY_NAME: Final = "*"
_WILD: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class NamePattern:
    """`table`, `schema.table` or `schema.table.column`, with `*`, `?` and `[…]` in each part."""

    text: str
    schema: str
    table: str
    column: str | None = None

    def __str__(self) -> str:
        return self.text

    def matches_table(self, schema: str, table: str) -> bool:
        return matches_glob(self.schema, schema.casefold()) and matches_glob(self.table, table.casefold())

    def matches_column(self, schema: str, table: str, column: str) -> bool:
        return self.matches_table(schema, table) and (
            self.column is None or matches_glob(self.column, column.casefold())
        )


@dataclass(frozen=True, slots=True)
class BadPattern:
    text: str
    why: str


def parse_name_pattern(text: str) -> NamePattern | BadPattern:
    if len(text) > MAX_PATTERN_CHARS:
        why = f"a pattern of {len(text)} characters is too long: use at most {MAX_PATTERN_CHARS}"
        return BadPattern(text[:MAX_PATTERN_CHARS], why)
    parts = text.casefold().split(".")
    match parts if all(part.strip() == part != "" for part in parts) else []:
        case [table]:
            return NamePattern(text, ANY_NAME, table)
        case [schema, table]:
            return NamePattern(text, schema, table)
        case [schema, table, column]:
            return NamePattern(text, schema, table, column)
        case _:
            why = f"{text!r} is not a pattern of tables: write table, schema.table or schema.table.column"
            return BadPattern(text, why)


@dataclass(frozen=True, slots=True)
class DatabaseAccess:
    allow: tuple[NamePattern, ...] = ()
    """None: everything that is not denied."""
    deny: tuple[NamePattern, ...] = ()

    @property
    def is_unrestricted(self) -> bool:
        """Nothing is closed, whatever the source holds."""
        is_all = any(each.schema == each.table == ANY_NAME and each.column in (None, ANY_NAME) for each in self.allow)
        return not self.deny and (not self.allow or is_all)

    def allows_table(self, schema: str, table: str) -> bool:
        if any(_denies_table(each, schema, table) for each in self.deny):
            return False
        return not self.allow or any(each.matches_table(schema, table) for each in self.allow)

    def allows_column(self, schema: str, table: str, column: str) -> bool:
        if not self.allows_table(schema, table):
            return False
        if any(_denies_column(each, schema, table, column) for each in self.deny):
            return False
        return not self.allow or any(each.matches_column(schema, table, column) for each in self.allow)

    def allows_by_name(self, schema: str, table: str) -> bool:
        """Whether an allow pattern names this table or view itself, without wildcards: its operator knows what is in
        it, also where it reads something that is closed."""
        return any(
            each.column in (None, ANY_NAME) and not _WILD.search(each.table) and each.matches_table(schema, table)
            for each in self.allow
        )

    def with_denied(self, *names: tuple[str, ...]) -> "DatabaseAccess":
        """With these closed too, each a schema, a table and maybe a column, by its very name."""
        if not names:
            return self
        return DatabaseAccess(self.allow, (*self.deny, *map(_exact_pattern, names)))

    def unmatched_patterns(self, names: Iterable[tuple[str, str, str]]) -> tuple[NamePattern, ...]:
        """The patterns that fit none of these columns, each a schema, a table and a name: most likely misspelt."""
        known = tuple(names)
        return tuple(
            each
            for each in dict.fromkeys((*self.allow, *self.deny))
            if not any(
                each.matches_column(*name) or (each in self.deny and _denies_column(each, *name)) for name in known
            )
        )


FULL_ACCESS: Final = DatabaseAccess()


def _exact_pattern(name: tuple[str, ...]) -> NamePattern:
    schema, table, *column = (_WILD.sub(r"[\g<0>]", part.casefold()) for part in name)
    return NamePattern(".".join(name), schema, table, column[0] if column else ANY_NAME)


def _denies_table(each: NamePattern, schema: str, table: str) -> bool:
    """To deny every column is to deny the table: else its rows could still be counted."""
    if each.column is None or each.column == ANY_NAME:
        return each.matches_table(schema, table) or (each.table == ANY_NAME and _means_columns(each, table))
    return False


def _denies_column(each: NamePattern, schema: str, table: str, column: str) -> bool:
    if each.matches_column(schema, table, column):
        return True
    return _means_columns(each, table) and matches_glob(each.table, column.casefold())


def _means_columns(each: NamePattern, table: str) -> bool:
    """`customers.email` says a table of a schema, but whoever wrote it where there are no schemas to speak of meant a
    column. Both are denied: to deny too little is the one mistake that cannot be taken back."""
    return each.column is None and each.schema != ANY_NAME and matches_glob(each.schema, table.casefold())


# A database source as the operator declares it: what of it may be read, and how much at once; and tools over
# sources,
# shown to each caller as if there were no databases but those that it may ask.

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
