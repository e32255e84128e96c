"""What follows from a change of rows, though the statement does not name it: triggers, and what foreign keys do to
other tables or tell of them. Asked only of a statement that writes, where something is closed.

MariaDB tells whoever may change rows of a table that it has triggers; MySQL tells only whoever has TRIGGER.
"""

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from pegboard.core.database import Access
from pegboard.providers.builtin.database.unreadable import BY_KEY, BY_TRIGGER

from .asking import Ask, Pair, columns_of
from .reading import Reading
from .words import Unreadable

_TRIGGERS: Final = (
    "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = %s AND EVENT_OBJECT_TABLE = %s"
)
_MAY_KNOW: Final = """
SELECT 1 FROM information_schema.TABLE_PRIVILEGES
WHERE PRIVILEGE_TYPE = 'TRIGGER' AND TABLE_SCHEMA = %s AND TABLE_NAME = %s
UNION ALL SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES WHERE PRIVILEGE_TYPE = 'TRIGGER' AND TABLE_SCHEMA = %s
UNION ALL SELECT 1 FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'TRIGGER'
"""
_TO: Final = """
SELECT REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME, COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND REFERENCED_TABLE_NAME IS NOT NULL
"""
_FROM: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
WHERE REFERENCED_TABLE_SCHEMA = %s AND REFERENCED_TABLE_NAME = %s
"""


def written(reading: Reading) -> Iterator[tuple[str | None, str]]:
    """Schema and name of the tables whose rows may be changed: of those that stand side by side, any."""
    if reading.kind == "insert" or reading.tree is None:
        yield from ((named.schema, named.name) for named in reading.named if named.target)
        return
    for table in reading.tree.find_all(exp.Table):
        if table.find_ancestor(exp.Select) is None:
            schema = table.args.get("db")
            yield schema.name if schema is not None else None, table.name


def following(ask: Ask, reading: Reading, table: Pair, access: Access, *, is_mariadb: bool) -> Unreadable | None:
    """Why rows of this table are not changed by that statement; None where nothing else comes of it."""
    if ask(_TRIGGERS, table):
        return BY_TRIGGER
    if not is_mariadb and not ask(_MAY_KNOW, (*table, table[0])):
        return Unreadable(
            f"Whether {table[1]!r} has triggers is not told to the user of this source.",
            "Have its operator grant it TRIGGER on that table: nothing that is asked here creates one.",
        )
    inserts = reading.kind == "insert"
    replaces = inserts and any(word.upper == "DUPLICATE" for word in reading.words)
    changed = None if inserts else _changed(reading)
    if reading.kind != "delete":
        for schema, name, key, column in ask(_TO, table):
            if (changed is None or column.casefold() in changed) and not access.opens_column(schema, name, key):
                return BY_KEY
    if inserts and not replaces:
        return None
    return _referring(ask, table, None if reading.kind == "delete" else changed, access)


def _changed(reading: Reading) -> frozenset[str] | None:
    """The columns that an UPDATE sets, in small letters; None where that is not clear."""
    tree = reading.tree
    if not isinstance(tree, exp.Update):
        return None
    set_to = [one.this if isinstance(one, exp.EQ) else None for one in tree.expressions]
    if not all(isinstance(one, exp.Column) for one in set_to):
        return None
    return frozenset(one.name.casefold() for one in set_to if one is not None)


def _referring(ask: Ask, table: Pair, changed: frozenset[str] | None, access: Access) -> Unreadable | None:
    """What the server does to rows that refer to others it does at once, also in tables further on."""
    seen, waiting = {table}, [table]
    while waiting:
        one = waiting.pop()
        for schema, name, key in ask(_FROM, one):
            if one == table and changed is not None and key.casefold() not in changed:
                continue
            if (schema, name) in seen:
                continue
            columns = [row[2] for row in columns_of(ask, [(schema, name)])]
            if not access.opens(schema, name) or not all(access.opens_column(schema, name, each) for each in columns):
                return BY_KEY
            seen.add((schema, name))
            waiting.append((schema, name))
    return None
