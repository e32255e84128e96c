"""What SQLite asks before it compiles a statement: which deeds, tables, columns, functions and pragmas it may use.

It hears of columns in views, subqueries and triggers alike, whatever they are called there. It does not hear of columns
that `JOIN … USING` or `NATURAL JOIN` compare, nor of a table none of whose columns were found: against that stands
the shadow, which a statement must compile on before.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from pegboard.core.database import Access

from .functions import CATALOGUE, FUNCTIONS, PRAGMAS, READ_PRAGMAS, TABLE_FUNCTIONS

MAIN: Final = "main"
_OF_VIRTUAL_TABLES: Final = "data_version"
"""The pragma that a full-text index asks by itself, to see whether its own memory is still good."""


Change: TypeAlias = tuple[int, str, str]
"""A deed, the table and, of an update, the column, in small letters."""


class Why(Enum):
    """Why something was denied."""

    READ = auto()
    WRITE = auto()
    DEFINES = auto()
    FUNCTION = auto()
    PRAGMA = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Denied:
    why: Why
    name: str = ""
    column: str = ""
    within: str | None = None
    """The view or trigger that wanted it."""


@dataclass(slots=True)
class Authorizer:
    access: Access
    known: frozenset[str]
    """All tables and views of the file, in small letters."""
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    """The virtual table that a table belongs to, both in small letters: what is kept there is the other's."""
    virtual: frozenset[str] = frozenset()
    """Virtual tables, by their own names."""
    masks: frozenset[str] = frozenset()
    """Tables that are read through a view with their open columns alone."""
    may_write: bool = False
    denied: list[Denied] = field(default_factory=list[Denied])
    read: set[str] = field(default_factory=set[str])
    """Tables that the last statement names, in small letters."""
    tells: bool = False
    """Whether it asks for the schema."""
    is_foreseen: bool = False
    """Statements have compiled on the shadow before: each name in them is one of an open table, or of their own."""
    wrote: bool = False
    keepers: frozenset[str] = frozenset()
    """Virtual tables that a statement was found to write, in small letters: what they keep, they write themselves."""
    changed: set[str] = field(default_factory=set[str])
    """Tables that the last statement writes, in small letters."""
    reaching: frozenset[Change] = frozenset()
    """Changes from which more follows, by triggers, than is open."""
    _is_ours: bool = False
    _shown: frozenset[str] | None = None

    @contextmanager
    def ours(self) -> Iterator[None]:
        """For statements of our own making."""
        before, self._is_ours = self._is_ours, True
        try:
            yield
        finally:
            self._is_ours = before

    @contextmanager
    def only(self, shown: frozenset[str]) -> Iterator[None]:
        """For changes of our own making, from which nothing may follow but what is shown."""
        self.may_write, self._shown = True, shown
        try:
            yield
        finally:
            self.may_write, self._shown = False, None

    def begin(self) -> None:
        self.denied, self.read, self.changed, self.tells, self.wrote = [], set(), set(), False, False

    def __call__(self, deed: int, first: str | None, second: str | None, where: str | None, within: str | None) -> int:
        if self._is_ours:
            return sqlite3.SQLITE_OK
        denied = self._judged(deed, first or "", second or "", where or MAIN, within)
        if denied is None:
            return sqlite3.SQLITE_OK
        self.denied.append(denied)
        return sqlite3.SQLITE_DENY

    def _judged(self, deed: int, first: str, second: str, where: str, within: str | None) -> Denied | None:
        match deed:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                return None
            case sqlite3.SQLITE_READ:
                return None if self._may_read(first, second, where) else Denied(Why.READ, first, second, within)
            case sqlite3.SQLITE_FUNCTION:
                return None if second.lower() in FUNCTIONS else Denied(Why.FUNCTION, second)
            case sqlite3.SQLITE_PRAGMA:
                name = first.lower()
                self.tells = self.tells or name != _OF_VIRTUAL_TABLES
                fits = name in PRAGMAS or (name in READ_PRAGMAS and not second)
                return None if fits else Denied(Why.PRAGMA, first)
            case sqlite3.SQLITE_INSERT | sqlite3.SQLITE_DELETE | sqlite3.SQLITE_UPDATE:
                self.wrote = True
                self.changed.add(first.lower())
                column = second if deed == sqlite3.SQLITE_UPDATE else ""
                is_further = (deed, first.lower(), column.lower()) in self.reaching
                if self.may_write and not is_further and self._may_write(first, column, where):
                    return None
                return Denied(Why.WRITE, first, column, within)
            case sqlite3.SQLITE_TRANSACTION | sqlite3.SQLITE_SAVEPOINT | sqlite3.SQLITE_ATTACH | sqlite3.SQLITE_DETACH:
                return Denied(Why.OTHER, first)
            case _:
                return Denied(Why.DEFINES, first)

    def _may_read(self, table: str, column: str, where: str) -> bool:
        name = table.lower()
        self.read.add(name)
        if name.startswith("sqlite_temp_") or not self.is_shown(name):
            return False
        if name in CATALOGUE:
            self.tells = True
            return where == MAIN
        if name in TABLE_FUNCTIONS:
            return True
        if where != MAIN:
            return where == "temp" and name in self.masks
        if not column:
            # None of its columns is read. It may be a name that the statement itself gave to a query. What a trigger
            # names is judged before, by the changes that set it off.
            return self.is_foreseen or name not in self.known or self.access.opens(MAIN, table)
        if name not in self.known:
            return False
        if (owner := self.owners.get(name)) is not None:
            return self.access.opens(MAIN, owner)
        return self.access.opens(MAIN, table) if column == "ROWID" else self.access.opens_column(MAIN, table, column)

    def is_shown(self, name: str) -> bool:
        """What is unknown, and no table of SQLite's own, is a name that was given to a query."""
        if self._shown is None or name in TABLE_FUNCTIONS:
            return True
        is_named = name not in self.known and name not in CATALOGUE and not name.startswith("sqlite_")
        return is_named or self.owners.get(name, name) in self._shown

    def _may_write(self, table: str, column: str, where: str) -> bool:
        name = table.lower()
        if not self.is_shown(name):
            return False
        if where != MAIN or name not in self.known or name in self.masks or name.startswith("sqlite_"):
            return False
        if (owner := self.owners.get(name)) is not None:
            return owner in self.keepers
        return self.access.opens_column(MAIN, table, column) if column else self.access.opens(MAIN, table)
