"""One call's record to its row, and the questions people ask of the rows."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final, TypeAlias, assert_never

from sqlalchemy import ColumnElement, Dialect, Row, Select, insert, select, tuple_
from sqlalchemy.ext.asyncio.engine import AsyncConnection

from pegboard.core.call import (
    BadArguments,
    Call,
    CallRecord,
    Cancelled,
    Demanded,
    NeedsInput,
    ProviderFailed,
    Returned,
    ToolFailed,
    ToolIsLocked,
    UnknownTool,
    refusal_text,
)
from pegboard.core.ids import ToolId
from pegboard.core.status import sentence, status
from pegboard.core.tool import canonical
from pegboard.ports import AuditQuery, AuditRow

from .schema import calls
from .text import holdable, key, restored

Recorded: TypeAlias = tuple[int, str, str | None, str, str, str, str | None, str, str, int, int, int]
"""The columns of `calls` but the number, in order, ready for the driver."""

COLUMNS: Final = tuple(column.name for column in calls.columns if column.name != "number")
SAID_AT_MOST: Final = 2000
BLOCKS: Final = (500, 50)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def recorded(record: CallRecord) -> Recorded:
    """Arguments and results are left behind here, so a queue of records never holds them in memory."""
    call = record.call
    ended, said, result_bytes = _ended(record)
    return (
        microseconds(call.at),
        indexed(call.id),
        None if call.parent is None else indexed(call.parent),
        *_known(call.principal, call.client, call.name, record.tool),
        ended,
        "" if not said else holdable(said if len(said) <= SAID_AT_MOST else said[: SAID_AT_MOST - 1] + "…"),
        record.took // _MICROSECOND,
        _argument_bytes(call),
        result_bytes,
    )


@lru_cache(4096)
def _known(principal: str, client: str, name: str, tool: ToolId | None) -> tuple[str, str, str, str | None]:
    """Of texts that come again and again."""
    return indexed(principal), indexed(client), indexed(name), None if tool is None else indexed(str(tool))


def _ended(record: CallRecord) -> tuple[str, str, int]:
    """How it ended, what is said of it, and the size of its result."""
    match record.ended:
        case Returned(body):
            return "returned", "", len(body)
        case ToolFailed(body):
            return "tool_failed", "", len(body)
        case NeedsInput(body):
            return "needs_input", "", len(body)
        case Demanded(error):
            return "demanded", "", len(error)
        case ProviderFailed(why, may_have_run):
            return "provider_failed", f"{why.rstrip('.')}. The tool may have run." if may_have_run else why, 0
        case Cancelled():
            return "cancelled", "", 0
        case ToolIsLocked(_, reason):
            return status(reason).value, sentence(reason), 0
        case UnknownTool() as refusal:
            return "unknown_tool", refusal_text(refusal), 0
        case BadArguments(_, problems):
            # A problem may quote the argument, and arguments are not kept.
            return "bad_arguments", f"The arguments did not fit the tool. Problems: {len(problems)}.", 0
        case _:
            assert_never(record.ended)


def _argument_bytes(call: Call) -> int:
    if call.raw is not None:
        return len(call.raw)
    try:
        return len(canonical(call.arguments))
    except (TypeError, ValueError, RecursionError):
        return 0  # not JSON: then nothing that could have been sent to a tool has a size


def microseconds(at: datetime) -> int:
    """A time without a zone is this machine's: whoever asks for `since` may well leave it out."""
    return ((at.astimezone() if at.tzinfo is None else at) - _EPOCH) // _MICROSECOND


def indexed(text: str) -> str:
    """Clients choose some of these texts, and may choose megabytes."""
    return holdable(key(text))


def insertion(dialect: Dialect) -> str:
    """As text for the driver: binding each value by its type would cost more than the insertion itself."""
    return str(insert(calls).compile(dialect=dialect, column_keys=list(COLUMNS)))


async def inserted(connection: AsyncConnection, rows: Sequence[Recorded], one: str) -> None:
    """`one` is the statement for one row. SQLite gets many at a time: between two of its statements it gives way to the
    event loop, which has to be interrupted again for each next one."""
    done = 0
    for block in BLOCKS if connection.dialect.name == "sqlite" else ():
        statement = _insertion_of(block)
        while done + block <= len(rows):
            values = tuple(chain.from_iterable(rows[done : done + block]))
            await connection.exec_driver_sql(statement, values)
            done += block
    if done < len(rows):
        await connection.exec_driver_sql(one, list(rows[done:]))


@cache
def _insertion_of(rows: int) -> str:
    row = f"({', '.join('?' * len(COLUMNS))})"
    return f"INSERT INTO {calls.name} ({', '.join(COLUMNS)}) VALUES {', '.join([row] * rows)}"  # noqa: S608 - our own names


async def is_kept(connection: AsyncConnection, row: Recorded) -> bool:
    at, call_id, *_ = row
    kept = select(calls.c.number).where(calls.c.at == at, calls.c.call_id == call_id).limit(1)
    return (await connection.execute(kept)).scalar() is not None


async def asked(connection: AsyncConnection, query: AuditQuery) -> Sequence[AuditRow]:
    after: datetime | None = None
    if query.before is not None:
        found = (await connection.execute(select(calls.c.at).where(calls.c.number == query.before))).scalar()
        after = None if found is None else _time(found)
    return [_audit_row(row) for row in await connection.execute(question(query, after))]


def question(query: AuditQuery, page_after: datetime | None = None) -> Select[*tuple[Any, ...]]:
    """Newest first by when the call was asked for, from `since` up to but without `until`. `page_after` is the time of
    the record `query.before`; if that one is gone, its number alone must do."""
    narrow: list[ColumnElement[bool]] = []
    if query.tool is not None:
        narrow.append(calls.c.tool == indexed(query.tool))
    if query.principal is not None:
        narrow.append(calls.c.principal == indexed(query.principal))
    if query.ended is not None:
        narrow.append(calls.c.ended == holdable(query.ended))
    if query.since is not None:
        narrow.append(calls.c.at >= microseconds(query.since))
    if query.until is not None:
        narrow.append(calls.c.at < microseconds(query.until))
    if page_after is not None:
        narrow.append(tuple_(calls.c.at, calls.c.number) < (microseconds(page_after), query.before))
    elif query.before is not None:
        narrow.append(calls.c.number < query.before)
    return select(calls).where(*narrow).order_by(calls.c.at.desc(), calls.c.number.desc()).limit(max(query.limit, 0))


def _audit_row(row: Row[*tuple[Any, ...]]) -> AuditRow:
    number, at, call_id, parent_id, principal, client, name, tool, ended, said, *sizes = row
    return AuditRow(
        number,
        _time(at),
        restored(call_id),
        None if parent_id is None else restored(parent_id),
        restored(principal),
        restored(client),
        restored(name),
        None if tool is None else restored(tool),
        ended,
        restored(said),
        *sizes,
    )


def _time(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
