"""What a PostgreSQL server says of a failure, as an answer that names nothing which the login may not read."""

import re
from typing import Any, Final

import asyncpg

from pegboard.core.database import Access, Failed, Fault
from pegboard.providers.builtin.database.unreadable import DENIED

from .privileges import Closed
from .statement import Name, Statement

_FAULTS: Final = {
    "42601": Fault.SYNTAX,
    "42P01": Fault.NO_TABLE,
    "3F000": Fault.NO_TABLE,
    "42703": Fault.NO_COLUMN,
    "42P02": Fault.PARAMETERS,
    "08P01": Fault.PARAMETERS,
    "42P18": Fault.PARAMETERS,
    "57014": Fault.TIME,
    "55P03": Fault.BUSY,
    "40001": Fault.BUSY,
    "40P01": Fault.BUSY,
    "53200": Fault.MEMORY,
    "54000": Fault.MEMORY,
    "54001": Fault.MEMORY,
}
_NAME: Final = re.compile(r'(?:relation|column|schema|type) (?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s("]+))')
_SCHEMA: Final = re.compile(r"permission denied for schema (\S+)")
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r'"([^"]*)"')
_BEYOND: Final = "The server refused the statement, in words that name more than it does."

_TABLES: Final = """
SELECT n.nspname, c.relname, ARRAY(SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid
        AND a.attnum > 0 AND NOT a.attisdropped AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
        ORDER BY a.attnum),
    pg_catalog.has_table_privilege(c.oid, 'SELECT'), pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE')
FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) WITH ORDINALITY k(schema, name, place)
LEFT JOIN LATERAL (SELECT c.* FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = k.name AND n.nspname = ANY (CASE WHEN k.schema IS NULL THEN pg_catalog.current_schemas(true)
        ELSE ARRAY[k.schema::name] END) AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname) LIMIT 1) c ON true
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY k.place
"""


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


async def discreet_failure(
    connection: Any,
    answer: Failed,
    error: BaseException | None,
    statement: Statement,
    text: str,
    access: Access,
    hidden: Closed,
) -> Failed:
    """The same answer for what is closed as for what does not exist."""
    state = getattr(error, "sqlstate", None) or ""
    if answer.fault is Fault.AWAY or connection.is_closed():
        return answer
    if connection.is_in_transaction():
        await connection.execute("ROLLBACK")
    tables = [one for one in statement.tables if one.schema not in ("information_schema", "pg_catalog")]
    rows = await connection.fetch(_TABLES, [one.schema for one in tables], [one.name for one in tables])
    readable: dict[str, list[str]] = {}
    partial: dict[str, list[str]] = {}
    for table, (schema, name, columns, is_whole, is_changed) in zip(tables, rows, strict=True):
        if schema is None or not (columns or is_whole or is_changed) or not access.opens(schema, name):
            return Failed(f'relation "{table.written}" does not exist', table.position, Fault.NO_TABLE, table.written)
        readable[table.name] = columns
        if not is_whole and columns:
            partial[table.name] = columns
    if partial:
        if (wrong := _unreadable_column(statement, readable, partial)) is not None:
            return wrong
        is_analysis = state.startswith("42") or answer.fault is Fault.PARAMETERS
        if state == "42501" or (is_analysis and _uses_rows(statement, partial)):
            some = "; ".join(f"{name} has {', '.join(columns)}" for name, columns in partial.items())
            return Failed(f"Not every column that the statement uses can be read, and * means all. Name them: {some}.")
    if (schema := _SCHEMA.match(answer.words)) is not None:
        name = schema[1].strip('"')
        return Failed(f'schema "{name}" does not exist', answer.position, Fault.NO_TABLE, name)
    if state == "42501":
        return Failed(DENIED, None, answer.fault)
    words = answer.words if state != "42703" else answer.words.split(". ")[0]
    if hidden.names.intersection(_WORD.findall(words)).difference(_WORD.findall(text)):
        return Failed(_BEYOND, answer.position, answer.fault)
    foreign = next((found for found in _QUOTED.finditer(words) if found[1] not in text), None)
    if foreign is not None:
        # A value or a name that the statement does not hold: nothing between it and the last quote is shown.
        words = f'{words[: foreign.start()]}"…"{words[words.rindex(chr(34)) + 1 :]}'
    return Failed(words, answer.position, answer.fault, answer.name)


def _unreadable_column(
    statement: Statement, readable: dict[str, list[str]], partial: dict[str, list[str]]
) -> Failed | None:
    """The first reference that means no column which can be read, be it closed or nowhere."""
    known = {column for columns in readable.values() for column in columns} | statement.defined
    is_known = statement.has_sources or len(readable) < len({one.name for one in statement.tables})
    for words, position in statement.columns:
        *before, column = words
        table = statement.aliases.get(before[-1]) if before else None
        if (
            column not in partial[table]
            if table in partial
            else not (before or is_known or column in known | {*statement.aliases})
        ):
            title = ".".join(words) if before else f'"{column}"'
            return Failed(
                f"column {title} does not exist", position if position >= 0 else None, Fault.NO_COLUMN, ".".join(words)
            )
    return None


def _uses_rows(statement: Statement, partial: dict[str, list[str]]) -> bool:
    """Whether it takes whole rows, in which a closed column is."""
    if statement.has_star:
        return True
    return any(statement.aliases.get(words[0]) in partial for words, _ in statement.columns if len(words) == 1)


def names_more(rows: Any, text: str, hidden: Closed | None) -> bool:
    """Whether a plan names something closed that the statement does not."""
    shown = {word for row in rows for value in row for word in _WORD.findall(str(value))}
    shown = shown.difference(_WORD.findall(text), ("cost", "rows", "width", "on", "using"))
    return hidden is not None and not hidden.names.isdisjoint(shown)


def refused_function(function: Name, is_defined: bool | None) -> tuple[str, str] | Failed:
    """`is_defined` tells whether somebody defined it in the database; None where there is no such function."""
    if is_defined is None:
        words = f"function {function.written}() does not exist"
        return Failed(words, function.position, Fault.NO_FUNCTION, function.written)
    if is_defined:
        why = f"{function.written}() was defined in this database, and what it does is not looked into here."
    else:
        why = f"{function.written}() does more than compute, or describes the server rather than its tables."
    return why, "Write the query without it."
