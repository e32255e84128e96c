"""Time zones for DuckDB's Python client, which asks the package `pytz`: here they are the standard library's."""

import datetime
import sys
import types
import zoneinfo


class _Zone(zoneinfo.ZoneInfo):
    def localize(self, moment: datetime.datetime, is_dst: bool | None = False) -> datetime.datetime:
        return moment.replace(tzinfo=self)


def lend() -> None:
    """To this process alone, and only where nobody brought `pytz`."""
    if "pytz" in sys.modules:
        return
    lent = types.ModuleType("pytz")
    lent.utc = _Zone("UTC")  # type: ignore[attr-defined]  # a module is what it is given
    lent.timezone = _zone  # type: ignore[attr-defined]
    sys.modules["pytz"] = lent


def _zone(name: str) -> datetime.tzinfo:
    try:
        return _Zone(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return _Zone("UTC")
