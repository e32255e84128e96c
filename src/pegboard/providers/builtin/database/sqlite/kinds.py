"""What a statement is, by its first word: read, written with, or refused with what to do instead."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from pegboard.core.database import Failed, Fault, Refused

from .tokens import Token


class Deed(Enum):
    READS = auto()
    EXPLAINS = auto()
    TELLS = auto()
    """A pragma: the authorizer knows which."""
    WRITES = auto()
    OPEN = auto()
    """`WITH` may begin either; the authorizer sees which it is."""


_DEEDS: Final = {
    "SELECT": Deed.READS,
    "VALUES": Deed.READS,
    "EXPLAIN": Deed.EXPLAINS,
    "PRAGMA": Deed.TELLS,
    "INSERT": Deed.WRITES,
    "REPLACE": Deed.WRITES,
    "UPDATE": Deed.WRITES,
    "DELETE": Deed.WRITES,
    "WITH": Deed.OPEN,
}
_INSTEAD: Final = "Write one SELECT, VALUES or WITH statement, or EXPLAIN QUERY PLAN before one."
OR_WRITE: Final = "Write one SELECT, VALUES, WITH, INSERT, UPDATE or DELETE statement."
READ_ONLY: Final = Refused("This statement changes rows, and the source is read-only.", _INSTEAD, is_write=True)
ONE: Final = Refused("More than one statement was given.", "Send one statement at a time.")
NOTHING: Final = Refused("There is no statement.", _INSTEAD)


_REFUSED: Final = frozenset(
    {"ALTER", "ANALYZE", "ATTACH", "BEGIN", "COMMIT", "CREATE", "DETACH", "DROP", "END", "REINDEX", "RELEASE"}
    | {"ROLLBACK", "SAVEPOINT", "VACUUM"}
)
_ELSEWHERE: Final = frozenset({"DESC", "DESCRIBE", "SHOW"})
_TABLES: Final = "search_schemas tells what there is, and so do sqlite_schema and PRAGMA table_info(name)."


def deed(given: Sequence[Token]) -> Deed | Refused | Failed:
    if not given:
        return NOTHING
    first = given[0]
    if (found := _DEEDS.get(first.value.upper())) is not None:
        return found
    if (word := first.value.upper()) in _REFUSED:
        return Refused(f"{word} statements are not run here.", _INSTEAD)
    known = f". SQLite has no {word}: {_TABLES}" if word in _ELSEWHERE else ""
    return Failed(f'near "{first.value}": syntax error{known}', first.start, Fault.SYNTAX)


def is_alone(given: Sequence[Token]) -> bool:
    """Whether nothing comes after the first semicolon: SQLite would leave it unread."""
    ends = next(
        (place for place, token in enumerate(given) if token.value == ";" and token.end - token.start == 1), None
    )
    return ends is None or all(token.value == ";" for token in given[ends:])
