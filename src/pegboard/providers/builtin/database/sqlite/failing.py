"""What SQLite says when a statement fails, and what the authorizer denied, as answers."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from pegboard.core.database import Answer, Failed, Fault, Refused
from pegboard.providers.builtin.database.unreadable import OTHERS

from .authorizer import Denied, Why
from .functions import READ_PRAGMAS
from .kinds import ONE, READ_ONLY
from .tokens import Token, place

_FOUND: Final = (
    (re.compile(r"no such table: (.+)", re.DOTALL), Fault.NO_TABLE),
    (re.compile(r"no such column: (.+)", re.DOTALL), Fault.NO_COLUMN),
    (re.compile(r"cannot join using column (.+) - column not present in both tables", re.DOTALL), Fault.NO_COLUMN),
    (re.compile(r"table .+ has no column named (.+)", re.DOTALL), Fault.NO_COLUMN),
    (re.compile(r"no such function: (.+)", re.DOTALL), Fault.NO_FUNCTION),
    (re.compile(r'near "(.+)": syntax error', re.DOTALL), Fault.SYNTAX),
    (re.compile(r'unrecognized token: "(.+)"', re.DOTALL), Fault.SYNTAX),
    (re.compile(r"incomplete input()"), Fault.SYNTAX),
    (re.compile(r"(?:database (?:table )?is locked)()"), Fault.BUSY),
    (re.compile(r"(?:string or blob too big|out of memory)()"), Fault.MEMORY),
    (
        re.compile(r"(?:database disk image is malformed|file is not a database|disk I/O error|unable to open)()"),
        Fault.AWAY,
    ),
)
_DEEP: Final = ("Expression tree is too large", "parser stack overflow")
_NAMED: Final = (Fault.NO_TABLE, Fault.NO_COLUMN, Fault.NO_FUNCTION)
MIXED: Final = Refused(
    "The statement reads the schema and rows at once.", "Ask for the schema in one statement and for rows in another."
)
TABLES: Final = "Read tables and views that search_schemas tells."
BEYOND: Final = Refused(
    "The statement would read or write, by a trigger, a foreign key or a virtual table, more than this source shows.",
    OTHERS,
)
BENEATH: Final = Refused("The statement would read, by a virtual table, more than this source shows.", TABLES)


def failed(error: Exception, given: Sequence[Token]) -> Answer:
    words = str(error)
    if isinstance(error, sqlite3.Warning | sqlite3.ProgrammingError) and "one statement" in words:
        return ONE
    if words.startswith(_DEEP):
        return Failed(f"{words}. The statement is nested too deeply. Ask in simpler statements.", None, Fault.SYNTAX)
    for pattern, fault in _FOUND:
        if (found := pattern.search(words)) is not None:
            name = found[1]
            where = place(given, name) if name else None
            return Failed(words, where, fault, name if fault in _NAMED else None)
    return Failed(words)


def denied(
    first: Denied,
    given: Sequence[Token],
    *,
    is_foreseen: bool,
    may_write: bool,
    owners: Mapping[str, str] | None = None,
) -> Answer:
    """`is_foreseen`: the statement compiled where nothing is closed, so it reaches what is by a road of its own."""
    match first.why:
        case Why.WRITE if may_write and (owner := (owners or {}).get(first.name.lower())) is not None:
            return Refused(f"{first.name!r} is kept by {owner!r}, which alone writes it.", f"Write to {owner}.")
        case Why.READ if is_foreseen:
            return BEYOND if may_write else BENEATH
        case Why.READ:
            name = first.within or first.name
            return Failed(f"no such table: {name}", place(given, name), Fault.NO_TABLE, name)
        case Why.WRITE if first.name.lower().startswith("sqlite_"):
            # SQLite notes down a virtual table of its own when it is met first.
            return Refused("The statement reads what is not among the tables of the source.", TABLES)
        case Why.WRITE if not may_write:
            return READ_ONLY
        case Why.WRITE if is_foreseen or first.within is not None:
            return BEYOND
        case Why.WRITE:
            return Refused(f"{first.name!r} can only be read here.", "Write to a table all of whose columns are open.")
        case Why.FUNCTION:
            return Refused(
                f"The function {first.name}() is not among those that a statement may use.",
                "Use functions that compute from their arguments alone.",
            )
        case Why.PRAGMA if first.name.lower() in READ_PRAGMAS:
            return Refused(f"PRAGMA {first.name} can be read here, but not set.", "Leave the value out.")
        case Why.PRAGMA:
            return Refused(
                f"PRAGMA {first.name} is not among those that may be used.",
                "Use table_list, table_info, index_list or foreign_key_list, or read sqlite_schema.",
            )
        case Why.DEFINES | Why.OTHER:
            return Refused(
                "The statement changes the schema, the connection or its transaction.", "Write one SELECT statement."
            )
        case _:
            assert_never(first.why)
