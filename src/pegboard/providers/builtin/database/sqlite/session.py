"""One SQLite file in a worker: opened when it is needed, looked at again when it changed, and asked."""

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pegboard.core.database import Access, Answer, Checked, Failed, Fault, Finding, Limits, Refused, Schema, Severity
from pegboard.core.folded import Json
from pegboard.providers.builtin.database.box.main import Away
from pegboard.providers.builtin.database.box.words import out_of_time
from pegboard.providers.builtin.database.unreadable import NOT_EXPLAINED, WAITS

from .authorizer import MAIN, Authorizer
from .binding import Bound, bound
from .closing import closing
from .connecting import connected, limited, opening
from .failing import MIXED, denied, failed
from .fetching import Watch, fetched
from .following import following
from .functions import CATALOGUE, TABLE_FUNCTIONS
from .joining import joining
from .kinds import ONE, OR_WRITE, READ_ONLY, Deed, deed, is_alone
from .reading import Whole, whole
from .shadow import Shadow, shadow
from .tokens import Kind, Token, strictly, tokens
from .writing import written

_OLDEST: Final = (3, 37, 0)
_ROWIDS: Final = ("rowid", "oid", "_rowid_")


@dataclass(frozen=True)
class _Opened:
    connection: sqlite3.Connection
    guard: Authorizer
    whole: Whole
    shadow: Shadow | None
    """None where nothing is closed."""
    stamp: str

    @property
    def schema(self) -> Schema:
        return self.whole.schema if self.shadow is None else self.shadow.schema


class SqliteSession:
    def __init__(self, path: str, access: Access, *, writes: bool) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise Away(f"SQLite {sqlite3.sqlite_version} is too old: Pegboard needs 3.37 or newer.")
        self._path = path
        self._access = access
        self._writes = writes
        self._opened: _Opened | None = None
        self._watch = Watch()

    def check(self) -> Checked:
        schema = self.schema()
        found = [
            Finding(f"The pattern {str(each)!r} fits no table and no column. Check how it is spelt.")
            for each in self._access.vain(self._open().whole.schema.names())
        ]
        if not schema.tables:
            found.append(Finding("There is no table to read. Check the path and the patterns of the source."))
        if self._writes and not os.access(self._path, os.W_OK):
            found.append(
                Finding("Writes are on, but the gateway's user may not write the file.", Severity.REFUSED_UNLESS_FORCED)
            )
        return Checked(f"SQLite {sqlite3.sqlite_version}", None, tuple(found))

    def schema(self) -> Schema:
        return self._open().schema

    def stamp(self) -> str:
        return self._open().stamp

    def interrupt(self) -> None:
        self._watch.stop()

    def run(self, statement: str, parameters: list[Json] | dict[str, Json], limits: Limits, *, write: bool) -> Answer:
        given = tokens(statement)
        kind = deed(given)
        if isinstance(kind, Refused) and self._writes:
            return replace(kind, mend=OR_WRITE)
        if not isinstance(kind, Deed):
            return kind
        if not is_alone(given):
            return ONE
        if kind is Deed.WRITES and not self._writes:
            return READ_ONLY
        values = bound(given, parameters)
        if isinstance(values, Failed):
            return values
        self._watch.begin(limits.seconds)
        answer = self._answered(statement, given, values, limits, kind, write=write)
        if kind is Deed.EXPLAINS and isinstance(answer, Refused) and answer.is_write:
            return NOT_EXPLAINED
        if kind is Deed.OPEN and self._writes and isinstance(answer, Refused) and answer.is_write:
            return self._answered(statement, given, values, limits, Deed.WRITES, write=False)
        return answer

    def _answered(
        self, statement: str, given: Sequence[Token], values: Bound, limits: Limits, kind: Deed, *, write: bool
    ) -> Answer:
        opened = self._open()
        # A person is asked about what would run, and about nothing else.
        is_tried = kind is Deed.WRITES and not write
        writes = is_tried or (write and self._writes and kind in (Deed.WRITES, Deed.OPEN))
        if (misnamed := self._misnamed(opened, statement, given, values, kind)) is not None:
            return misnamed
        if opened.shadow is not None:
            foreseen = self._foreseen(opened.shadow, statement, given, values, limits, kind, writes=writes)
            if foreseen is not None:
                return foreseen
        if is_tried:
            return self._tried(opened, statement, given, values, limits)
        if writes:
            return written(self._path, opened.guard, opened.shadow, statement, given, values, limits, self._watch)
        return self._asked(opened.connection, opened.guard, statement, given, values, limits, opened.shadow is not None)

    def _misnamed(
        self, opened: _Opened, statement: str, given: Sequence[Token], values: Bound, kind: Deed
    ) -> Answer | None:
        """What is wrong with its names in quotes, of which SQLite itself would make texts."""
        strict = strictly(statement, given) if kind not in (Deed.EXPLAINS, Deed.TELLS) else None
        if strict is None:
            return None
        known = (opened.connection, opened.guard)
        connection, guard = known if opened.shadow is None else (opened.shadow.connection, opened.shadow.authorizer)
        try:
            with guard.ours(), self._watch.over(connection):
                connection.execute(f"EXPLAIN {strict}", values).close()
        except (sqlite3.Error, sqlite3.Warning) as error:
            answer = failed(error, given)
            return answer if isinstance(answer, Failed) and answer.fault is Fault.NO_COLUMN else None
        return None

    def _tried(self, opened: _Opened, statement: str, given: Sequence[Token], values: Bound, limits: Limits) -> Answer:
        """What becomes of a statement that changes rows, as far as it can be told without running it."""
        guard = opened.guard
        guard.begin()
        guard.may_write = True
        try:
            with self._watch.over(opened.connection):
                opened.connection.execute(f"EXPLAIN {statement}", values).close()
        except (sqlite3.Error, sqlite3.Warning) as error:
            return self._why(error, guard, given, limits, is_foreseen=opened.shadow is not None)
        finally:
            guard.may_write = False
        return WAITS

    def _foreseen(
        self,
        shown: Shadow,
        statement: str,
        given: Sequence[Token],
        values: Bound,
        limits: Limits,
        kind: Deed,
        *,
        writes: bool,
    ) -> Answer | None:
        """The answer, if it is known without a look at the file."""
        guard = shown.authorizer
        guard.may_write = writes
        if kind in (Deed.EXPLAINS, Deed.TELLS):
            return self._asked(shown.connection, guard, statement, given, values, limits, False)
        guard.begin()
        try:
            with self._watch.over(shown.connection):
                shown.connection.execute(f"EXPLAIN {statement}", values).close()
        except (sqlite3.Error, sqlite3.Warning) as error:
            return self._why(error, guard, given, limits, is_foreseen=False)
        if guard.tells:
            if guard.read - CATALOGUE - {*TABLE_FUNCTIONS} or guard.wrote:
                return MIXED
            return self._asked(shown.connection, guard, statement, given, values, limits, False)
        return _past_masks(given, shown)

    def _asked(
        self,
        connection: sqlite3.Connection,
        guard: Authorizer,
        statement: str,
        given: Sequence[Token],
        values: Bound,
        limits: Limits,
        is_foreseen: bool,
    ) -> Answer:
        guard.begin()
        try:
            with self._watch.over(connection):
                return fetched(connection, statement, values, limits, self._watch)
        except (sqlite3.Error, sqlite3.Warning) as error:
            return self._why(error, guard, given, limits, is_foreseen=is_foreseen)

    def _why(
        self, error: Exception, guard: Authorizer, given: Sequence[Token], limits: Limits, *, is_foreseen: bool
    ) -> Answer:
        if guard.denied:
            return denied(
                guard.denied[0], given, is_foreseen=is_foreseen, may_write=guard.may_write, owners=guard.owners
            )
        return out_of_time(limits.seconds) if self._watch.is_over else failed(error, given)

    def _open(self) -> _Opened:
        """Raises `Away`."""
        try:
            stamp = self._stamp()
            if self._opened is None or self._opened.stamp != stamp:
                self._close()
                self._opened = self._anew()
        except (sqlite3.Error, OSError) as error:
            self._close()
            raise Away(opening(self._path, error)) from None
        return self._opened

    def _stamp(self) -> str | None:
        """Another file at the same path, and another schema in the same file, are seen alike."""
        if self._opened is None:
            return None
        with self._opened.guard.ours():
            return _stamp(self._opened.connection, self._path)

    def _anew(self) -> _Opened:
        connection = self._connected()
        try:
            stamp = _stamp(connection, self._path)
            found = whole(connection)
            access = self._access if self._access.is_whole else closing(found, self._access)
            guard = Authorizer(access, found.known, found.owners, found.virtual)
            limited(connection, guard)
            shown = None if self._access.is_whole else shadow(connection, guard, found, access)
            if shown is not None:
                shown.mask(connection, guard)
            with guard.ours():
                connection.execute("PRAGMA query_only = ON").close()
                # What a change would reach by a key is known only so before it is made.
                connection.execute("PRAGMA foreign_keys = ON").close()
            if shown is not None and self._writes:
                guard.reaching = following(connection, guard, found, shown.authorizer.known, joining(found, access))
        except BaseException:
            connection.close()
            raise
        return _Opened(connection, guard, found, shown, stamp)

    def _connected(self) -> sqlite3.Connection:
        try:
            return connected(self._path, writable=False)
        except Away:
            if not self._writes:
                raise
            # What a killed writer left behind is undone by whoever opens the file to write.
            connected(self._path, writable=True).close()
            return connected(self._path, writable=False)

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.connection.close()
            if opened.shadow is not None:
                opened.shadow.connection.close()


def _stamp(connection: sqlite3.Connection, path: str) -> str:
    version = connection.execute("PRAGMA schema_version").fetchone()[0]
    found = os.stat(path)
    return f"{version}-{found.st_dev}-{found.st_ino}"


def _past_masks(given: Sequence[Token], shown: Shadow) -> Refused | None:
    """A table with closed columns is read through a view that stands before it. Its full name would go past that, and
    a view has no rowid."""
    for token, dot, table in zip(given, given[1:], given[2:], strict=False):
        if token.names(MAIN) and dot.value == "." and table.value.lower() in shown.masks:
            return Refused(
                f"{table.value!r} cannot be named with its schema here.",
                f"Write {table.value} without {MAIN} before it.",
            )
    if not shown.authorizer.read.isdisjoint(shown.masks):
        for token in given:
            if token.value.lower() in _ROWIDS and token.kind in (Kind.WORD, Kind.QUOTED):
                return Refused(f"{token.value} cannot be read here.", "Read the columns that search_schemas tells.")
    return None
