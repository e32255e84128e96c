"""Opening a SQLite file, and the limits under which it is used."""

import sqlite3
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from pegboard.providers.builtin.database.unreadable import quote_name

from .authorizer import CATALOG, TABLE_FUNCTIONS, GuardedConnection

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


def connect(path: str | None, *, writable: bool = False) -> sqlite3.Connection:
    """To a file, or else to memory. Raises as `sqlite3` does."""
    address = ":memory:" if path is None else f"file:{quote(path)}?mode={'rw' if writable else 'ro'}"
    # The authorizer is asked when a statement is compiled and not when it runs: a cached one would not be judged again.
    connection = sqlite3.connect(
        address, uri=True, isolation_level=None, check_same_thread=False, timeout=2.0, cached_statements=0
    )
    # Text that is not UTF-8 is shown as far as it can be read.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").close()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def restrict(guard: GuardedConnection) -> None:
    """From here on only what the authorizer allows is compiled, and within limits."""
    register_virtual_tables(guard, (*TABLE_FUNCTIONS, *CATALOG))
    guard.execute_own(*_SETTINGS)
    for limit, value in _LIMITS:
        guard.connection.setlimit(limit, value)
    guard.connection.set_authorizer(guard)


def register_virtual_tables(guard: GuardedConnection, names: Iterable[str]) -> None:
    """Now, because SQLite asks the authorizer for a change of the schema when a statement first names one."""
    for name in names:
        try:
            guard.execute_own(f"EXPLAIN SELECT * FROM {quote_name(name)}")  # noqa: S608 - it is quoted
        except sqlite3.Error:
            # Older versions of SQLite lack some.
            continue
