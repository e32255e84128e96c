"""One database file in a worker: what every engine for files does alike.

It is opened on first use, opened again when it changes, and a running statement can be stopped from another thread.
"""

import os
import re
import stat
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from pegboard.core.databases.rows import (
    DatabaseCheck,
    DatabaseFinding,
    QueryAnswer,
    QueryRows,
    RowCollector,
    StatementFailure,
    StatementFault,
)
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import DatabaseAccess
from pegboard.providers.database.worker.frames import RunStatement

NO_MEMORY: Final = StatementFailure(
    "The statement needs more memory than a source's worker may use. Read fewer rows or shorter values.",
    fault=StatementFault.MEMORY,
)
_NAMED_FAULTS: Final = (StatementFault.NO_TABLE, StatementFault.NO_COLUMN, StatementFault.NO_FUNCTION)


class UnavailableError(Exception):
    """The database cannot be opened: why, and what to do."""


class Interruptible(Protocol):
    """A connection of `sqlite3` or `duckdb`."""

    def interrupt(self) -> None: ...


@dataclass(frozen=True)
class OpenFile:
    """A file that is open."""

    whole: DatabaseSchema
    schema: DatabaseSchema
    """All that is open to statements."""
    stamp: str

    def close(self) -> None:
        raise NotImplementedError


_Opened = TypeVar("_Opened", bound=OpenFile)
_T = TypeVar("_T")


class FileSession(ABC, Generic[_Opened]):
    """One file. All but `interrupt` raise `UnavailableError`."""

    ERRORS: ClassVar[tuple[type[Exception], ...]]
    """What the engine raises."""
    VERSION: ClassVar[str]
    """With the engine's name."""
    HEADER: ClassVar[tuple[int, bytes]]
    """What a database of this kind has at which offset."""
    MAY_BE_EMPTY: ClassVar[bool] = False

    def __init__(self, path: str, access: DatabaseAccess) -> None:
        self._path = path
        self._access = access
        self._open_file: _Opened | None = None
        self._running_connection: Interruptible | None = None
        self._lock = threading.Lock()
        self._start_time = 0.0
        self._is_stopped = False

    def check(self) -> DatabaseCheck:
        opened = self._open()
        unmatched = (
            each for each in self._access.unmatched_patterns(opened.whole.column_names()) if each in self._access.deny
        )
        findings = [
            f"The pattern {str(each)!r} fits no table and no column. Check how it is spelt." for each in unmatched
        ]
        if not opened.schema.tables:
            findings.append("There is no table to read. Check the path and the patterns of the source.")
        return DatabaseCheck(self.VERSION, None, tuple(map(DatabaseFinding, findings)))

    def schema(self) -> DatabaseSchema:
        return self._open().schema

    def stamp(self) -> str:
        return self._open().stamp

    def run(self, run: RunStatement) -> QueryAnswer:
        # The gateway asks in order, so an earlier stop does not mean this statement.
        self._is_stopped, self._start_time = False, time.monotonic()
        return self._run(run)

    def interrupt(self) -> None:
        """From another thread: the running statement ends soon, and what it wrote is undone."""
        self._is_stopped = True
        with self._lock:
            if self._running_connection is not None:
                self._running_connection.interrupt()

    @abstractmethod
    def _run(self, run: RunStatement) -> QueryAnswer: ...
    @abstractmethod
    def _open_anew(self) -> _Opened: ...
    @abstractmethod
    def _stamp(self, opened: _Opened) -> str:
        """It changes with the schema, and with another file at the same path."""

    @abstractmethod
    def _explain_opening(self, words: str) -> str:
        """Why the file cannot be used, and what to do."""

    def _open(self) -> _Opened:
        errors: tuple[type[Exception], ...] = (*self.ERRORS, OSError)
        try:
            if self._open_file is None or self._open_file.stamp != self._stamp(self._open_file):
                self._close()
                if problem := self._problem_with_file():
                    raise UnavailableError(problem)
                self._open_file = self._open_anew()
        except errors as error:
            self._close()
            words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise UnavailableError(self._problem_with_file() or self._explain_opening(words)) from None
        return self._open_file

    def _close(self) -> None:
        opened, self._open_file = self._open_file, None
        if opened is not None:
            opened.close()

    def _problem_with_file(self) -> str | None:
        path, (offset, magic) = self._path, self.HEADER
        try:
            mode = os.stat(path).st_mode
            if stat.S_ISDIR(mode):
                return f"{path!r} is a folder. Name the database file in it."
            if not stat.S_ISREG(mode):
                return f"{path!r} is no ordinary file. Name a database file."
            with Path(path).open("rb") as file:
                header = file.read(offset + len(magic))
        except FileNotFoundError:
            return f"There is no file {path!r}. Check the path of the source, or create the database first."
        except OSError as error:
            return f"{path!r} cannot be read: {error.strerror or error}. Let the gateway's user read it."
        if header[offset:] != magic and (header or not self.MAY_BE_EMPTY):
            title = self.VERSION.partition(" ")[0]
            return f"{path!r} is not a {title} database: it begins with other bytes. Check the path, or decrypt it."
        return None

    def _attempt(
        self,
        connection: Interruptible,
        seconds: float,
        work: Callable[[], _T],
        explain: Callable[[Exception], QueryAnswer],
    ) -> _T | QueryAnswer:
        """What the work returns, or why it failed."""
        if self._is_stopped:
            return out_of_time(seconds)
        with self._lock:
            self._running_connection = connection
        try:
            return work()
        except self.ERRORS as error:
            return out_of_time(seconds) if self._is_stopped else explain(error)
        finally:
            with self._lock:
                self._running_connection = None

    def _rows(
        self, names: Iterable[str], types: Sequence[str], collector: RowCollector, affected: int | None = None
    ) -> QueryRows:
        return collector.to_rows(names, types, time.monotonic() - self._start_time, affected)


def out_of_time(seconds: float) -> StatementFailure:
    return StatementFailure(
        f"The statement took longer than the {seconds:g} s that it may take. Ask for less: fewer rows, fewer joins.",
        fault=StatementFault.TIME,
    )


def bad_parameters(words: str) -> StatementFailure:
    return StatementFailure(words, fault=StatementFault.PARAMETERS)


def mismatched_names(names: Collection[str], values: Collection[str]) -> StatementFailure | None:
    """What is wrong where parameters of these names were given values of those."""
    for name in sorted({*names} - {*values}):
        return bad_parameters(f"No value was given for the parameter {name!r}.")
    for name in sorted({*values} - {*names}):
        return bad_parameters(f"The statement has no parameter {name!r}.")
    return None


Faults = Sequence[tuple[re.Pattern[str], StatementFault]]
"""What an engine's words mean; the group of a pattern, if it has one, is what they complain about."""


def failure(words: str, faults: Faults, find_position: Callable[[str], int | None]) -> StatementFailure:
    for pattern, fault in faults:
        if (found := pattern.search(words)) is not None:
            name = found[1] if pattern.groups else None
            return StatementFailure(
                words, find_position(name) if name else None, fault, name if fault in _NAMED_FAULTS else None
            )
    return StatementFailure(words)
