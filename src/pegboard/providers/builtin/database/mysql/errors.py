"""Answers to failures of a MySQL or MariaDB server: what a login may not read is like what does not exist."""

import re
from typing import Final

from pegboard.core.database import Failed, Fault
from pegboard.providers.builtin.database.unreadable import DENIED

from .privileges import MysqlCatalog
from .statement import Statement

_FAULTS: Final = {
    **dict.fromkeys((1317, 1969, 3024), Fault.TIME),
    **dict.fromkeys((1205, 1213), Fault.BUSY),
    **dict.fromkeys((1037, 1038, 1041), Fault.MEMORY),
    **dict.fromkeys((2006, 2013), Fault.UNAVAILABLE),
    **dict.fromkeys((1044, 1049, 1142, 1146), Fault.NO_TABLE),
    **dict.fromkeys((1052, 1054, 1143), Fault.NO_COLUMN),
    **dict.fromkeys((1305, 1370), Fault.NO_FUNCTION),
}
_BY_NAME: Final = (Fault.NO_TABLE, Fault.NO_COLUMN, Fault.NO_FUNCTION)
_NAME: Final = re.compile(
    r"(?:.*'@'.*?' (?:for|to) )?.*?(?:['`]|FUNCTION )(?P<name>.*?)(?:['`](?: in | doesn't|$)| does not exist$)",
    re.DOTALL,
)
"""What was not found, behind the name of the login."""
_NAMES_OTHERS: Final = frozenset({1062, 1216, 1217, 1345, 1356, 1451, 1452})
"""A key, a foreign key or a view: the server names keys, constraints and tables that the statement does not."""


def failure(error: BaseException, statement: Statement, text: str, catalog: MysqlCatalog) -> Failed:
    """`text` is the statement as it was sent."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 2013
    words = str(error.args[1] if len(error.args) > 1 else error)
    fault = _FAULTS.get(number, Fault.OTHER)
    if number == 1064:
        near = re.search(r" near '(?P<text>.+)' at line \d+$", words, re.DOTALL)
        position = text.find(near["text"]) if near and text.count(near["text"]) == 1 else -1
        return Failed(words, None if position < 0 else position, Fault.SYNTAX)
    if number == 1227:
        return Failed(DENIED)
    if fault in _BY_NAME and (found := _NAME.match(words)):
        name = re.split(r"[`.]+", found["name"])[-1]
        return _unknown(number, fault, name, words, statement, catalog)
    if not catalog.access.is_whole and number in _NAMES_OTHERS:
        return Failed("A key, a foreign key or a view of what the statement names does not allow it.")
    return Failed(words, None, fault)


def _unknown(number: int, fault: Fault, name: str, words: str, statement: Statement, catalog: MysqlCatalog) -> Failed:
    """The same for a name that is closed as for one that does not exist."""
    mentioned = {word.name for word in statement.words}
    columns = catalog.readable_columns({name.casefold()})
    is_readable = name.casefold() in catalog.readable_columns(mentioned)
    if not words.startswith("SELECT") and ((number == 1142 and columns) or (number == 1143 and is_readable)):
        return Failed(DENIED)
    if number == 1142 and columns:
        advice = f"Not all columns of {name!r} can be read here. Name those that can: {', '.join(columns)}."
        return Failed(advice, None, Fault.NO_COLUMN)
    if number in (1052, 1054, 1146, 1305) and (catalog.access.is_whole or (number == 1052 and is_readable)):
        return Failed(words, None, fault, name)
    if name.casefold() not in mentioned:
        return Failed("The statement names what does not exist or cannot be read.", None, fault)
    return Failed(f"{name!r} does not exist or cannot be read.", None, fault, name)
