"""Values of which the driver makes less than they are, asked for as DuckDB itself writes them.

Its intervals come as days and less, though a month is not thirty of them, and its nanoseconds without the last three
digits.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

_PART: Final = re.compile(r"(-?\d+) (year|month|day)s?")
_CLOCK: Final = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?$")
_LETTERS: Final = {"year": "Y", "month": "M", "day": "D"}


def duration(text: str) -> str:
    """`1 month 3 days -00:00:05` as ISO 8601 has it, signs as PostgreSQL puts them: `P1M3DT-5S`."""
    days = "".join(f"{number}{_LETTERS[unit]}" for number, unit in _PART.findall(text))
    found = _CLOCK.search(text)
    clock = "" if found is None else _clock(*found.groups(default=""))
    return f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"


def _clock(sign: str, hours: str, minutes: str, seconds: str, fraction: str) -> str:
    exact = f"{int(seconds)}.{fraction}".rstrip("0").rstrip(".") if fraction else str(int(seconds))
    parts = {"H": str(int(hours)), "M": str(int(minutes)), "S": exact}
    return "".join(f"{sign}{number}{unit}" for unit, number in parts.items() if number != "0")


def _moment(text: str) -> str:
    return text.replace(" ", "T", 1) if text[:1].isdigit() and "(" not in text else text


_WRITERS: Final[dict[str, Callable[[str], str]]] = {"INTERVAL": duration, "TIMESTAMP_NS": _moment}


def asked_exactly(statement: str, types: Sequence[str]) -> str | None:
    """The same rows with such columns as text; `None` where there are none."""
    if not any(each in _WRITERS for each in types):
        return None
    columns = ", ".join(
        f"CAST(#{place} AS VARCHAR)" if each in _WRITERS else f"#{place}" for place, each in enumerate(types, 1)
    )
    return f"SELECT {columns} FROM ({statement.rstrip().rstrip(';')}\n)"  # noqa: S608 - the statement was judged, and is no more than a part of this one


def written(rows: Sequence[tuple[object, ...]], types: Sequence[str]) -> list[tuple[object, ...]]:
    """Rows that were asked for so."""
    writers = [_WRITERS.get(each) for each in types]
    return [
        tuple(
            write(value) if write is not None and isinstance(value, str) else value
            for write, value in zip(writers, row, strict=True)
        )
        for row in rows
    ]
