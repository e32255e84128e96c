"""A statement that changes rows: on a connection of its own, in one transaction, whole or not at all."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from pegboard.core.database import Answer, Limits
from pegboard.providers.builtin.database.box.words import out_of_time

from .authorizer import Authorizer
from .binding import Bound
from .connecting import connected, limited, meet
from .failing import denied, failed
from .fetching import Watch, fetched
from .shadow import Shadow
from .tokens import Token


def written(
    path: str,
    reading: Authorizer,
    shown: Shadow | None,
    statement: str,
    given: Sequence[Token],
    values: Bound,
    limits: Limits,
    watch: Watch,
) -> Answer:
    """Raises `Away`."""
    connection = connected(path, writable=True)
    guard = Authorizer(
        reading.access, reading.known, reading.owners, reading.virtual, may_write=True, reaching=reading.reaching
    )
    try:
        limited(connection, guard)
        if shown is not None:
            shown.mask(connection, guard)
        # Bytes that are no text must not undo what was written only because it is told back.
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        with guard.ours():
            connection.execute("PRAGMA foreign_keys = ON").close()
            connection.execute("BEGIN IMMEDIATE").close()
            meet(connection, reading.virtual)
        guard.begin()
        with watch.over(connection):
            # What it writes itself is known once it is compiled; whatever comes later is a virtual table's own doing.
            connection.execute(f"EXPLAIN {statement}", values).close()
            guard.keepers = frozenset(guard.changed)
            guard.begin()
            rows = fetched(connection, statement, values, limits, watch)
            with guard.ours():
                affected = connection.execute("SELECT changes()").fetchone()[0] if guard.wrote else 0
                connection.execute("COMMIT").close()
        return replace(rows, affected=affected, seconds=watch.seconds)
    except (sqlite3.Error, sqlite3.Warning) as error:
        if guard.denied:
            return denied(guard.denied[0], given, is_foreseen=shown is not None, may_write=True, owners=guard.owners)
        return out_of_time(limits.seconds) if watch.is_over else failed(error, given)
    finally:
        # What was not committed is undone by this.
        connection.close()
