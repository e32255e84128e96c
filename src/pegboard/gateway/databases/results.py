"""Database answers as tool results: text for models, values for programs."""

import re
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar

import anyio.to_thread
import msgspec

from pegboard.core.calls.call import AnnotatedSuccess, ToolFailure
from pegboard.core.databases.rows import QueryRows, StatementRefusal
from pegboard.core.databases.text import format_plan, format_table
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.databases import DatabaseSettings

T = TypeVar("T")
_PATH_IN_MESSAGE: Final = re.compile(r"'/(?:[^'\n]*/)?([^'/\n]+)'")
_OFF_LOOP_ROWS: Final = 200
"""Rows from which on an answer is written beside the event loop."""

WHY_META_KEY: Final = "pegboard/database"
"""Under which a result tells a client's program why there are no rows."""


class FailureKind(Enum):
    FAILED = "failed"
    REFUSED = "refused"
    """It was not run, because of what it is."""
    UNAVAILABLE = "away"
    """The database cannot be asked."""


def success_result(text: str, structured: JsonObject, said: str) -> AnnotatedSuccess:
    body = {"content": [{"type": "text", "text": text}], "structuredContent": structured}
    return AnnotatedSuccess(msgspec.json.encode(body), note=said)


def without_folders(text: str) -> str:
    """A caller is told of a file by its name alone: where it lies is its operator's to know."""
    return _PATH_IN_MESSAGE.sub(r"'\1'", text)


def failure_result(text: str, why: FailureKind = FailureKind.FAILED) -> ToolFailure:
    body: JsonObject = {"content": [{"type": "text", "text": text}], "isError": True}
    return ToolFailure(msgspec.json.encode({**body, "_meta": {WHY_META_KEY: why.value}}))


async def run_off_loop(rows: int, work: Callable[[], T]) -> T:
    """In a thread where it would hold up others."""
    return work() if rows < _OFF_LOOP_ROWS else await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def rows_result(database: DatabaseSettings, answer: QueryRows, *, is_plan: bool = False) -> AnnotatedSuccess:
    names = [column.name for column in answer.columns]
    structured: JsonObject = {
        "source": str(database.id),
        "columns": [
            {"name": each.name, "type": each.type, **({"written": [*each.formats]} if each.formats else {})}
            for each in answer.columns
        ],
        "rows": [[*row] for row in answer.rows],
        "row_count": len(answer.rows),
        "truncated": _truncation(answer, names),
        "milliseconds": round(answer.seconds * 1000, 1),
    }
    tell = format_plan if is_plan else format_table
    lines = [tell(names, answer.rows, answer.truncation)] if names or answer.affected_rows is None else []
    if answer.affected_rows is not None:
        structured["changed_rows"] = answer.affected_rows
        lines.append(f"{_row_count_text(answer.affected_rows)} changed.")
    return success_result("\n".join(lines), structured, _record_message(database, answer))


def refused_text(database: DatabaseSettings, answer: StatementRefusal) -> str:
    if answer.is_write and not database.writes:
        why = f"{database.id} may only be read, and this statement would change it."
        return f"Refused: {why} It has not run. Ask for what is there instead, or tell the user."
    stop = "" if answer.why.endswith((".", "!", "?")) else "."
    return f"Refused by {database.id}: {answer.why}{stop} {answer.fix}".rstrip()


def _truncation(answer: QueryRows, names: list[str]) -> Json:
    if answer.truncation is None:
        return None
    cells: list[Json] = [
        {"row": row, "column": names[column], "bytes": size} for row, column, size in answer.truncation.cells
    ]
    told: JsonObject = {
        "more_rows": answer.truncation.rows,
        **({"by": answer.truncation.limited_by} if answer.truncation.limited_by else {}),
    }
    return {**told, **({"cut_values": cells} if cells else {})}


def _record_message(database: DatabaseSettings, answer: QueryRows) -> str:
    """For the record."""
    if answer.affected_rows is not None:
        return f"{_row_count_text(answer.affected_rows)} of {database.id} changed."
    more = ", and there are more" if answer.truncation is not None and answer.truncation.rows else ""
    return f"{_row_count_text(len(answer.rows))} of {database.id}{more}."


def _row_count_text(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"
