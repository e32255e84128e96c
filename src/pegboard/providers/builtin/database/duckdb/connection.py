"""Opening a DuckDB file, and the settings under which it is used."""

import datetime
import sys
import types
import zoneinfo
from typing import Final

import duckdb

from pegboard.providers.builtin.database.unreadable import quote_name

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


def connect(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """To a file, for reading, or to memory. Raises as `duckdb` does."""
    provide_time_zones()
    return duckdb.connect(path, read_only=path != ":memory:", config=_SETTINGS)


def attach(connection: duckdb.DuckDBPyConnection, path: str, name: str) -> None:
    """The file, for reading, under this name. Raises as `duckdb` does."""
    quoted_path = path.replace("'", "''")
    connection.execute(f"ATTACH '{quoted_path}' AS {quote_name(name)} (READ_ONLY)")


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on nothing outside the database can be reached, and no setting can be changed."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


class _TimeZone(zoneinfo.ZoneInfo):
    def localize(self, moment: datetime.datetime, is_dst: bool | None = False) -> datetime.datetime:
        return moment.replace(tzinfo=self)


def provide_time_zones() -> None:
    """DuckDB's Python client asks the package `pytz` for time zones. Where it is not installed, this process gets the
    standard library's under that name."""
    if "pytz" not in sys.modules:
        module = types.ModuleType("pytz")
        module.__dict__.update(utc=_TimeZone("UTC"), timezone=_time_zone)
        sys.modules["pytz"] = module


def _time_zone(name: str) -> datetime.tzinfo:
    try:
        return _TimeZone(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return _TimeZone("UTC")
