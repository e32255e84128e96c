"""One SQLite file in a worker: opened on first use, read again when its schema changes, and queried."""

import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pegboard.core.database import (
    Access,
    Answer,
    Checked,
    Failed,
    Fault,
    Finding,
    FindingSeverity,
    Limits,
    Refused,
    Schema,
)
from pegboard.core.folded import Json
from pegboard.providers.builtin.database.files import schema_findings
from pegboard.providers.builtin.database.unreadable import NOT_EXPLAINED, WAITS
from pegboard.providers.builtin.database.worker.errors import UnavailableError, out_of_time
from pegboard.providers.builtin.database.worker.watch import Watch

from .authorizer import MAIN, Authorizer
from .closing import close_derived
from .connection import connect, explain_failed_opening, register_virtual_tables, restrict
from .errors import WRITES_BEYOND, explain_denial, explain_error
from .execution import decode_leniently, fetch
from .functions import CATALOG, TABLE_FUNCTIONS
from .schema import FileSchema, read_schema
from .shadow import Shadow, make_shadow
from .statement import (
    Bound,
    StatementKind,
    Token,
    bind,
    classify,
    names_in,
    tokenize,
    with_strict_names,
)

_T = TypeVar("_T")

_OLDEST_VERSION: Final = (3, 37, 0)
_MIXED: Final = Refused(
    "The statement reads the schema and rows at once.", "Ask for the schema in one statement and for rows in another."
)


@dataclass(frozen=True)
class _Request:
    statement: str
    tokens: Sequence[Token]
    kind: StatementKind
    values: Bound
    limits: Limits


@dataclass(frozen=True)
class _OpenFile:
    connection: sqlite3.Connection
    guard: Authorizer
    found: FileSchema
    shadow: Shadow | None
    """None where nothing is closed."""
    stamp: str

    @property
    def schema(self) -> Schema:
        return self.found.schema if self.shadow is None else self.shadow.schema

    def close(self) -> None:
        self.connection.close()
        if self.shadow is not None:
            self.shadow.connection.close()


class SqliteSession:
    def __init__(self, path: str, access: Access, *, writes: bool) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_VERSION:
            raise UnavailableError(f"SQLite {sqlite3.sqlite_version} is too old: Pegboard needs 3.37 or newer.")
        self._path = path
        self._access = access
        self._writes = writes
        self._opened: _OpenFile | None = None
        self._watch = Watch()

    def check(self) -> Checked:
        opened = self._open()
        findings = schema_findings(self._access, opened.found.schema, opened.schema)
        if self._writes and not os.access(self._path, os.W_OK):
            words = "Writes are on, but the gateway's user may not write the file."
            findings += (Finding(words, FindingSeverity.REFUSED_UNLESS_FORCED),)
        return Checked(f"SQLite {sqlite3.sqlite_version}", None, findings)

    def schema(self) -> Schema:
        return self._open().schema

    def stamp(self) -> str:
        return self._open().stamp

    def interrupt(self) -> None:
        self._watch.stop()

    def run(self, statement: str, parameters: list[Json] | dict[str, Json], limits: Limits, *, write: bool) -> Answer:
        tokens = tokenize(statement)
        kind = classify(tokens, writes=self._writes)
        if not isinstance(kind, StatementKind):
            return kind
        values = bind(tokens, parameters)
        if isinstance(values, Failed):
            return values
        self._watch.start()
        request, opened = _Request(statement, tokens, kind, values, limits), self._open()
        if (misnamed := self._misnamed(opened, request)) is not None:
            return misnamed
        if kind is StatementKind.WRITE:
            return self._write(opened, request, is_confirmed=write)
        answer = self._read(opened, request)
        if isinstance(answer, Refused) and answer.is_write:
            if kind is StatementKind.EXPLAIN:
                return NOT_EXPLAINED
            if kind is StatementKind.WITH and self._writes:
                return self._write(opened, request, is_confirmed=write)
        return answer

    def _misnamed(self, opened: _OpenFile, request: _Request) -> Answer | None:
        """What is wrong with names in double quotes, which SQLite itself would take for strings."""
        if request.kind in (StatementKind.EXPLAIN, StatementKind.PRAGMA):
            return None
        if (strict := with_strict_names(request.statement, request.tokens)) is None:
            return None
        place = opened if opened.shadow is None else opened.shadow
        with place.guard.paused():
            answer = self._attempt(place.connection, place.guard, replace(request, statement=strict), self._compile)
        return answer if isinstance(answer, Failed) and answer.fault is Fault.NO_COLUMN else None

    def _read(self, opened: _OpenFile, request: _Request) -> Answer:
        if opened.shadow is not None:
            if request.kind in (StatementKind.EXPLAIN, StatementKind.PRAGMA):
                return self._attempt(opened.shadow.connection, opened.shadow.guard, request, self._fetch)
            if (answer := self._ask_shadow(opened.shadow, request)) is not None:
                return answer
        return self._attempt(opened.connection, opened.guard, request, self._fetch)

    def _write(self, opened: _OpenFile, request: _Request, *, is_confirmed: bool) -> Answer:
        """Without a yes, what would come of it, as far as that can be known without running it."""
        if opened.shadow is not None:
            with opened.shadow.guard.writing():
                answer = self._ask_shadow(opened.shadow, request)
            if answer is not None:
                return answer
        if is_confirmed:
            return self._change(opened, request)
        with opened.guard.writing():
            return self._compile_write(opened.connection, opened.guard, request) or WAITS

    def _ask_shadow(self, shadow: Shadow, request: _Request) -> Answer | None:
        """The answer, where the shadow has it: what is wrong with the names of a statement, or the catalog."""
        answer = self._attempt(shadow.connection, shadow.guard, request, self._compile)
        if answer is not None:
            return answer
        if not shadow.guard.reads_catalog:
            return _refuse_unmasked(request.tokens, shadow)
        if shadow.guard.written or shadow.guard.read - CATALOG - {*TABLE_FUNCTIONS}:
            return _MIXED
        return self._attempt(shadow.connection, shadow.guard, request, self._fetch)

    def _compile_write(self, connection: sqlite3.Connection, guard: Authorizer, request: _Request) -> Answer | None:
        """Why it is not run."""
        answer = self._attempt(connection, guard, request, self._compile)
        if answer is None and guard.reaches_closed(names_in(request.tokens)):
            return WRITES_BEYOND
        return answer

    def _change(self, opened: _OpenFile, request: _Request) -> Answer:
        """On a connection of its own, in one transaction, all of it or nothing. Raises `UnavailableError`."""
        connection = connect(self._path, writable=True)
        guard = replace(opened.guard, may_write=True)
        try:
            _prepare(connection, guard, opened.shadow)
            # Text that is not UTF-8 must not undo a change because it is returned.
            connection.text_factory = decode_leniently
            with guard.paused():
                connection.execute("BEGIN IMMEDIATE").close()
                register_virtual_tables(connection, opened.found.virtual_tables)
            if (answer := self._compile_write(connection, guard, request)) is not None:
                return answer
            # What the statement writes is known once it is compiled; the rest is a virtual table's own doing.
            guard.writable_indexes = frozenset(guard.written)
            return self._attempt(connection, guard, request, self._fetch_and_commit)
        except sqlite3.Error as error:
            return explain_error(error, request.tokens, guard)
        finally:
            # This undoes what was not committed.
            connection.close()

    def _compile(self, connection: sqlite3.Connection, guard: Authorizer, request: _Request) -> None:
        connection.execute(f"EXPLAIN {request.statement}", request.values).close()

    def _fetch(self, connection: sqlite3.Connection, guard: Authorizer, request: _Request) -> Answer:
        return fetch(connection, request.statement, request.values, request.limits, self._watch)

    def _fetch_and_commit(self, connection: sqlite3.Connection, guard: Authorizer, request: _Request) -> Answer:
        rows = fetch(connection, request.statement, request.values, request.limits, self._watch)
        with guard.paused():
            affected = connection.execute("SELECT changes()").fetchone()[0] if guard.written else 0
            connection.execute("COMMIT").close()
        return replace(rows, affected=affected, seconds=self._watch.seconds)

    def _attempt(
        self,
        connection: sqlite3.Connection,
        guard: Authorizer,
        request: _Request,
        work: Callable[[sqlite3.Connection, Authorizer, _Request], _T],
    ) -> _T | Answer:
        """What the work returns, or why it failed."""
        if self._watch.is_stopped():
            return out_of_time(request.limits.seconds)
        guard.begin()
        try:
            with self._watch.over(connection):
                return work(connection, guard, request)
        except (sqlite3.Error, sqlite3.Warning) as error:
            if guard.denials:
                return explain_denial(guard.denials[0], request.tokens, guard)
            if self._watch.is_stopped():
                return out_of_time(request.limits.seconds)
            return explain_error(error, request.tokens, guard)

    def _open(self) -> _OpenFile:
        """Raises `UnavailableError`."""
        try:
            if self._opened is None or self._opened.stamp != self._stamp(self._opened):
                self._close()
                self._opened = self._open_anew()
        except (sqlite3.Error, OSError) as error:
            self._close()
            raise UnavailableError(explain_failed_opening(self._path, error)) from None
        return self._opened

    def _stamp(self, opened: _OpenFile) -> str:
        """It changes with the schema, and with another file at the same path."""
        with opened.guard.paused():
            return _stamp(opened.connection, self._path)

    def _open_anew(self) -> _OpenFile:
        connection = self._connect()
        try:
            stamp, found, is_whole = _stamp(connection, self._path), read_schema(connection), self._access.is_whole
            triggers = frozenset(map(str.lower, found.triggers))
            guard = Authorizer(found.known, owners=found.owners, triggers=triggers, hides_catalog=not is_whole)
            restrict(connection, guard)
            shadow = None
            if not is_whole:
                shadow = make_shadow(guard, found, close_derived(connection, guard, found, self._access))
            _prepare(connection, guard, shadow)
            with guard.paused():
                connection.execute("PRAGMA query_only = ON").close()
        except BaseException:
            connection.close()
            raise
        return _OpenFile(connection, guard, found, shadow, stamp)

    def _connect(self) -> sqlite3.Connection:
        try:
            return connect(self._path, writable=False)
        except UnavailableError:
            if not self._writes:
                raise
            # To open the file for writing undoes what a killed writer left behind.
            connect(self._path, writable=True).close()
            return connect(self._path, writable=False)

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()


def _prepare(connection: sqlite3.Connection, guard: Authorizer, shadow: Shadow | None) -> None:
    """Restrict a connection to the file, and hide closed columns behind temporary views."""
    restrict(connection, guard)
    if shadow is None:
        return
    with guard.paused():
        for mask in shadow.masks:
            connection.execute(mask).close()
    guard.masks = shadow.guard.masks
    guard.are_names_checked = True


def _stamp(connection: sqlite3.Connection, path: str) -> str:
    version = connection.execute("PRAGMA schema_version").fetchone()[0]
    found = os.stat(path)
    return f"{version}-{found.st_dev}-{found.st_ino}"


def _refuse_unmasked(tokens: Sequence[Token], shadow: Shadow) -> Refused | None:
    """A table with closed columns is read through a temporary view. Its full name would bypass that, and a view has no
    rowid."""
    masks = shadow.guard.masks
    for schema, dot, table in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if dot.value == "." and table.value.lower() in masks and schema.is_name and schema.value.lower() == MAIN:
            return Refused(
                f"{table.value!r} cannot be named with its schema here.",
                f"Write {table.value} without {MAIN} before it.",
            )
    if masks.isdisjoint(shadow.guard.read):
        return None
    for token in tokens:
        if token.is_name and token.value.lower() in shadow.rowids:
            return Refused(f"{token.value} cannot be read here.", "Read the columns that search_schemas tells.")
    return None
