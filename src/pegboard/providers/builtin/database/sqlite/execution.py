"""The rows of a statement, under the limits."""

import sqlite3
from typing import Final

from pegboard.core.database import Catch, Limits, Rows
from pegboard.core.database.answered import answered
from pegboard.providers.builtin.database.worker.watch import Watch

from .statement import Bound

_TYPES: Final = {int: "integer", float: "real", str: "text", bytes: "blob"}


def fetch(connection: sqlite3.Connection, statement: str, values: Bound, limits: Limits, watch: Watch) -> Rows:
    """Raises as `sqlite3` does."""
    try:
        return _fetch(connection, statement, values, limits, watch)
    except sqlite3.OperationalError as error:
        if "Could not decode to UTF-8" not in str(error):
            raise
    # Text that is not UTF-8. Read again, each text by a function of ours, which is too slow to be the rule.
    connection.text_factory = decode_leniently
    try:
        return _fetch(connection, statement, values, limits, watch)
    finally:
        connection.text_factory = str


def _fetch(connection: sqlite3.Connection, statement: str, values: Bound, limits: Limits, watch: Watch) -> Rows:
    cursor = connection.execute(statement, values)
    try:
        names = [described[0] for described in cursor.description or ()]
        types, unknown = [""] * len(names), set(range(len(names)))
        catch = Catch(limits)
        while (wanted := catch.wanted) and (rows := cursor.fetchmany(wanted)):
            for row in rows if unknown else ():
                for place in [each for each in unknown if row[each] is not None]:
                    types[place] = _TYPES[type(row[place])]
                    unknown.discard(place)
            catch.take(rows)
    finally:
        cursor.close()
    return answered(names, types, catch, watch.seconds)


def decode_leniently(text: bytes) -> str:
    return text.decode("utf-8", "replace")
