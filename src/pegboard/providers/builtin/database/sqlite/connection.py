"""Opening a SQLite file, and the limits under which it is used."""

import sqlite3
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from pegboard.providers.builtin.database.files import problem_with_file
from pegboard.providers.builtin.database.worker.errors import UnavailableError

from .authorizer import Authorizer
from .functions import EPONYMOUS_TABLES
from .statement import quote_name

_MAX_HEAP_BYTES: Final = 128 * 1024 * 1024
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
_SETTINGS: Final = (
    # The authorizer judges the functions and virtual tables that views and triggers use, and triggers that keep a
    # full-text index up to date need this.
    "PRAGMA trusted_schema = ON",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
    "PRAGMA mmap_size = 0",
    f"PRAGMA hard_heap_limit = {_MAX_HEAP_BYTES}",
    # What a change reaches by a key is asked of the authorizer only so.
    "PRAGMA foreign_keys = ON",
)
_HEADER: Final = b"SQLite format 3\x00"

CACHED_STATEMENTS: Final = 0
"""The authorizer is asked when a statement is compiled and not when it runs: a cached one would not be judged again."""


def connect(path: str, *, writable: bool) -> sqlite3.Connection:
    """Raises `UnavailableError`."""
    problem = problem_with_file(path, "SQLite", 0, _HEADER, may_be_empty=True)
    if problem is not None:
        raise UnavailableError(problem)
    address = f"file:{quote(path)}?mode={'rw' if writable else 'ro'}"
    try:
        connection = sqlite3.connect(
            address,
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=2.0,
            cached_statements=CACHED_STATEMENTS,
        )
    except sqlite3.Error as error:
        raise UnavailableError(explain_failed_opening(path, error)) from None
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").close()
    except sqlite3.Error as error:
        connection.close()
        raise UnavailableError(explain_failed_opening(path, error)) from None
    return connection


def explain_failed_opening(path: str, error: Exception) -> str:
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


def restrict(connection: sqlite3.Connection, guard: Authorizer) -> None:
    """From here on only what the authorizer allows is compiled, and within limits."""
    with guard.paused():
        register_virtual_tables(connection, EPONYMOUS_TABLES)
        for statement in _SETTINGS:
            connection.execute(statement).close()
    for limit, value in _LIMITS:
        connection.setlimit(limit, value)
    connection.set_authorizer(guard)


def register_virtual_tables(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Now, because SQLite asks the authorizer for a change of the schema when a statement first names one."""
    for name in names:
        try:
            connection.execute(f"EXPLAIN SELECT * FROM {quote_name(name)}").close()  # noqa: S608 - it is quoted
        except sqlite3.Error:
            # Older versions of SQLite lack some.
            continue
