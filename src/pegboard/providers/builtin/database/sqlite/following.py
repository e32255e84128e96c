"""What follows from a change of rows by triggers, where something is closed.

A statement is compiled on the shadow first, but the shadow has no triggers. So each change that sets one off is
compiled once on the file itself, with all that follows from it, and nothing is let through there but what the shadow
holds.
"""

import re
import sqlite3
from collections.abc import Iterator
from typing import Final

from .authorizer import MAIN, Authorizer, Change
from .joining import Joining
from .reading import Trigger, Whole
from .tokens import quoted, tokens

_DEEDS: Final = {
    "INSERT": sqlite3.SQLITE_INSERT,
    "UPDATE": sqlite3.SQLITE_UPDATE,
    "DELETE": sqlite3.SQLITE_DELETE,
}
_ROWID: Final = "rowid"
_UNSAFE: Final = re.compile('unsafe use of virtual table "(.+)"', re.DOTALL)


def following(
    file: sqlite3.Connection, guard: Authorizer, whole: Whole, shown: frozenset[str], joining: Joining
) -> frozenset[Change]:
    """The changes from which more follows than is shown. `shown` are names in small letters."""
    columns = {table.name.table.lower(): [each.name for each in table.columns] for table in whole.schema.tables}
    found = set[Change]()
    with guard.only(shown):
        for trigger in whole.triggers:
            table, deed = trigger.table.lower(), _deed(trigger)
            if table not in shown:
                continue
            is_further = joining.reaches(trigger.statement, shown)
            for column in _changed(deed, columns[table]):
                if is_further or not _compiles(file, guard, deed, trigger.table, column):
                    found.add((deed, table, column.lower()))
    return frozenset(found)


def _deed(trigger: Trigger) -> int:
    """What sets it off: the first such word in it that is no name."""
    return next(_DEEDS[word] for token in tokens(trigger.statement) for word in _DEEDS if token.says(word))


def _changed(deed: int, columns: list[str]) -> Iterator[str]:
    if deed != sqlite3.SQLITE_UPDATE:
        yield ""
        return
    yield from columns
    yield _ROWID


def _compiles(file: sqlite3.Connection, guard: Authorizer, deed: int, table: str, column: str) -> bool:
    name = f"{MAIN}.{quoted(table)}"
    match deed:
        case sqlite3.SQLITE_INSERT:
            change = f"INSERT INTO {name} DEFAULT VALUES"
        case sqlite3.SQLITE_DELETE:
            change = f"DELETE FROM {name}"  # noqa: S608 - names are quoted
        case _:
            change = f"UPDATE {name} SET {quoted(column)} = NULL"  # noqa: S608 - names are quoted
    guard.begin()
    try:
        file.execute(f"EXPLAIN {change}").close()
    except sqlite3.Error as error:
        # No trigger may use a virtual table, and that is what is told of one that is shown.
        found = _UNSAFE.fullmatch(str(error))
        return found is not None and not guard.denied and guard.is_shown(found[1].lower())
    return not guard.denied
