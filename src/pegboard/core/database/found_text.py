"""What a search over databases found, as plain text for small models: some lines a table.

Names and comments were written by anybody, so each is kept on its line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pegboard.core.folded import Json, JsonObject

from .table_text import one_line

_SAMPLES: Final = 5


def found_text(answer: JsonObject) -> str:
    """Of the answer that programs get."""
    blocks = ["\n".join(_table(each)) for each in _objects(answer.get("tables"))]
    notices = [one_line(str(each)) for each in _list(answer.get("notices"))]
    return "\n\n".join([*blocks, *notices]) or "Nothing was found."


def _table(table: Mapping[str, Json]) -> Iterator[str]:
    rows = table.get("rows_about")
    size = f", about {rows} rows" if isinstance(rows, int) else ""
    kind = "view" if table.get("is_view") else "table"
    comment = f": {_said(table, 'comment')}" if table.get("comment") else ""
    yield f"{kind} {_said(table, 'table')} in {_said(table, 'source')} ({_said(table, 'dialect')}{size}){comment}"
    for column in _objects(table.get("columns")):
        yield f"- {_column(column)}"
    if left := table.get("columns_left"):
        yield f"- … and {left} more columns"
    joins = [one_line(str(each)) for each in _list(table.get("joins"))]
    if joins:
        more = f"; and {table['joins_left']} more" if "joins_left" in table else ""
        yield f"joins: {'; '.join(joins)}{more}"
    yield f"example: {_said(table, 'example')}"


def _column(column: Mapping[str, Json]) -> str:
    key = ", key" if column.get("is_key") else ""
    comment = f" -- {_said(column, 'comment')}" if column.get("comment") else ""
    samples = [one_line(str(each)) for each in _list(column.get("samples"))]
    such = f" (such as {', '.join(samples[:_SAMPLES])})" if samples else ""
    return f"{_said(column, 'name')} {_said(column, 'type')}{key}{such}{comment}"


def _said(entry: Mapping[str, Json], member: str) -> str:
    return one_line(str(entry.get(member, "")))


def _list(value: Json | None) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _objects(value: Json | None) -> Iterator[Mapping[str, Json]]:
    return (each for each in _list(value) if isinstance(each, dict))
