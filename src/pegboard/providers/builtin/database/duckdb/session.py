"""One DuckDB file in a worker: opened when it is needed, looked at again when it changed, and asked."""

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pegboard.core.database import (
    Access,
    Answer,
    Catch,
    Checked,
    Failed,
    Fault,
    Finding,
    Limits,
    Refused,
    Rows,
    Schema,
)
from pegboard.core.database.answered import answered
from pegboard.core.folded import Json
from pegboard.providers.builtin.database.box.main import Away
from pegboard.providers.builtin.database.box.words import out_of_time
from pegboard.providers.builtin.database.unreadable import miscounted

try:
    import duckdb
except ImportError:
    raise Away(
        "DuckDB is not installed beside Pegboard. Install it: pip install 'pegboard[databases]', or pip install duckdb."
    ) from None

from .connecting import connected, locked, opening
from .exact import asked_exactly
from .failing import failed
from .functions import computing, own_macros
from .judging import Grammar, Judged, judged, sound
from .reading import whole
from .shadow import Shown, shown
from .watching import Watch

_MIXED: Final = Refused(
    "The statement reads the schema and rows at once.", "Ask for the schema in one statement and for rows in another."
)


@dataclass(frozen=True)
class _Opened:
    file: duckdb.DuckDBPyConnection
    """Where rows are read."""
    shown: Shown | None
    """None where nothing is closed."""
    whole: Schema
    computing: frozenset[str]
    macros: frozenset[str]
    stamp: str

    @property
    def schema(self) -> Schema:
        return self.whole if self.shown is None else self.shown.schema


class DuckdbSession:
    def __init__(self, path: str, access: Access) -> None:
        self._path = path
        self._access = access
        self._opened: _Opened | None = None
        self._deadline = 0.0
        self._began = 0.0
        self._watch = Watch()
        self._grammar = Grammar()
        self._is_stopped = False

    def check(self) -> Checked:
        opened = self._open()
        found = [
            Finding(f"The pattern {str(each)!r} fits no table and no column. Check how it is spelt.")
            for each in self._access.vain(opened.whole.names())
        ]
        if not opened.schema.tables:
            found.append(Finding("There is no table to read. Check the path and the patterns of the source."))
        return Checked(f"DuckDB {duckdb.__version__}", None, tuple(found))

    def schema(self) -> Schema:
        return self._open().schema

    def stamp(self) -> str:
        return self._open().stamp

    def interrupt(self) -> None:
        self._is_stopped = True
        self._watch.stop()

    def run(self, statement: str, parameters: list[Json] | dict[str, Json], limits: Limits, *, write: bool) -> Answer:
        if write:
            return Refused("DuckDB sources are read-only.", "Write with the program that owns the file.")
        opened = self._open()
        self._is_stopped = False
        self._began = time.monotonic()
        self._deadline = self._began + limits.seconds
        found = self._judged(opened, statement)
        if isinstance(found, Failed) and found.fault is Fault.SYNTAX and parameters:
            mark = "?" if isinstance(parameters, list) else "$name"
            return replace(found, words=f"{found.words.rstrip('.')}. Write {mark} in it where a value belongs.")
        if not isinstance(found, Judged):
            return found
        if (unfit := _unfit(found.parameters, parameters)) is not None:
            return unfit
        values = _named(parameters)
        if opened.shown is None:
            return self._asked(opened.file, statement, values, limits)
        if found.tells and found.reads and not found.explains:
            return _MIXED
        if found.tells or found.explains:
            return self._asked(opened.shown.shadow, statement, values, limits)
        foreseen = self._asked(opened.shown.shadow, statement, values, limits, before="EXPLAIN ")
        return self._asked(opened.file, statement, values, limits) if isinstance(foreseen, Rows) else foreseen

    def _judged(self, opened: _Opened, statement: str) -> Judged | Answer:
        try:
            return judged(self._grammar, statement, opened.computing, opened.macros)
        except (duckdb.Error, RuntimeError) as error:
            return failed(error, statement)

    def _asked(
        self,
        connection: duckdb.DuckDBPyConnection,
        statement: str,
        values: list[Json] | dict[str, Json],
        limits: Limits,
        before: str = "",
    ) -> Answer:
        try:
            with self._watch.over(connection, self._deadline):
                connection.execute(before + statement, values)
                described = connection.description or ()
                names, types = [str(each[0]) for each in described], [str(each[1]) for each in described]
                if not before:
                    _exactly(connection, statement, values, types)
                catch = Catch(limits)
                while (wanted := catch.wanted) and (rows := connection.fetchmany(wanted)):
                    catch.take(rows)
            return answered(names, types, catch, time.monotonic() - self._began)
        except (duckdb.Error, RuntimeError, ValueError, OverflowError, TypeError) as error:
            if self._is_stopped or time.monotonic() >= self._deadline:
                return out_of_time(limits.seconds)
            return failed(error, statement)

    def _open(self) -> _Opened:
        """Raises `Away`."""
        try:
            found = os.stat(self._path)
            stamp = f"{found.st_dev}-{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"
        except OSError:
            stamp = ""
        if self._opened is None or self._opened.stamp != stamp:
            self._close()
            try:
                self._opened = self._anew(stamp)
            except duckdb.Error as error:
                raise Away(opening(self._path, error)) from None
        return self._opened

    def _anew(self, stamp: str) -> _Opened:
        database = Path(self._path).stem
        if not self._access.is_whole:
            found = shown(self._path, database, self._access)
            return _Opened(found.world, found, found.whole, computing(found.shadow), frozenset(), stamp)
        connection = connected(self._path)
        try:
            name = str((connection.execute("SELECT current_database()").fetchone() or (database,))[0])
            known = whole(connection, name)
            locked(connection)
            names = computing(connection)
            return _Opened(connection, None, known, names, sound(self._grammar, names, own_macros(connection)), stamp)
        except BaseException:
            connection.close()
            raise

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.file.close()
            if opened.shown is not None:
                opened.shown.shadow.close()


def _exactly(
    connection: duckdb.DuckDBPyConnection, statement: str, values: list[Json] | dict[str, Json], types: list[str]
) -> None:
    """It runs again, with values as text of which the driver would make less than they are."""
    exact = asked_exactly(statement, types)
    if exact is None:
        return
    try:
        connection.execute(exact, values)
    except duckdb.Error:  # no part of another statement: what comes is then as exact as the driver is
        connection.execute(statement, values)


def _unfit(names: frozenset[str], parameters: list[Json] | dict[str, Json]) -> Failed | None:
    """The engine's own list of a statement's parameters, against what was given."""
    given = _given(parameters)
    if isinstance(parameters, list) and len(given) != len(names):
        return _failed(miscounted(len(names), len(given), "?"))
    for name in sorted(names - given):
        return _failed(f"No value was given for the parameter {name!r}.")
    for name in sorted(given - names):
        return _failed(f"The statement has no parameter {name!r}.")
    return None


def _given(parameters: list[Json] | dict[str, Json]) -> set[str]:
    if isinstance(parameters, list):
        return {str(place) for place in range(1, len(parameters) + 1)}
    return {name.removeprefix("$") for name in parameters}


def _named(parameters: list[Json] | dict[str, Json]) -> "list[Json] | dict[str, Json]":
    if isinstance(parameters, list):
        return parameters
    return {name.removeprefix("$"): value for name, value in parameters.items()}


def _failed(words: str) -> Failed:
    return Failed(words, fault=Fault.PARAMETERS)
