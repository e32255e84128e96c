"""What a PostgreSQL server says of a failure, as an answer that names nothing which the login may not read."""

import re
from typing import Final

import asyncpg

from pegboard.core.database import Failed, Fault, Rows
from pegboard.providers.builtin.database.unreadable import DENIED

from .privileges import OpenNames
from .statement import Name, Statement

_FAULTS: Final = {
    **dict.fromkeys(("42P01", "3F000"), Fault.NO_TABLE),
    **dict.fromkeys(("42P02", "08P01", "42P18"), Fault.PARAMETERS),
    **dict.fromkeys(("55P03", "40001", "40P01"), Fault.BUSY),
    **dict.fromkeys(("53200", "54001"), Fault.MEMORY),
    **{"42601": Fault.SYNTAX, "42703": Fault.NO_COLUMN, "57014": Fault.TIME},
}
_NAME: Final = re.compile(r'(?:relation|column) (?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s("]+))')
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r'"([^"]*)"')
_DENIED_OR_ABSENT: Final = frozenset({"42501", "42704", "3F000"})
"""A privilege that is missing; a type or something else, or a schema, that does not exist."""


def server_failure(error: BaseException) -> Failed:
    """The hint is the server's too. Details are left out, because they bring values of rows."""
    if not isinstance(error, asyncpg.PostgresError):
        return Failed(
            f"The connection to the server was lost: {error or type(error).__name__}.", None, Fault.UNAVAILABLE
        )
    state, message = error.sqlstate or "", str(getattr(error, "message", None) or error)
    hint, position = getattr(error, "hint", None), getattr(error, "position", None)
    fault = _FAULTS.get(state, Fault.UNAVAILABLE if state.startswith(("08", "57P")) else Fault.OTHER)
    named = _NAME.search(message) if fault in {Fault.NO_TABLE, Fault.NO_COLUMN} else None
    name = (named["quoted"] or named["bare"]) if named else None
    words = f"{message}. {hint}" if hint else message
    return Failed(words, int(position) - 1 if position else None, fault, name)


def discreet_failure(answer: Failed, state: str, statement: Statement, open_names: OpenNames) -> Failed:
    """The same answer for what is closed as for what does not exist: made from the statement and what is open."""
    if answer.fault is Fault.UNAVAILABLE:
        return answer
    # A name that WITH gives may also be that of a table with closed columns.
    given = statement.with_names - open_names.partial
    tables = [one for one in statement.tables if one.schema != "information_schema"]
    columns = {
        table: open_names.columns(table.schema, table.name)
        for table in tables
        if table.schema is not None or table.name not in given
    }
    for table, found in columns.items():
        if found is None:
            return _absent(table.written, table.position, Fault.NO_TABLE, columns)
    is_partial = any(table.name in open_names.partial for table in columns)
    if is_partial and not statement.has_rows:
        known = statement.defined.union(*(found or () for found in columns.values()))
        for name, position in statement.columns:
            if name not in known:
                return _absent(name, position, Fault.NO_COLUMN, columns)
    if state == "42501" and statement.writes:
        return Failed(DENIED)
    is_given = state == "42P01" and bool(statement.with_names)
    is_of_rows = statement.has_rows and (state.startswith("42") or answer.fault is Fault.PARAMETERS)
    is_of_columns = is_partial and (state in ("42702", "42703") or is_of_rows)
    if is_given or is_of_columns or state in _DENIED_OR_ABSENT:
        return _absent(None, None, Fault.OTHER, columns)
    foreign = next((found for found in _QUOTED.finditer(answer.message) if found[1] not in statement.text), None)
    if foreign is None:
        return answer
    # A value or a name that the statement does not hold: nothing between it and the last quote is shown.
    words = f'{answer.message[: foreign.start()]}"…"{answer.message[answer.message.rindex(chr(34)) + 1 :]}'
    return Failed(words, answer.position, answer.fault, answer.name)


def _absent(
    name: str | None, position: int | None, fault: Fault, columns: dict[Name, tuple[str, ...] | None]
) -> Failed:
    lists = "".join(f"; {table.written} has {', '.join(found)}" for table, found in columns.items() if found)
    what = "Something that the statement names" if name is None else repr(name)
    star = ", and * means every column" if name is None else ""
    at = position if position is not None and position >= 0 else None
    return Failed(f"{what} does not exist or cannot be read{star}{lists}", at, fault, name)


def names_closed(plan: Rows, statement: Statement, open_names: OpenNames | None) -> bool:
    """Whether a plan names something closed that the statement does not."""
    words = {word for row in plan.rows for value in row for word in _WORD.findall(str(value))}
    known = (*_WORD.findall(statement.text), "cost", "rows", "width", "on", "using")
    return open_names is not None and not open_names.closed.isdisjoint(words.difference(known))
