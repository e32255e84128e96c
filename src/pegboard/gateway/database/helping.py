"""What a caller is told of a statement that failed: the database's own words, where, and what mends it."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import anyio.to_thread

from pegboard.core.database import Failed, Fault
from pegboard.core.database.hints import Hints, hints_for
from pegboard.core.database.table_text import one_line

from .answering import placeless
from .finding import SchemaFinder
from .source import Source

_BY_NAMES: Final = frozenset({Fault.NO_TABLE, Fault.NO_COLUMN, Fault.SYNTAX, Fault.OTHER})
"""Where it helps to be told what there is."""
_LONGEST: Final = 2_000
_NEXT: Final = {
    Fault.TIME: "Ask for less: fewer tables, a condition, or a total instead of rows.",
    Fault.MEMORY: "Ask for less: fewer rows, or shorter values.",
    Fault.BUSY: "Try again in a moment.",
    Fault.NO_FUNCTION: "Use one that the database has, and that may be used here.",
}


async def helped(finder: SchemaFinder, source: Source, statement: str, failed: Failed) -> str:
    plan = await finder.plan(source.database.id) if failed.fault in _BY_NAMES else None
    work = None if plan is None else partial(hints_for, plan, statement, failed.fault, failed.name)
    found = None if work is None else await anyio.to_thread.run_sync(work)
    return "\n".join(_lines(source, statement, failed, found))


def _lines(source: Source, statement: str, failed: Failed, found: Hints | None) -> Iterator[str]:
    words = placeless(failed.words) if failed.fault is Fault.AWAY else failed.words
    words = words if len(words) <= _LONGEST else words[:_LONGEST] + "…"
    yield f"{source.database.id} answers: {words}{_place(statement, failed.position)}"
    if (following := _NEXT.get(failed.fault)) is not None:
        yield following
    if found is None:
        return
    yield from found.sentences
    for table in found.tables:
        columns = table["columns"]
        assert isinstance(columns, list)
        left = f", and {table['columns_left']} more" if "columns_left" in table else ""
        yield one_line(f"{table['table']} has {', '.join(map(str, columns))}{left}")


def _place(statement: str, position: int | None) -> str:
    if position is None or not 0 <= position <= len(statement):
        return ""
    before = statement[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    return f" (line {line}, column {column})"
