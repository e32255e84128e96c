"""What SQLite asks while it compiles a statement: may this table, column, function or pragma be used?

SQLite asks for every column read, also within views, subqueries and triggers. It does not ask for the columns that
`NATURAL JOIN` and `JOIN … USING` compare. Statements cannot reach closed ones that way, because each compiles on the
shadow first (`shadow.py`); views and triggers are closed by their text (`closing.py`).
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from pegboard.core.database import Access, Schema

from .functions import CATALOG, FUNCTIONS, PRAGMAS, READ_PRAGMAS, TABLE_FUNCTIONS

MAIN: Final = "main"
_INTERNAL_PRAGMA: Final = "data_version"
"""A full-text index asks for it by itself, to see whether its cache is still valid."""


class Reason(Enum):
    """Why something was denied."""

    READ = auto()
    WRITE = auto()
    SCHEMA_CHANGE = auto()
    FUNCTION = auto()
    PRAGMA = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Denial:
    reason: Reason
    name: str = ""


@dataclass(frozen=True, slots=True)
class Closed:
    """What the access rules close of a file, in lower case."""

    tables: frozenset[str] = frozenset()
    columns: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """By table, for tables that are open themselves."""

    @classmethod
    def of(cls, schema: Schema, access: Access) -> "Closed":
        columns = {
            table.name.table.lower(): frozenset(
                column.name.lower() for column in table.columns if not access.opens_column(*table.name, column.name)
            )
            for table in schema.tables
            if access.opens(*table.name)
        }
        tables = frozenset(table.name.table.lower() for table in schema.tables)
        return cls(tables - columns.keys(), {table: names for table, names in columns.items() if names})

    def has_column(self, table: str, column: str) -> bool:
        return table in self.tables or column.lower() in self.columns.get(table, ())

    def is_mentioned_in(self, text: str) -> bool:
        """Whether a closed table, or a table with one of its closed columns, is named anywhere in it."""
        words = text.lower()
        return any(_mentions(words, table) for table in self.tables) or any(
            _mentions(words, table) and any(_mentions(words, column) for column in columns)
            for table, columns in self.columns.items()
        )


def _mentions(words: str, name: str) -> bool:
    """Also as a part of a longer name, such as that of an index."""
    return name in words and re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", words) is not None


@dataclass(slots=True)
class Authorizer:
    """All names in lower case."""

    known: frozenset[str]
    """All tables and views of the file."""
    closed: Closed = field(default_factory=Closed)
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    """For each table that a virtual table keeps its content in, the virtual table."""
    triggers: frozenset[str] = frozenset()
    unheard_triggers: frozenset[str] = frozenset()
    """Triggers that may compare closed columns without SQLite asking."""
    trusted_views: frozenset[str] = frozenset()
    """Views that may read what is closed, because the operator allows them by name."""
    masks: frozenset[str] = frozenset()
    """Tables that statements read through a temporary view of their open columns."""
    hides_catalog: bool = False
    are_names_checked: bool = False
    """Statements have compiled on the shadow before: each name in them is one of an open table, or their own."""
    may_write: bool = False
    writable_indexes: frozenset[str] = frozenset()
    """Virtual tables that the statement writes: they write the tables of their content themselves."""
    denials: list[Denial] = field(default_factory=list[Denial])
    read: set[str] = field(default_factory=set[str])
    """Tables that the last statement names."""
    written: set[str] = field(default_factory=set[str])
    within: set[str] = field(default_factory=set[str])
    """Views, triggers and named subqueries that it reads through."""
    unread: set[str] = field(default_factory=set[str])
    """Closed tables that it names, or names something else alike, and reads no column of."""
    reads_catalog: bool = False
    _is_paused: bool = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """For statements of our own."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    @contextmanager
    def writing(self) -> Iterator[None]:
        """For statements that may change rows."""
        self.may_write = True
        try:
            yield
        finally:
            self.may_write = False

    def begin(self) -> None:
        """Before each statement."""
        self.denials, self.read, self.written, self.within, self.unread = [], set(), set(), set(), set()
        self.reads_catalog = False

    def reaches_closed(self, statement_names: frozenset[str]) -> bool:
        """Whether the last statement, of these names, counts the rows of something closed by a trigger or a view. A
        statement may itself give the name of a closed table to a query."""
        reached = self.unread | (self.within & self.closed.tables) - self.trusted_views
        return bool(reached) and (not reached <= statement_names or not self.within.isdisjoint(self.triggers))

    def __call__(self, action: int, first: str | None, second: str | None, schema: str | None, via: str | None) -> int:
        if self._is_paused:
            return sqlite3.SQLITE_OK
        denial = self._judge(action, first or "", second or "", schema or MAIN, (via or "").lower())
        if denial is None:
            return sqlite3.SQLITE_OK
        self.denials.append(denial)
        return sqlite3.SQLITE_DENY

    def _judge(self, action: int, first: str, second: str, schema: str, via: str) -> Denial | None:
        self.within.add(via)
        if via in self.unheard_triggers:
            return Denial(Reason.READ, first)
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                return None
            case sqlite3.SQLITE_READ:
                return None if self._may_read(first.lower(), second, schema, via) else Denial(Reason.READ, first)
            case sqlite3.SQLITE_FUNCTION:
                return None if second.lower() in FUNCTIONS else Denial(Reason.FUNCTION, second)
            case sqlite3.SQLITE_PRAGMA:
                name = first.lower()
                self.reads_catalog |= name != _INTERNAL_PRAGMA
                is_open = name in PRAGMAS or (name in READ_PRAGMAS and not second)
                return None if is_open else Denial(Reason.PRAGMA, first)
            case sqlite3.SQLITE_INSERT | sqlite3.SQLITE_DELETE | sqlite3.SQLITE_UPDATE:
                self.written.add(first.lower())
                column = second if action == sqlite3.SQLITE_UPDATE else ""
                return None if self._may_write(first.lower(), column, schema) else Denial(Reason.WRITE, first)
            case sqlite3.SQLITE_TRANSACTION | sqlite3.SQLITE_SAVEPOINT | sqlite3.SQLITE_ATTACH | sqlite3.SQLITE_DETACH:
                return Denial(Reason.OTHER, first)
            case _:
                return Denial(Reason.SCHEMA_CHANGE, first)

    def _may_read(self, table: str, column: str, schema: str, via: str) -> bool:
        self.read.add(table)
        if table in CATALOG:
            self.reads_catalog = True
            return schema == MAIN and not self.hides_catalog
        if table in TABLE_FUNCTIONS and table not in self.known:
            return True
        if table.startswith("sqlite_temp_") or (table.startswith("sqlite_") and self.hides_catalog):
            return False
        if schema != MAIN:
            return schema == "temp" and table in self.masks
        if via in self.trusted_views:
            return table in self.known
        if not column:
            # SQLite also asks this for the name that a statement gives to a query of its own.
            if table in self.closed.tables:
                self.unread.add(table)
                return self.are_names_checked
            return True
        return table in self.known and not self.closed.has_column(self.owners.get(table, table), column)

    def _may_write(self, table: str, column: str, schema: str) -> bool:
        if not self.may_write or schema != MAIN or table not in self.known - self.masks or table.startswith("sqlite_"):
            return False
        if (owner := self.owners.get(table)) is not None:
            return owner in self.writable_indexes
        if column:
            return not self.closed.has_column(table, column)
        return table not in self.closed.tables
