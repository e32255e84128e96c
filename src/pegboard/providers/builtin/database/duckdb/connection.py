"""Opening a DuckDB file: the settings under which it is used, and why it cannot be opened."""

import datetime
import sys
import types
import zoneinfo
from typing import Final

import duckdb

from pegboard.providers.builtin.database.files import problem_with_file
from pegboard.providers.builtin.database.worker.errors import UnavailableError

_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "256MB",
    "max_temp_directory_size": "0MB",
    "threads": "2",
    # Without this, an unknown table is looked up among the Python variables of this process.
    "python_enable_replacements": "false",
}
_MAGIC: Final = b"DUCK"


def connect(path: str) -> duckdb.DuckDBPyConnection:
    """To the file itself, for reading. Raises `UnavailableError`."""
    _check(path)
    try:
        connection = duckdb.connect(path, read_only=True, config=_SETTINGS)
    except (duckdb.Error, OSError) as error:
        raise UnavailableError(explain_failed_opening(path, error)) from None
    provide_time_zones()
    return connection


def connect_to_memory() -> duckdb.DuckDBPyConnection:
    provide_time_zones()
    return duckdb.connect(":memory:", config=_SETTINGS)


def attach(connection: duckdb.DuckDBPyConnection, path: str, name: str) -> None:
    """The file, for reading, under this name. Raises `UnavailableError`."""
    _check(path)
    quoted_path = path.replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted_path}' AS {quote_name(name)} (READ_ONLY)")
    except (duckdb.Error, OSError) as error:
        raise UnavailableError(explain_failed_opening(path, error)) from None


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on nothing outside the database can be reached, and no setting can be changed."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def quote_name(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _check(path: str) -> None:
    if (problem := problem_with_file(path, "DuckDB", 8, _MAGIC)) is not None:
        raise UnavailableError(problem)


def explain_failed_opening(path: str, error: Exception) -> str:
    words = str(error).partition("\n")[0]
    if "set lock" in words.lower():
        return f"{path!r} is open in a process that writes it, and DuckDB lets nobody else read it. Close it there."
    if "version" in words.lower():
        return f"{path!r} was written by another version of DuckDB: {words}"
    return f"{path!r} cannot be opened: {words}"


class _TimeZone(zoneinfo.ZoneInfo):
    def localize(self, moment: datetime.datetime, is_dst: bool | None = False) -> datetime.datetime:
        return moment.replace(tzinfo=self)


def provide_time_zones() -> None:
    """DuckDB's Python client asks the package `pytz` for time zones. Where it is not installed, this process gets the
    standard library's under that name."""
    if "pytz" in sys.modules:
        return
    module = types.ModuleType("pytz")
    module.utc = _TimeZone("UTC")  # type: ignore[attr-defined]  # a module has what it is given
    module.timezone = _time_zone  # type: ignore[attr-defined]
    sys.modules["pytz"] = module


def _time_zone(name: str) -> datetime.tzinfo:
    try:
        return _TimeZone(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return _TimeZone("UTC")
