"""Answers to failures of a MySQL or MariaDB server: what a login may not read is like what does not exist."""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pegboard.core.database import Access, Failed, Fault
from pegboard.providers.builtin.database.unreadable import DENIED, REFERRED, REFERS, TWICE

ReadableColumns: TypeAlias = Callable[[str], Sequence[str]]
"""The columns of a table that the login may read, by the table's name."""

_FAULTS: Final = {
    **dict.fromkeys((1317, 1969, 3024), Fault.TIME),
    **dict.fromkeys((1205, 1213), Fault.BUSY),
    **dict.fromkeys((1037, 1038, 1041), Fault.MEMORY),
    **dict.fromkeys((2006, 2013), Fault.AWAY),
    1305: Fault.NO_FUNCTION,
}
_DISCREET: Final = {
    1062: TWICE,
    **dict.fromkeys((1216, 1452), REFERS),
    **dict.fromkeys((1217, 1451), REFERRED),
    **dict.fromkeys((1345, 1356), "A view of the statement reads what the user of this source may not."),
}
"""Where something is closed: the server names keys, constraints and tables that the statement does not."""
_DATABASE: Final = re.compile(r"(?:Unknown database|to database) '(?P<name>.*)'")
_TABLE: Final = re.compile(r"(?:Table|for table) ['`](?P<name>.*)['`](?: doesn't exist)?$")
_COLUMN: Final = re.compile(r"(?:Unknown column|for column) '(?P<name>.*?)' in (?:table '(?P<table>.*)')?")


def failure(error: BaseException, access: Access, text: str, readable: ReadableColumns) -> Failed:
    number = error.args[0] if error.args and isinstance(error.args[0], int) else None
    words = str(error.args[1] if len(error.args) > 1 else error)
    is_select = words.startswith("SELECT")
    match number:
        case 1064:
            near = re.search(r" near '(?P<text>.+)' at line \d+$", words, re.DOTALL)
            position = text.find(near["text"]) if near and text.count(near["text"]) == 1 else -1
            return Failed(words, None if position < 0 else position, Fault.SYNTAX)
        case 1044 | 1049 if found := _DATABASE.search(words):
            return Failed(f"Unknown database '{found['name']}'", None, Fault.NO_TABLE, found["name"])
        case 1142 | 1146 if found := _TABLE.search(words):
            name = re.split(r"[`.]+", found["name"])[-1]
            columns = readable(name) if number == 1142 else ()
            if columns and not is_select:
                return Failed(DENIED, None, Fault.OTHER)
            if columns:
                advice = f"Not all columns of {name!r} can be read here. Name those that can: {', '.join(columns)}."
                return Failed(advice, None, Fault.NO_COLUMN)
            told = words if number == 1146 and access.is_whole else f"Table '{name}' doesn't exist"
            return Failed(told, None, Fault.NO_TABLE, name)
        case 1054 | 1143 if found := _COLUMN.search(words):
            name = found["name"].split(".")[-1]
            if number == 1143 and not is_select and name in readable(found["table"]):
                return Failed(DENIED, None, Fault.OTHER)
            told = words if number == 1054 and access.is_whole else f"Unknown column '{name}'"
            return Failed(told, None, Fault.NO_COLUMN, name)
        case 1305 if found := re.search(r"FUNCTION (?:.*\.)?(?P<name>\S+) does not exist", words):
            return Failed(words, None, Fault.NO_FUNCTION, found["name"])
        case 1370 if found := re.search(r"routine '(?:.*\.)?(?P<name>.*)'$", words):
            return Failed(f"FUNCTION {found['name']} does not exist", None, Fault.NO_FUNCTION, found["name"])
        case 1227:
            return Failed(DENIED, None, Fault.OTHER)
    if not access.is_whole and number in _DISCREET:
        return Failed(_DISCREET[number], None, Fault.OTHER)
    return Failed(words, None, _FAULTS.get(number, Fault.OTHER) if number is not None else Fault.AWAY)
