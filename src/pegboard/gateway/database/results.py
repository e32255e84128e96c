"""Answers of databases as results of the protocol: text for models, and values for programs."""

import re
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar

import anyio.to_thread
import msgspec

from pegboard.core.call import Noted, ToolFailed
from pegboard.core.database import Refused, Rows
from pegboard.core.database.source import Database
from pegboard.core.database.table_text import plan_text, table_text
from pegboard.core.tool import Json, JsonObject

T = TypeVar("T")
_IN_FOLDERS: Final = re.compile(r"'/(?:[^'\n]*/)?([^'/\n]+)'")
_ALONGSIDE: Final = 200
"""Rows from which on an answer is written beside the event loop."""

WHY_META_KEY: Final = "pegboard/database"
"""Under which a result tells a client's program why there are no rows."""


class FailureKind(Enum):
    FAILED = "failed"
    REFUSED = "refused"
    """It was not run, because of what it is."""
    AWAY = "away"
    """The database cannot be asked."""


def success_result(text: str, structured: JsonObject, said: str) -> Noted:
    body = {"content": [{"type": "text", "text": text}], "structuredContent": structured}
    return Noted(msgspec.json.encode(body), said=said)


def without_folders(text: str) -> str:
    """A caller is told of a file by its name alone: where it lies is its operator's to know."""
    return _IN_FOLDERS.sub(r"'\1'", text)


def failure_result(text: str, why: FailureKind = FailureKind.FAILED) -> ToolFailed:
    body: JsonObject = {"content": [{"type": "text", "text": text}], "isError": True}
    return ToolFailed(msgspec.json.encode({**body, "_meta": {WHY_META_KEY: why.value}}))


async def run_aside(rows: int, work: Callable[[], T]) -> T:
    """In a thread where it would hold up others."""
    return work() if rows < _ALONGSIDE else await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def rows_result(database: Database, answer: Rows, *, is_plan: bool = False) -> Noted:
    names = [column.name for column in answer.columns]
    structured: JsonObject = {
        "source": str(database.id),
        "columns": [
            {"name": each.name, "type": each.type, **({"written": [*each.formats]} if each.formats else {})}
            for each in answer.columns
        ],
        "rows": [[*row] for row in answer.rows],
        "row_count": len(answer.rows),
        "truncated": _truncated(answer, names),
        "milliseconds": round(answer.seconds * 1000, 1),
    }
    tell = plan_text if is_plan else table_text
    lines = [tell(names, answer.rows, answer.cut)] if names or answer.affected is None else []
    if answer.affected is not None:
        structured["changed_rows"] = answer.affected
        lines.append(f"{_counted(answer.affected)} changed.")
    return success_result("\n".join(lines), structured, _said(database, answer))


def refused_text(database: Database, answer: Refused) -> str:
    if answer.is_write and not database.writes:
        why = f"{database.id} may only be read, and this statement would change it."
        return f"Refused: {why} It has not run. Ask for what is there instead, or tell the user."
    stop = "" if answer.why.endswith((".", "!", "?")) else "."
    return f"Refused by {database.id}: {answer.why}{stop} {answer.fix}".rstrip()


def _truncated(answer: Rows, names: list[str]) -> Json:
    if answer.cut is None:
        return None
    cells: list[Json] = [{"row": row, "column": names[column], "bytes": size} for row, column, size in answer.cut.cells]
    told: JsonObject = {"more_rows": answer.cut.rows, **({"by": answer.cut.by} if answer.cut.by else {})}
    return {**told, **({"cut_values": cells} if cells else {})}


def _said(database: Database, answer: Rows) -> str:
    """For the record."""
    if answer.affected is not None:
        return f"{_counted(answer.affected)} of {database.id} changed."
    more = ", and there are more" if answer.cut is not None and answer.cut.rows else ""
    return f"{_counted(len(answer.rows))} of {database.id}{more}."


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"
