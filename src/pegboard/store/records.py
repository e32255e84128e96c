"""Rows beside the policy that cannot be read: tickets, and the last uses of tokens and standing permissions.

They are no decisions and have no version. One that cannot be read is skipped, so nothing is allowed by it, and it is
named with the unreadable rows of the policy.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Table

from pegboard.core.unreadable import RevokesPermission, UnreadableRow

from . import schema
from .async_engine import AsyncConnection
from .calls import from_microseconds
from .raw_rows import UNREADABLE_ERRORS, check_types, describe_error, read_tables, stored_row
from .text import Row
from .tickets import ticket_of


def _use_of(row: Row) -> tuple[str, datetime]:
    return row["id"], from_microseconds(row["used_at"])


_VALUES: Final[Mapping[Table, Callable[[Row], Any]]] = {
    schema.tickets: ticket_of,
    schema.consent_uses: _use_of,
    schema.token_uses: _use_of,
}

TABLES: Final = tuple(_VALUES)


async def last_uses(connection: AsyncConnection, table: Table) -> Mapping[str, datetime]:
    found: dict[str, datetime] = {}
    for row in (await read_tables(connection, [table]))[table]:
        with suppress(*UNREADABLE_ERRORS):
            check_types(table, row)
            found.update([_use_of(row)])
    return found


def unreadable_records(rows: Mapping[Table, Sequence[Row]]) -> Iterator[UnreadableRow]:
    for each, value in _VALUES.items():
        for row in rows[each]:
            try:
                check_types(each, row)
                value(row)
            except UNREADABLE_ERRORS as error:
                yield UnreadableRow(stored_row(each, row), RevokesPermission(), describe_error(error))
