"""One DuckDB file in a worker: opened again when it changes, and queried."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from pegboard.core.databases.rows import (
    QueryAnswer,
    QueryRows,
    RowCollector,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from pegboard.core.json.values import Json
from pegboard.core.model.databases import QueryLimits
from pegboard.providers.database.common import parameter_count_message
from pegboard.providers.database.duckdb.statement import DuckdbStatement, Grammar, connect, lock
from pegboard.providers.database.duckdb.views import OpenDatabase, make_views, read_schema
from pegboard.providers.database.tokens import find_position, tokenize
from pegboard.providers.database.worker.frames import RunStatement
from pegboard.providers.database.worker.session import (
    Faults,
    FileSession,
    UnavailableError,
    bad_parameters,
    failure,
    mismatched_names,
)

try:
    import duckdb
except ImportError:
    raise UnavailableError(
        "DuckDB is not installed beside Pegboard. Install it: pip install 'pegboard[databases]', or pip install duckdb."
    ) from None


_NO_CATALOG: Final = StatementRefusal(
    "The catalog cannot be read where part of the source is closed.",
    "Use search_schemas, SHOW TABLES or DESCRIBE with the name of a table.",
)
_NO_PLAN: Final = StatementRefusal(
    "Statements are not explained where part of the source is closed.", "Run the query itself."
)
_LOSSY_TYPE: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(?P<type>INTERVAL|TIMESTAMP_NS|TIME_NS)(?=[,)\[]|$)"""
)
"""In the name of a type, not in that of a field or of an enum's value: the driver turns months into thirty days, and
drops the last three digits of nanoseconds."""
_END: Final = re.compile(r";(?:[\s;]|--[^\n]*|/\*.*?\*/)*\Z", re.DOTALL)
_FAULTS: Final[Faults] = (
    (re.compile(r"Table with name (.+?) does not exist"), StatementFault.NO_TABLE),
    (re.compile(r'Referenced (?:column|table) "?(.+?)"? not found'), StatementFault.NO_COLUMN),
    (re.compile(r'column "(.+?)" (?:does not exist|not found)', re.IGNORECASE), StatementFault.NO_COLUMN),
    (re.compile(r"does not have a column named \"(.+?)\""), StatementFault.NO_COLUMN),
    (re.compile(r"Function with name (.+?) does not exist"), StatementFault.NO_FUNCTION),
    (re.compile(r'^Parser Error(?:.*?at or near "(.+?)")?', re.DOTALL), StatementFault.SYNTAX),
    (re.compile(r"^Out of Memory Error|failed to allocate|maximum supported string size"), StatementFault.MEMORY),
    (re.compile(r"^IO Error"), StatementFault.UNAVAILABLE),
)
_SUGGESTIONS: Final = re.compile(r"\n+(?:LINE \d+:|Did you mean|Candidate).*", re.DOTALL)
"""They may name what is closed; the gateway suggests names itself."""
_MAX_ERROR_LENGTH: Final = 1_000


class DuckdbSession(FileSession[OpenDatabase]):
    """A session with one DuckDB file."""

    ERRORS = (duckdb.Error, RuntimeError, ValueError, OverflowError, TypeError)
    VERSION = f"DuckDB {duckdb.__version__}"
    HEADER = (8, b"DUCK")

    def _run(self, run: RunStatement) -> QueryAnswer:
        if run.write:
            return StatementRefusal("DuckDB sources are read-only.", "Write with the program that owns the file.")
        opened, parameters = self._open(), run.parameters
        judged = _judge(opened, run)
        if not isinstance(judged, DuckdbStatement):
            return judged
        if isinstance(parameters, dict):
            parameters = {name.removeprefix("$"): value for name, value in parameters.items()}
            problem = mismatched_names(judged.parameters, parameters)
        elif len(parameters) != len(judged.parameters):
            problem = bad_parameters(parameter_count_message(len(judged.parameters), len(parameters), "?"))
        else:
            problem = mismatched_names(judged.parameters, [str(place) for place in range(1, len(parameters) + 1)])
        if problem is not None:
            return problem
        return self._attempt(
            opened.connection,
            run.limits.seconds,
            lambda: self._fetch(opened.connection, run.statement, parameters, run.limits),
            lambda error: _explain(error, run.statement),
        )

    def _fetch(
        self,
        connection: duckdb.DuckDBPyConnection,
        statement: str,
        values: list[Json] | dict[str, Json],
        limits: QueryLimits,
    ) -> QueryRows:
        connection.execute(statement, values)
        described = connection.description or ()
        names, types = [str(each[0]) for each in described], [str(each[1]) for each in described]
        exact = _with_exact_values(statement, types)
        if exact is not None:
            try:
                connection.execute(exact, values)
            except duckdb.Error:  # it cannot be part of another statement: its values are as exact as the driver's
                connection.execute(statement, values)
        collector = RowCollector(limits)
        while (wanted := collector.next_fetch) and (rows := connection.fetchmany(wanted)):
            collector.add(rows)
        return self._rows(names, types, collector)

    def _stamp(self, opened: OpenDatabase | None = None) -> str:
        found = os.stat(self._path)
        return f"{found.st_dev}-{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"

    def _open_anew(self) -> OpenDatabase:
        stamp, database, grammar = self._stamp(), Path(self._path).stem, Grammar()
        if not self._access.is_unrestricted:
            return make_views(self._path, database, self._access, grammar, stamp)
        connection = connect(self._path)
        try:
            name = str((connection.execute("SELECT current_database()").fetchone() or (database,))[0])
            schema, _ = read_schema(connection, name)
            lock(connection)
            grammar.set_tables(name, [table.name for table in schema.tables])
            grammar.admit_macros(connection)
        except BaseException:
            connection.close()
            raise
        return OpenDatabase(schema, schema, stamp, connection, grammar)

    def _explain_opening(self, words: str) -> str:
        words = words.partition("\n")[0]
        if "set lock" in words.lower():
            return (
                f"{self._path!r} is open in a process that writes it, and DuckDB lets nobody else read it. "
                "Close it there."
            )
        if "version" in words.lower():
            return f"{self._path!r} was written by another version of DuckDB: {words}"
        return f"{self._path!r} cannot be opened: {words}"


def _judge(opened: OpenDatabase, run: RunStatement) -> DuckdbStatement | QueryAnswer:
    try:
        judged = opened.grammar.judge(run.statement)
    except (duckdb.Error, RuntimeError) as error:
        failed = _explain(error, run.statement)
        if failed.fault is not StatementFault.SYNTAX or not run.parameters:
            return failed
        mark = "?" if isinstance(run.parameters, list) else "$name"
        return replace(failed, message=f"{failed.message.rstrip('.')}. Write {mark} in it where a value belongs.")
    if isinstance(judged, DuckdbStatement) and opened.secret is not None:
        if judged.reads_catalog or opened.secret in judged.names:
            return _NO_CATALOG
        if judged.is_explain:
            return _NO_PLAN
    return judged


def _with_exact_values(statement: str, types: list[str]) -> str | None:
    """The same rows with values of lossy types as text; `None` where there are none."""
    as_text = [_LOSSY_TYPE.sub(lambda found: "VARCHAR" if found["type"] else found.group(), each) for each in types]
    if as_text == types:
        return None
    columns = ", ".join(
        f"#{place}" if type == given else f"CAST(#{place} AS {type})"
        for place, (type, given) in enumerate(zip(as_text, types, strict=True), 1)
    )
    return f"SELECT {columns} FROM ({_END.sub('', statement)}\n)"  # noqa: S608 - the statement has been judged


def _explain(error: Exception, statement: str) -> StatementFailure:
    words = _SUGGESTIONS.sub("", str(error)).strip()[:_MAX_ERROR_LENGTH]
    if isinstance(error, duckdb.OutOfMemoryException):
        return StatementFailure(words, fault=StatementFault.MEMORY)
    return failure(words, _FAULTS, lambda name: find_position(tokenize(statement), name))
