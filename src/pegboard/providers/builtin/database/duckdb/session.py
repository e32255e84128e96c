"""One DuckDB file in a worker: opened on first use, opened again when it changes, and queried."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pegboard.core.database import Access, Answer, Checked, Failed, Fault, Limits, Refused, Schema
from pegboard.core.folded import Json
from pegboard.providers.builtin.database.files import schema_findings
from pegboard.providers.builtin.database.unreadable import miscounted
from pegboard.providers.builtin.database.worker.errors import UnavailableError, out_of_time
from pegboard.providers.builtin.database.worker.watch import Watch

try:
    import duckdb
except ImportError:
    raise UnavailableError(
        "DuckDB is not installed beside Pegboard. Install it: pip install 'pegboard[databases]', or pip install duckdb."
    ) from None

from .connection import connect, explain_failed_opening, lock
from .execution import explain_error, fetch
from .functions import computing_functions, own_macros
from .schema import read_schema
from .statement import Grammar, Statement, judge, safe_macros
from .views import make_views

_NO_CATALOG: Final = Refused(
    "The catalog cannot be read where part of the source is closed.",
    "Use search_schemas, SHOW TABLES or DESCRIBE with the name of a table.",
)
_NO_PLAN: Final = Refused("Statements are not explained where part of the source is closed.", "Run the query itself.")


@dataclass(frozen=True)
class _OpenFile:
    connection: duckdb.DuckDBPyConnection
    whole: Schema
    schema: Schema
    """All that is open."""
    functions: frozenset[str]
    stamp: str
    secret: str | None = None
    """The name of the file's own database, where part of it is closed."""


class DuckdbSession:
    def __init__(self, path: str, access: Access) -> None:
        self._path = path
        self._access = access
        self._opened: _OpenFile | None = None
        self._watch = Watch()
        self._grammar = Grammar()

    def check(self) -> Checked:
        opened = self._open()
        findings = schema_findings(self._access, opened.whole, opened.schema)
        return Checked(f"DuckDB {duckdb.__version__}", None, findings)

    def schema(self) -> Schema:
        return self._open().schema

    def stamp(self) -> str:
        return self._open().stamp

    def interrupt(self) -> None:
        self._watch.stop()

    def run(self, statement: str, parameters: list[Json] | dict[str, Json], limits: Limits, *, write: bool) -> Answer:
        if write:
            return Refused("DuckDB sources are read-only.", "Write with the program that owns the file.")
        opened = self._open()
        self._watch.start()
        judged = self._judge(opened, statement, parameters)
        if not isinstance(judged, Statement):
            return judged
        names, given = judged.parameters, _given_names(parameters)
        if isinstance(parameters, list) and len(given) != len(names):
            return Failed(miscounted(len(names), len(given), "?"), fault=Fault.PARAMETERS)
        for name in sorted(names - given):
            return Failed(f"No value was given for the parameter {name!r}.", fault=Fault.PARAMETERS)
        for name in sorted(given - names):
            return Failed(f"The statement has no parameter {name!r}.", fault=Fault.PARAMETERS)
        if isinstance(parameters, dict):
            parameters = {name.removeprefix("$"): value for name, value in parameters.items()}
        if self._watch.is_stopped():
            return out_of_time(limits.seconds)
        try:
            with self._watch.over(opened.connection):
                return fetch(opened.connection, statement, parameters, limits, self._watch)
        except (duckdb.Error, RuntimeError, ValueError, OverflowError, TypeError) as error:
            if self._watch.is_stopped():
                return out_of_time(limits.seconds)
            return explain_error(error, statement)

    def _judge(self, opened: _OpenFile, statement: str, parameters: list[Json] | dict[str, Json]) -> Statement | Answer:
        try:
            judged = judge(self._grammar, statement, opened.functions)
        except (duckdb.Error, RuntimeError) as error:
            failed = explain_error(error, statement)
            if failed.fault is not Fault.SYNTAX or not parameters:
                return failed
            mark = "?" if isinstance(parameters, list) else "$name"
            return replace(failed, words=f"{failed.words.rstrip('.')}. Write {mark} in it where a value belongs.")
        if isinstance(judged, Statement) and opened.secret is not None:
            if judged.reads_catalog or opened.secret in judged.names:
                return _NO_CATALOG
            if judged.is_explain:
                return _NO_PLAN
        return judged

    def _open(self) -> _OpenFile:
        """Raises `UnavailableError`."""
        try:
            found = os.stat(self._path)
            stamp = f"{found.st_dev}-{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"
        except OSError:
            stamp = ""
        if self._opened is None or self._opened.stamp != stamp:
            opened, self._opened = self._opened, None
            if opened is not None:
                opened.connection.close()
            try:
                self._opened = self._open_anew(stamp)
            except duckdb.Error as error:
                raise UnavailableError(explain_failed_opening(self._path, error)) from None
        return self._opened

    def _open_anew(self, stamp: str) -> _OpenFile:
        database = Path(self._path).stem
        if not self._access.is_whole:
            views = make_views(self._path, database, self._access, self._grammar)
            return _OpenFile(views.connection, views.whole, views.schema, views.functions, stamp, views.secret)
        connection = connect(self._path)
        try:
            name = str((connection.execute("SELECT current_database()").fetchone() or (database,))[0])
            schema = read_schema(connection, name)
            lock(connection)
            functions = computing_functions(connection)
            functions |= safe_macros(self._grammar, functions, own_macros(connection))
            return _OpenFile(connection, schema, schema, functions, stamp)
        except BaseException:
            connection.close()
            raise


def _given_names(parameters: list[Json] | dict[str, Json]) -> set[str]:
    if isinstance(parameters, list):
        return {str(place) for place in range(1, len(parameters) + 1)}
    return {name.removeprefix("$") for name in parameters}
