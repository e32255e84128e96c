"""Opening a SQLite file: what keeps it from being opened, in words, and the limits under which it is."""

import os
import sqlite3
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pegboard.providers.builtin.database.box.main import Away

from .authorizer import Authorizer
from .functions import TABLE_FUNCTIONS
from .tokens import quoted

_HEAP: Final = 128 * 1024 * 1024
_LIMITS: Final = (
    (sqlite3.SQLITE_LIMIT_LENGTH, 32_000_000),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 400_000),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 5_000),
    (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 100),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 20),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
_HEADER: Final = b"SQLite format 3\x00"

NONE_KEPT: Final = 0
"""Statements that are kept compiled. The authorizer hears of a statement while it is compiled and not when it runs: one
that was kept would be judged no second time, and pass for whatever it was when it was asked first."""


def connected(path: str, *, writable: bool) -> sqlite3.Connection:
    """Raises `Away`."""
    trouble = _trouble(path)
    if trouble is not None:
        raise Away(trouble)
    address = f"file:{quote(path)}?mode={'rw' if writable else 'ro'}"
    try:
        connection = sqlite3.connect(
            address,
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=2.0,
            cached_statements=NONE_KEPT,
        )
    except sqlite3.Error as error:
        raise Away(opening(path, error)) from None
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").close()
    except sqlite3.Error as error:
        connection.close()
        raise Away(opening(path, error)) from None
    return connection


def _trouble(path: str) -> str | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return f"There is no file {path!r}. Check the path of the source, or create the database first."
    except OSError as error:
        return f"{path!r} cannot be opened: {error.strerror or error}."
    if stat.S_ISDIR(found.st_mode):
        return f"{path!r} is a folder. Name the database file in it."
    if not stat.S_ISREG(found.st_mode):
        return f"{path!r} is no ordinary file. Name a database file."
    try:
        with Path(path).open("rb") as file:
            begin = file.read(len(_HEADER))
    except OSError as error:
        return f"{path!r} cannot be read: {error.strerror or error}. Let the gateway's user read it."
    if begin and begin != _HEADER:
        return f"{path!r} is not a SQLite database: it begins with other bytes. Check the path, or decrypt it."
    return None


def opening(path: str, error: Exception) -> str:
    """Why a file cannot be used, and what to do."""
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
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


def limited(connection: sqlite3.Connection, authorizer: Authorizer) -> None:
    """From here on only what the authorizer lets through is compiled, and within limits."""
    for name in TABLE_FUNCTIONS:
        # Made known now, because SQLite writes into its own memory of the schema when it meets one first.
        _met(connection, name)
    for statement in (
        "PRAGMA trusted_schema = OFF",
        "PRAGMA cell_size_check = ON",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA cache_size = -16384",
        "PRAGMA mmap_size = 0",
        f"PRAGMA hard_heap_limit = {_HEAP}",
    ):
        connection.execute(statement).close()
    for what, most in _LIMITS:
        connection.setlimit(what, most)
    connection.set_authorizer(authorizer)


def meet(connection: sqlite3.Connection, virtual: Iterable[str]) -> None:
    """Virtual tables, for the same reason."""
    for name in virtual:
        _met(connection, quoted(name))


def _met(connection: sqlite3.Connection, table: str) -> None:
    try:
        connection.execute(f"EXPLAIN SELECT * FROM {table}").close()  # noqa: S608 - a name of our own
    except sqlite3.Error:
        # An older SQLite has not all of them.
        return
