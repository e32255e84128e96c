"""One SQLite file in a worker: read again when its schema changes, queried, and written."""

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import msgspec

from pegboard.core.databases.rows import (
    DatabaseCheck,
    DatabaseFinding,
    FindingSeverity,
    QueryAnswer,
    QueryRows,
    RowCollector,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from pegboard.core.model.databases import DatabaseAccess
from pegboard.providers.database.common import NEEDS_WRITE, NOT_EXPLAINED
from pegboard.providers.database.sqlite.authorizer import (
    CATALOG,
    TABLE_FUNCTIONS,
    WRITES_BEYOND,
    GuardedConnection,
    connect,
    register_virtual_tables,
    restrict,
)
from pegboard.providers.database.sqlite.guard import Shadow, make_shadow
from pegboard.providers.database.sqlite.schema import FileSchema, read_schema
from pegboard.providers.database.sqlite.statement import (
    SEVERAL_STATEMENTS,
    BoundValues,
    StatementKind,
    bind,
    classify,
    with_strict_names,
)
from pegboard.providers.database.tokens import Token, find_position, names_in, tokenize
from pegboard.providers.database.worker.frames import RunStatement
from pegboard.providers.database.worker.session import Faults, FileSession, OpenFile, UnavailableError, failure

_T = TypeVar("_T")

_OLDEST_VERSION: Final = (3, 37, 0)
_TYPES: Final = {int: "integer", float: "real", str: "text", bytes: "blob"}
_MIXED_READ: Final = StatementRefusal(
    "The statement reads the schema and rows at once.", "Ask for the schema in one statement and for rows in another."
)
_FAULTS: Final[Faults] = (
    (re.compile(r"no such table: (.+)", re.DOTALL), StatementFault.NO_TABLE),
    (re.compile(r"no such column: (.+)", re.DOTALL), StatementFault.NO_COLUMN),
    (
        re.compile(r"cannot join using column (.+) - column not present in both tables", re.DOTALL),
        StatementFault.NO_COLUMN,
    ),
    (re.compile(r"table .+ has no column named (.+)", re.DOTALL), StatementFault.NO_COLUMN),
    (re.compile(r"no such function: (.+)", re.DOTALL), StatementFault.NO_FUNCTION),
    (re.compile(r'(?:unrecognized token: |near )"(.+)"', re.DOTALL), StatementFault.SYNTAX),
    (re.compile(r"incomplete input"), StatementFault.SYNTAX),
    (re.compile(r"database (?:table )?is locked"), StatementFault.BUSY),
    (re.compile(r"string or blob too big|out of memory"), StatementFault.MEMORY),
    (
        re.compile(r"database disk image is malformed|file is not a database|disk I/O error|unable to open"),
        StatementFault.UNAVAILABLE,
    ),
)
_NESTED_TOO_DEEPLY: Final = ("Expression tree is too large", "parser stack overflow")
_ABOUT_CLOSED: Final = StatementFailure("The statement fails on something that this source does not show.")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class _Request:
    """A statement that may be run as far as its text tells."""

    run: RunStatement
    tokens: Sequence[Token]
    kind: StatementKind
    values: BoundValues


@dataclass(frozen=True)
class _OpenSqliteFile(OpenFile):
    """A file that is open for reading."""

    guard: GuardedConnection
    file_schema: FileSchema
    shadow: Shadow | None
    """None where nothing is closed."""

    def close(self) -> None:
        self.guard.connection.close()
        if self.shadow is not None:
            self.shadow.guard.connection.close()


class SqliteSession(FileSession[_OpenSqliteFile]):
    """A session with one SQLite file."""

    ERRORS = (sqlite3.Error, sqlite3.Warning)
    VERSION = f"SQLite {sqlite3.sqlite_version}"
    HEADER = (0, b"SQLite format 3\x00")
    MAY_BE_EMPTY = True

    def __init__(self, path: str, access: DatabaseAccess, *, writes: bool) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_VERSION:
            raise UnavailableError(f"{self.VERSION} is too old: Pegboard needs 3.37 or newer.")
        super().__init__(path, access)
        self._writes = writes

    def check(self) -> DatabaseCheck:
        checked = super().check()
        if not self._writes or os.access(self._path, os.W_OK):
            return checked
        words = "Writes are on, but the gateway's user may not write the file."
        return replace(
            checked, findings=(*checked.findings, DatabaseFinding(words, FindingSeverity.REFUSED_UNLESS_FORCED))
        )

    def _run(self, run: RunStatement) -> QueryAnswer:
        tokens = tokenize(run.statement)
        kind = classify(tokens, writes=self._writes)
        if not isinstance(kind, StatementKind):
            return kind
        values = bind(tokens, run.parameters)
        if isinstance(values, StatementFailure):
            return values
        request, opened = _Request(run, tokens, kind, values), self._open()
        if (problem := self._problem_with_names(opened, request)) is not None:
            return problem
        if kind is StatementKind.WRITE:
            return self._write(opened, request)
        answer = self._run_read(opened, request)
        if isinstance(answer, StatementRefusal) and answer.is_write:
            if kind is StatementKind.EXPLAIN:
                return NOT_EXPLAINED
            if kind is StatementKind.WITH and self._writes:
                return self._write(opened, request)
        return answer

    def _problem_with_names(self, opened: _OpenSqliteFile, request: _Request) -> QueryAnswer | None:
        """What is wrong with names in double quotes, which SQLite itself would take for strings."""
        if request.kind in (StatementKind.EXPLAIN, StatementKind.PRAGMA):
            return None
        if (strict := with_strict_names(request.run.statement, request.tokens)) is None:
            return None
        guard = (opened.shadow or opened).guard
        with guard.pause():
            answer = self._compile(guard, replace(request, run=msgspec.structs.replace(request.run, statement=strict)))
        return answer if isinstance(answer, StatementFailure) and answer.fault is StatementFault.NO_COLUMN else None

    def _run_read(self, opened: _OpenSqliteFile, request: _Request) -> QueryAnswer:
        shadow = opened.shadow
        if shadow is not None:
            if request.kind in (StatementKind.EXPLAIN, StatementKind.PRAGMA):
                return self._fetch(shadow.guard, request)
            if (answer := self._ask_shadow(shadow, request)) is not None:
                return answer
        return self._fetch(opened.guard, request)

    def _write(self, opened: _OpenSqliteFile, request: _Request) -> QueryAnswer:
        """Without a yes, what would come of it, as far as that can be known without running it."""
        if opened.shadow is not None:
            with opened.shadow.guard.allow_writes():
                answer = self._ask_shadow(opened.shadow, request)
            if answer is not None:
                return answer
        if request.run.write:
            return self._change(opened, request)
        with opened.guard.allow_writes():
            return self._compile_write(opened.guard, request) or NEEDS_WRITE

    def _ask_shadow(self, shadow: Shadow, request: _Request) -> QueryAnswer | None:
        """The answer, where the shadow has it: what is wrong with the names of a statement, or the catalog."""
        guard = shadow.guard
        if (answer := self._compile(guard, request)) is not None:
            return answer
        if not guard.reads_catalog:
            return shadow.refuse_unmasked(request.tokens)
        if guard.written_tables or guard.read_tables - CATALOG - TABLE_FUNCTIONS:
            return _MIXED_READ
        return self._fetch(guard, request)

    def _compile_write(self, guard: GuardedConnection, request: _Request) -> QueryAnswer | None:
        """Why it is not run."""
        answer = self._compile(guard, request)
        if answer is None and guard.reaches_closed(names_in(request.tokens)):
            return WRITES_BEYOND
        return answer

    def _change(self, opened: _OpenSqliteFile, request: _Request) -> QueryAnswer:
        """On a connection of its own, in one transaction, all of it or nothing."""
        try:
            connection = connect(self._path, writable=True)
        except sqlite3.Error as error:
            raise UnavailableError(self._explain_opening(str(error))) from None
        guard = replace(opened.guard, connection=connection, may_write=True)
        try:
            restrict(guard)
            _hide_closed(guard, opened.shadow)
            guard.execute_own("BEGIN IMMEDIATE")
            register_virtual_tables(guard, opened.file_schema.virtual_tables)
            if (answer := self._compile_write(guard, request)) is not None:
                return answer
            # What the statement writes is known once it is compiled; the rest is a virtual table's own doing.
            guard.writable_indexes = frozenset(guard.written_tables)
            return self._judge(guard, request, lambda: self._commit(guard, self._rows_of(guard, request)))
        except sqlite3.Error as error:
            return _explain(error, request.tokens, guard)
        finally:
            # This undoes what was not committed.
            connection.close()

    def _commit(self, guard: GuardedConnection, rows: QueryRows) -> QueryRows:
        with guard.pause():
            affected = guard.connection.execute("SELECT changes()").fetchone()[0] if guard.written_tables else 0
            guard.connection.execute("COMMIT").close()
        return replace(rows, affected_rows=affected)

    def _compile(self, guard: GuardedConnection, request: _Request) -> QueryAnswer | None:
        statement = f"EXPLAIN {request.run.statement}"
        return self._judge(guard, request, lambda: guard.connection.execute(statement, request.values).close())

    def _fetch(self, guard: GuardedConnection, request: _Request) -> QueryAnswer:
        return self._judge(guard, request, lambda: self._rows_of(guard, request))

    def _rows_of(self, guard: GuardedConnection, request: _Request) -> QueryRows:
        cursor = guard.connection.execute(request.run.statement, request.values)
        names = [described[0] for described in cursor.description or ()]
        types, collector = [""] * len(names), RowCollector(request.run.limits)
        while (wanted := collector.next_fetch) and (rows := cursor.fetchmany(wanted)):
            for row in rows if "" in types else ():
                types = [known or _TYPES.get(type(value), "") for known, value in zip(types, row, strict=True)]
            collector.add(rows)
        cursor.close()
        return self._rows(names, types, collector)

    def _judge(self, guard: GuardedConnection, request: _Request, work: Callable[[], _T]) -> _T | QueryAnswer:
        """What the work on a statement returns, or why it failed."""

        def explain(error: Exception) -> QueryAnswer:
            match guard.denial:
                case None:
                    return _explain(error, request.tokens, guard)
                case StatementFailure(name=str(name)) as failed:
                    return replace(failed, position=find_position(request.tokens, name))
                case denial:
                    return denial

        guard.begin()
        return self._attempt(guard.connection, request.run.limits.seconds, work, explain)

    def _open_anew(self) -> _OpenSqliteFile:
        connection = self._connect()
        try:
            stamp, found, shadow = _stamp(connection, self._path), read_schema(connection), None
            guard = GuardedConnection(
                connection,
                frozenset(map(str.lower, found.tables)),
                owners=found.owners,
                triggers=frozenset(map(str.lower, found.triggers)),
                hides_catalog=not self._access.is_unrestricted,
            )
            restrict(guard)
            if not self._access.is_unrestricted:
                shadow = make_shadow(guard, found, self._access)
            _hide_closed(guard, shadow)
            guard.execute_own("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        schema = found.schema if shadow is None else shadow.schema
        return _OpenSqliteFile(found.schema, schema, stamp, guard, found, shadow)

    def _connect(self) -> sqlite3.Connection:
        try:
            return connect(self._path)
        except sqlite3.Error:
            if not self._writes:
                raise
        # To open the file for writing undoes what a killed writer left behind.
        connect(self._path, writable=True).close()
        return connect(self._path)

    def _stamp(self, opened: _OpenSqliteFile) -> str:
        with opened.guard.pause():
            return _stamp(opened.guard.connection, self._path)

    def _explain_opening(self, words: str) -> str:
        path = self._path
        if "locked" in words or "busy" in words:
            return f"{path!r} is locked: another program is writing it. Try again when it has finished."
        if "not a database" in words:
            return f"{path!r} is not a SQLite database. Check the path, or decrypt it."
        if "malformed" in words or "corrupt" in words:
            return f"{path!r} is damaged ({words}). Restore it, or save what is left with sqlite3's .recover."
        if "readonly" in words or "unable to open" in words:
            return (
                f"{path!r} was left by a program that was cut off while it wrote, or its log cannot be read ({words}). "
                "Open it once with the program that writes it, or let the gateway's user write into its folder."
            )
        return f"{path!r} cannot be opened: {words}."


def _hide_closed(guard: GuardedConnection, shadow: Shadow | None) -> None:
    """Behind temporary views."""
    if shadow is not None:
        guard.execute_own(*shadow.masks)
        guard.masks, guard.are_names_checked = shadow.guard.masks, True


def _stamp(connection: sqlite3.Connection, path: str) -> str:
    version = connection.execute("PRAGMA schema_version").fetchone()[0]
    found = os.stat(path)
    return f"{version}-{found.st_dev}-{found.st_ino}"


def _explain(error: Exception, tokens: Sequence[Token], guard: GuardedConnection) -> QueryAnswer:
    """An error whose text names something closed that the statement does not name is not repeated."""
    words = str(error)
    if isinstance(error, sqlite3.Warning | sqlite3.ProgrammingError) and "one statement" in words:
        return SEVERAL_STATEMENTS
    if words.startswith(_NESTED_TOO_DEEPLY):
        return StatementFailure(
            f"{words}. The statement is nested too deeply. Ask in simpler statements.", None, StatementFault.SYNTAX
        )
    own_words = {*_WORD.findall(" ".join(names_in(tokens)))}
    if guard.closed_objects.is_mentioned_in(
        " ".join(word for word in _WORD.findall(words.lower()) if word not in own_words)
    ):
        return _ABOUT_CLOSED
    return failure(words, _FAULTS, lambda name: find_position(tokens, name))
