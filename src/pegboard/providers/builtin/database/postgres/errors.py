"""What a PostgreSQL server says of a failure, as an answer that names nothing which the login may not read."""

import re
from typing import Final

import asyncpg

from pegboard.core.database import Failed, Fault, Rows
from pegboard.providers.builtin.database.unreadable import DENIED

from .privileges import OpenNames
from .statement import Name, Statement

_FAULTS: Final = {
    state: fault
    for fault, states in {
        Fault.SYNTAX: "42601",
        Fault.NO_TABLE: "42P01 3F000",
        Fault.NO_COLUMN: "42703",
        Fault.PARAMETERS: "42P02 08P01 42P18",
        Fault.TIME: "57014",
        Fault.BUSY: "55P03 40001 40P01",
        Fault.MEMORY: "53200 54000 54001",
    }.items()
    for state in states.split()
}
_NAME: Final = re.compile(r'(?:relation|column) (?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s("]+))')
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r'"([^"]*)"')
_DENIED_OR_ABSENT: Final = frozenset({"42501", "42704", "3F000"})
"""A privilege that is missing; a type or something else, or a schema, that does not exist."""


def server_failure(error: BaseException) -> Failed:
    """The hint is the server's too. Details are left out, because they bring values of rows."""
    if not isinstance(error, asyncpg.PostgresError):
        return Failed(f"The connection to the server was lost: {error or type(error).__name__}.", None, Fault.AWAY)
    state, said = error.sqlstate or "", str(getattr(error, "message", None) or error)
    hint, at = getattr(error, "hint", None), getattr(error, "position", None)
    words = f"{said}. {hint}" if hint else said
    fault = _FAULTS.get(state, Fault.AWAY if state.startswith(("08", "57P")) else Fault.OTHER)
    if state == "54000" and "character" in words:
        # A limit of what a text can hold, not of how much.
        words = f"{words}. chr() makes characters that a text can hold: not 0, none beyond the encoding"
        fault = Fault.OTHER
    named = _NAME.search(said) if fault in {Fault.NO_TABLE, Fault.NO_COLUMN} else None
    name = (named["quoted"] or named["bare"]) if named else None
    return Failed(words, int(at) - 1 if at else None, fault, name)


def discreet_failure(answer: Failed, state: str, statement: Statement, open_names: OpenNames) -> Failed:
    """The same answer for what is closed as for what does not exist: made from the statement and what is open."""
    if answer.fault is Fault.AWAY:
        return answer
    tables = [one for one in statement.tables if not _is_elsewhere(one, statement, open_names)]
    columns = {table: open_names.columns(table.schema, table.name) for table in tables}
    for table, found in columns.items():
        if found is None:
            return _absent(table.written, table.position, Fault.NO_TABLE, columns)
    if any(table.name in open_names.partial for table in tables):
        if (wrong := _unknown_column(statement, columns)) is not None:
            return _absent(".".join(wrong[0]), wrong[1], Fault.NO_COLUMN, columns)
        has_rows = statement.has_rows or any(
            len(words) == 1 and words[0] in statement.aliases for words, _ in statement.columns
        )
        is_analysis = state.startswith("42") or answer.fault is Fault.PARAMETERS
        if state in ("42703", "42702") or (is_analysis and has_rows):
            return _absent(None, None, Fault.OTHER, columns)
    is_open = state == "42P01" and bool(statement.with_names)
    if is_open or state in _DENIED_OR_ABSENT or statement.has_unknown_type:
        return Failed(DENIED) if statement.writes else _absent(None, None, Fault.OTHER, columns)
    foreign = next((found for found in _QUOTED.finditer(answer.words) if found[1] not in statement.text), None)
    if foreign is None:
        return answer
    # A value or a name that the statement does not hold: nothing between it and the last quote is shown.
    words = f'{answer.words[: foreign.start()]}"…"{answer.words[answer.words.rindex(chr(34)) + 1 :]}'
    return Failed(words, answer.position, answer.fault, answer.name)


def _is_elsewhere(table: Name, statement: Statement, open_names: OpenNames) -> bool:
    """A name that WITH gives may also be that of a table with closed columns."""
    is_given = table.schema is None and table.name in statement.with_names
    return table.schema == "information_schema" or (is_given and table.name not in open_names.partial)


def _absent(
    name: str | None, position: int | None, fault: Fault, columns: dict[Name, tuple[str, ...] | None]
) -> Failed:
    known = {table.written: ", ".join(found) for table, found in columns.items() if found}
    lists = "".join(f"; {table} has {names}" for table, names in known.items())
    what = "Something that the statement names" if name is None else repr(name)
    star = ", and * means every column" if name is None else ""
    at = position if position is not None and position >= 0 else None
    return Failed(f"{what} does not exist or cannot be read{star}{lists}", at, fault, name)


def _unknown_column(
    statement: Statement, columns: dict[Name, tuple[str, ...] | None]
) -> tuple[tuple[str, ...], int] | None:
    """The first reference that means no column which can be read."""
    known = {name for found in columns.values() for name in found or ()} | statement.defined | {*statement.aliases}
    is_all = not statement.has_rows and len(columns) == len(set(statement.tables))
    for words, position in statement.columns:
        table = statement.aliases.get(words[-2]) if len(words) > 1 else None
        if len(words) == 1 and is_all and words[0] not in known:
            return words, position
        if table is not None and words[-1] not in (columns.get(table) or (words[-1],)):
            return words, position
    return None


def names_closed(plan: Rows, statement: Statement, open_names: OpenNames | None) -> bool:
    """Whether a plan names something closed that the statement does not."""
    words = {word for row in plan.rows for value in row for word in _WORD.findall(str(value))}
    known = (*_WORD.findall(statement.text), "cost", "rows", "width", "on", "using")
    return open_names is not None and not open_names.closed.isdisjoint(words.difference(known))
