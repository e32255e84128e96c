"""Finds rows that cannot be read."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Integer,
    LargeBinary,
    Select,
    Table,
    and_,
    bindparam,
    cast,
    delete,
    func,
    literal_column,
    select,
)
from sqlalchemy.exc import DBAPIError

from pegboard.core.policy.unreadable_rows import CellValue, StoredRow
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.schema import DEFERRED, metadata
from pegboard.store.text import Row, SafeText, restore_text, storable_text

UNREADABLE_ERRORS: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RecursionError,
)
"""What reading a row can raise that is not what we wrote."""

_MAX_REASON: Final = 200


def stored_row(table: Table, row: Row) -> StoredRow:
    return StoredRow(table.name, tuple((column.name, row[column.name]) for column in table.primary_key))


def describe_error(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"a column holds no valid JSON (character {error.pos})"
        case RecursionError():
            return "a column holds JSON that is nested too deeply"
        case KeyError():
            return f"{error} is missing or unknown"
        case _:
            return str(error)[:_MAX_REASON].rstrip(".") or type(error).__name__


def check_types(table: Table, row: Row) -> None:
    """Raises for a value that its column cannot hold. PostgreSQL lets none in."""
    for column in _columns(table):
        value = row[column.name]
        if value is None:
            if not column.nullable:
                raise ValueError(f"the column {column.name!r} is empty")
        elif type(value) is not _python_type(column.type):
            raise ValueError(f"the column {column.name!r} does not hold what it should")


def _python_type(kind: object) -> type[object]:
    return bool if isinstance(kind, Boolean) else int if isinstance(kind, Integer) else str


def _columns(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if DEFERRED not in column.info]


async def read_tables(connection: AsyncConnection, tables: Sequence[Table]) -> dict[Table, Sequence[Row]]:
    """All rows, without deferred columns. Where a value of a table is not of its column's type, its values are read as
    they are."""
    if connection.dialect.name != "sqlite":
        return {table: await _typed_rows(connection, table) for table in tables}
    # Most tables of most stores are empty: one statement tells which are not, and where a type is odd.
    survey = (await connection.exec_driver_sql(_survey_of(tuple(tables)))).one()
    found: dict[Table, Sequence[Row]] = {}
    for place, table in enumerate(tables):
        has_rows, has_odd_types = survey[2 * place], survey[2 * place + 1]
        found[table] = await _rows(connection, table, has_odd_types=has_odd_types) if has_rows else ()
    return found


async def _rows(connection: AsyncConnection, table: Table, *, has_odd_types: bool) -> Sequence[Row]:
    if not has_odd_types:
        try:
            return await _typed_rows(connection, table)
        except (DBAPIError, *UNREADABLE_ERRORS) as error:
            if not _is_about_a_value(error):
                raise
    return await _raw_rows(connection, table)


async def _typed_rows(connection: AsyncConnection, table: Table) -> Sequence[Row]:
    columns = _columns(table)
    names = [column.name for column in columns]
    return [dict(zip(names, row, strict=True)) for row in (await connection.execute(select(*columns))).all()]


async def selected_rows(connection: AsyncConnection, table: Table, chosen: Select[Any]) -> Sequence[Row]:
    """The chosen rows of a table. Where the engine cannot hand one over, it is left out."""
    try:
        return [dict(row) for row in (await connection.execute(chosen)).mappings()]
    except (DBAPIError, *UNREADABLE_ERRORS) as error:
        if not _is_about_a_value(error):
            raise
    rowid: ColumnElement[int] = literal_column("rowid", Integer)
    found: list[Row] = []
    for number in (
        (await connection.execute(chosen.with_only_columns(rowid, maintain_column_froms=True))).scalars().all()
    ):
        try:
            row = (await connection.execute(select(table).where(rowid == number))).mappings().one()
        except (DBAPIError, *UNREADABLE_ERRORS) as error:
            if not _is_about_a_value(error):
                raise
        else:
            found.append(dict(row))
    return found


def _is_about_a_value(error: Exception) -> bool:
    """Whether a value could not be read, and not the database. It happens with SQLite alone."""
    return not isinstance(error, DBAPIError) or "decode" in str(error.orig).lower()


@cache
def _survey_of(tables: tuple[Table, ...]) -> str:
    """For SQLite: for each table whether it has rows, and whether one of them has a value of an odd type."""
    found = []
    for table in tables:
        rows = f'SELECT 1 FROM "{table.name}"'  # noqa: S608 - names of our own schema
        odd = " OR ".join(condition for column in _columns(table) for condition in _odd_types(column))
        found += [f"EXISTS ({rows})", f"EXISTS ({rows} WHERE {odd})"]
    return f"SELECT {', '.join(found)}"


def _odd_types(column: Column[Any]) -> Iterator[str]:
    types = ["integer"] if isinstance(column.type, Boolean | Integer) else ["text"]
    types += ["null"] if column.nullable else []
    yield f"""typeof("{column.name}") NOT IN ({", ".join(f"'{each}'" for each in types)})"""
    if isinstance(column.type, Boolean):
        yield f'("{column.name}" IS NOT NULL AND "{column.name}" NOT IN (0, 1))'


async def _raw_rows(connection: AsyncConnection, table: Table) -> Sequence[Row]:
    cells = [
        cell
        for column in _columns(table)
        for cell in (
            func.typeof(literal_column(f'"{column.name}"')),
            cast(literal_column(f'"{column.name}"'), LargeBinary),
        )
    ]
    rows = (await connection.execute(select(*cells).select_from(table))).all()
    return [
        {
            column.name: _cell(row[2 * place], row[2 * place + 1], column.type)
            for place, column in enumerate(_columns(table))
        }
        for row in rows
    ]


def _cell(kind: str, content: bytes | None, column: object) -> CellValue | bool:
    if content is None or kind == "null":
        return None
    if kind in ("integer", "real"):
        number = int(content) if kind == "integer" else float(content)
        return bool(number) if isinstance(column, Boolean) and number in (0, 1) else number
    if kind != "text":
        return content
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content
    return restore_text(text) if isinstance(column, SafeText) else text


async def delete_row(connection: AsyncConnection, row: StoredRow) -> None:
    """By its key as the engine holds it, whatever that is."""
    table = metadata.tables[row.table]
    if connection.dialect.name != "sqlite":
        keys = [table.c[name] == bindparam(f"old_{name}", cell, type_=table.c[name].type) for name, cell in row.key]
        await connection.execute(delete(table).where(and_(*keys)))
        return
    raw = [
        literal_column(f'"{name}"').is_(None)
        if cell is None
        else cast(literal_column(f'"{name}"'), LargeBinary)
        == bindparam(f"old_{name}", _content(cell, table.c[name].type), type_=LargeBinary())
        for name, cell in row.key
    ]
    await connection.execute(delete(table).where(and_(*raw)))


def _content(cell: Any, kind: object) -> bytes:
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, str):
        return (storable_text(cell) if isinstance(kind, SafeText) else cell).encode()
    return str(cell).encode()
