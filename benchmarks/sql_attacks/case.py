"""One statement of a file of attacks: what it is, and what should become of it."""

import json
from dataclasses import dataclass
from pathlib import Path

from pegboard.core.model.databases import DatabaseAccess, NamePattern, parse_name_pattern

EXPECTED = ("refuse", "harmless", "bounded", "capped", "allow_or_refuse", "allow")


class BadFileError(Exception):
    """The file holds something else than attacks; the message says where."""


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    dialect: str
    sql: str
    expect: str
    """`refuse`, `harmless`, `bounded` and `capped` are attacks; `allow_or_refuse` is one that may be answered as
    long as nothing comes of it; `allow` must be answered."""
    why: str
    deny: tuple[str, ...] = ()
    """Patterns of what is closed while it runs. Files need not have them."""

    @property
    def access(self) -> DatabaseAccess:
        found = tuple(parse_name_pattern(each) for each in self.deny)
        return DatabaseAccess(deny=tuple(each for each in found if isinstance(each, NamePattern)))


def read(file: Path) -> tuple[Case, ...]:
    """Raises `BadFileError`."""
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFileError(f"{file}: {error}") from None
    if not isinstance(entries, list):
        raise BadFileError(f"{file}: expected a list of objects with id, dialect, sql and expect.")
    return tuple(_case(file, place, entry) for place, entry in enumerate(entries))


def _case(file: Path, place: int, entry: object) -> Case:
    match entry:
        case {"id": str(name), "dialect": str(dialect), "sql": str(sql), "expect": str(expect), **rest} if (
            expect in EXPECTED
        ):
            deny = rest.get("deny")
            patterns = tuple(map(str, deny)) if isinstance(deny, list) else ()
            return Case(name, dialect, sql, expect, str(rest.get("why", "")), patterns)
        case _:
            wanted = f"id, dialect, sql and expect (one of {', '.join(EXPECTED)})"
            raise BadFileError(f"{file}: entry {place} is no case: expected an object with {wanted}.")
