"""Opening a DuckDB file: what keeps it from being opened, in words, and the settings under which it is."""

import os
import stat
from pathlib import Path
from typing import Final

import duckdb

from pegboard.providers.builtin.database.box.main import Away

from . import zones

_MEMORY: Final = "256MB"
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": _MEMORY,
    "max_temp_directory_size": "0MB",
    "threads": "2",
    # Else a table that is not there is looked for among our own variables.
    "python_enable_replacements": "false",
}
_MAGIC: Final = b"DUCK"


def connected(path: str) -> duckdb.DuckDBPyConnection:
    """To the file itself, to be read. Raises `Away`."""
    if (trouble := _trouble(path)) is not None:
        raise Away(trouble)
    try:
        connection = duckdb.connect(path, read_only=True, config=_SETTINGS)
    except (duckdb.Error, OSError) as error:
        raise Away(opening(path, error)) from None
    zones.lend()
    return connection


def alone() -> duckdb.DuckDBPyConnection:
    """To a database in memory."""
    zones.lend()
    return duckdb.connect(":memory:", config=_SETTINGS)


def attach(connection: duckdb.DuckDBPyConnection, path: str, name: str) -> None:
    """The file, to be read, under a name. Raises `Away`."""
    if (trouble := _trouble(path)) is not None:
        raise Away(trouble)
    quoted = path.replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted}' AS {quote(name)} (READ_ONLY)")
    except (duckdb.Error, OSError) as error:
        raise Away(opening(path, error)) from None


def locked(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on nothing outside is in reach, and no setting can be changed."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _trouble(path: str) -> str | None:
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            return f"{path!r} is a folder. Name the database file in it."
        if not stat.S_ISREG(found.st_mode):
            return f"{path!r} is no ordinary file. Name a database file."
        with Path(path).open("rb") as file:
            begin = file.read(12)
    except FileNotFoundError:
        return f"There is no file {path!r}. Check the path of the source, or create the database first."
    except OSError as error:
        return f"{path!r} cannot be read: {error.strerror or error}. Let the gateway's user read it."
    if begin[8:12] != _MAGIC:
        return f"{path!r} is not a DuckDB database: it begins with other bytes. Check the path."
    return None


def opening(path: str, error: Exception) -> str:
    words = str(error).partition("\n")[0]
    if "set lock" in words.lower():
        return f"{path!r} is open in a process that writes it, and DuckDB lets nobody else read it. Close it there."
    if "version" in words.lower():
        return f"{path!r} was written by another version of DuckDB: {words}"
    return f"{path!r} cannot be opened: {words}"
