"""Errors of SQLite and denials of the authorizer, as answers."""

import re
import sqlite3
from collections.abc import Sequence
from typing import Final, assert_never

from pegboard.core.database import Answer, Failed, Fault, Refused
from pegboard.providers.builtin.database.unreadable import OTHERS

from .authorizer import Authorizer, Denial, Reason
from .functions import READ_PRAGMAS
from .statement import READ_ONLY, SEVERAL_STATEMENTS, Token, find_position, names_in

_FAULTS: Final = (
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
_WORD: Final = re.compile(r"\w+")
_NAMED_FAULTS: Final = (Fault.NO_TABLE, Fault.NO_COLUMN, Fault.NO_FUNCTION)
_NESTED_TOO_DEEPLY: Final = ("Expression tree is too large", "parser stack overflow")
_USE_KNOWN_TABLES: Final = "Read tables and views that search_schemas tells."
WRITES_BEYOND: Final = Refused(
    "The statement would read or write, by a trigger, a foreign key or a virtual table, more than this source shows.",
    OTHERS,
)
_READS_BEYOND: Final = Refused(
    "The statement would read, by a virtual table, more than this source shows.", _USE_KNOWN_TABLES
)
_ABOUT_CLOSED: Final = Failed("The statement fails on something that this source does not show.")


def explain_error(error: Exception, tokens: Sequence[Token], guard: Authorizer) -> Answer:
    """An error whose text names something closed that the statement does not name is not repeated."""
    words = str(error)
    if isinstance(error, sqlite3.Warning | sqlite3.ProgrammingError) and "one statement" in words:
        return SEVERAL_STATEMENTS
    if words.startswith(_NESTED_TOO_DEEPLY):
        return Failed(f"{words}. The statement is nested too deeply. Ask in simpler statements.", None, Fault.SYNTAX)
    own_words = {*_WORD.findall(" ".join(names_in(tokens)))}
    if guard.closed.is_mentioned_in(" ".join(word for word in _WORD.findall(words.lower()) if word not in own_words)):
        return _ABOUT_CLOSED
    for pattern, fault in _FAULTS:
        if (found := pattern.search(words)) is not None:
            name = found[1]
            position = find_position(tokens, name) if name else None
            return Failed(words, position, fault, name if fault in _NAMED_FAULTS else None)
    return Failed(words)


def explain_denial(denial: Denial, tokens: Sequence[Token], guard: Authorizer) -> Answer:
    name, may_write, owners = denial.name, guard.may_write, guard.owners
    match denial.reason:
        case Reason.WRITE if may_write and (owner := owners.get(name.lower())) is not None:
            return Refused(f"{name!r} is kept by {owner!r}, which alone writes it.", f"Write to {owner}.")
        case Reason.READ if guard.are_names_checked:
            # The statement compiled where nothing closed exists, so something else reads this.
            return WRITES_BEYOND if may_write else _READS_BEYOND
        case Reason.READ:
            return Failed(f"no such table: {name}", find_position(tokens, name), Fault.NO_TABLE, name)
        case Reason.WRITE if name.lower().startswith("sqlite_"):
            # SQLite registers a virtual table of its own in the schema when a statement first names it.
            return Refused("The statement reads what is not among the tables of the source.", _USE_KNOWN_TABLES)
        case Reason.WRITE if not may_write:
            return READ_ONLY
        case Reason.WRITE if guard.are_names_checked:
            return WRITES_BEYOND
        case Reason.WRITE:
            return Refused(f"{name!r} can only be read here.", "Write to a table all of whose columns are open.")
        case Reason.FUNCTION:
            return Refused(
                f"The function {name}() is not among those that a statement may use.",
                "Use functions that compute from their arguments alone.",
            )
        case Reason.PRAGMA if name.lower() in READ_PRAGMAS:
            return Refused(f"PRAGMA {name} can be read here, but not set.", "Leave the value out.")
        case Reason.PRAGMA:
            return Refused(
                f"PRAGMA {name} is not among those that may be used.",
                "Use table_list, table_info, index_list or foreign_key_list, or read sqlite_schema.",
            )
        case Reason.SCHEMA_CHANGE | Reason.OTHER:
            return Refused(
                "The statement changes the schema, the connection or its transaction.", "Write one SELECT statement."
            )
        case _:
            assert_never(denial.reason)
