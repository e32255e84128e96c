"""One call's record, or one decision, to its row: the little that is taken at once, and the rest when it is written."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import chain
from secrets import token_hex
from typing import Final, TypeAlias, assert_never

from sqlalchemy import Dialect, func, insert, select

from pegboard.core.activity import CALL, REFUSAL, Decision
from pegboard.core.call import (
    BadArguments,
    Call,
    CallRecord,
    Cancelled,
    Demanded,
    NeedsInput,
    NotConfirmed,
    Noted,
    ProviderFailed,
    Returned,
    ToolFailed,
    ToolIsLocked,
    UnknownTool,
    refusal_text,
)
from pegboard.core.ids import ToolId
from pegboard.core.redact import Redaction, safe_text
from pegboard.core.status import sentence, status
from pegboard.core.tokens import roughly
from pegboard.core.tool import canonical

from .async_engine import AsyncConnection
from .keeping import kept
from .schema import calls
from .text import holdable, key

Taken: TypeAlias = tuple[
    int, str, str | None, str, str, str, str | None, str, str, int, int, int, str, int, bytes | None, bytes | None,
    str | None, int | None, bytes | None,
]  # fmt: skip
"""The columns of `calls` but the number, in order, up to `policy_version`; then how arguments and result begin, the
presentation, how long the gate took, and what is kept of the arguments in any case."""

Recorded: TypeAlias = tuple[
    int, str, str | None, str, str, str, str | None, str, str, int, int, int, str, int, int | None, int | None,
    str | None, str | None, str | None, int | None,
]  # fmt: skip
"""The columns of `calls` but the number, in order, ready for the driver."""

COLUMNS: Final = tuple(column.name for column in calls.columns if column.name != "number")
SAID_AT_MOST: Final = 2000
BLOCKS: Final = (500, 50)

SAMPLE: Final = 1024
"""Bytes of arguments and of a result that are looked at to estimate what they cost a model, when they are not kept."""
HEAD: Final = 16_384
"""The same when they are."""
_LATEST: Final = 100_000
_SHORT_ID: Final = 100
_TURN: Final = 100
"""Rows that are worked out at a stretch: meanwhile nobody else runs."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True)
class Keeping:
    """What of calls is kept beside the fact, and by which rule it is redacted. Nothing, unless the operator says so or
    the record itself tells it."""

    arguments: bool = False
    results: bool = False
    redaction: Redaction = field(default_factory=Redaction)


def taken(record: CallRecord, keeping: Keeping, *, whole: bool = True) -> Taken:
    """At once and cheap, because a call waits for it. Of arguments and results a bounded part is held until the row is
    written, so that a queue of records takes little memory; `whole` is false when many wait already."""
    call = record.call
    kind, ended, said, result = _ended(record)
    raw = call.raw if call.raw is not None else _written(call)
    first = HEAD if keeping.arguments and whole else SAMPLE
    second = HEAD if keeping.results and whole else SAMPLE
    return (
        microseconds(call.at),
        call.id if call.id.isalnum() and len(call.id) <= _SHORT_ID else indexed(call.id),
        None if call.parent is None else indexed(call.parent),
        *_known(call.principal, call.client, call.name, record.tool),
        ended,
        "" if not said else holdable(said if len(said) <= SAID_AT_MOST else said[: SAID_AT_MOST - 1] + "…"),
        record.took // _MICROSECOND,
        len(raw),
        len(result),
        kind,
        record.policy_version,
        raw if len(raw) <= first else raw[:first],
        result if len(result) <= second else result[:second],
        call.presentation or None,
        record.gate_us,
        record.told,
    )


def noted(decision: Decision) -> Taken:
    return (
        microseconds(decision.at),
        f"d-{token_hex(12)}",
        None,
        indexed(decision.by),
        "",
        "",
        None if decision.about is None else indexed(decision.about),
        indexed(decision.ended),
        holdable(safe_text(decision.said, SAID_AT_MOST)),
        0,
        0,
        0,
        indexed(decision.kind),
        decision.policy_version,
        None,
        None,
        None,
        None,
        None,
    )


def completed(rows: Sequence[Taken], keeping: Keeping) -> list[Recorded]:
    """Runs in a thread beside the event loop, and gives way to it every so often."""
    done: list[Recorded] = []
    keeps = keeping.arguments or keeping.results
    for start in range(0, len(rows), _TURN):
        if start:
            time.sleep(0)
        turn = rows[start : start + _TURN]
        done += (_completed(row, keeping) if keeps or row[18] is not None else _counted(row) for row in turn)
    return done


def _counted(row: Taken) -> Recorded:
    """Of which nothing is kept but what it cost."""
    arguments, result = row[14], row[15]
    if arguments is None or result is None:
        return (*row[:14], None, None, None, None, row[16], row[17])
    return row[:14] + (_tokens(arguments, row[10]), _tokens(result, row[11]), None, None, row[16], row[17])  # noqa: RUF005 - twice as fast


def _completed(row: Taken, keeping: Keeping) -> Recorded:
    argument_bytes, result_bytes, arguments, result, told = row[10], row[11], row[14], row[15], row[18]
    shown, size = (arguments, argument_bytes) if keeping.arguments else (told, len(told or b""))
    return (
        *row[:14],
        None if arguments is None else _tokens(arguments, argument_bytes),
        None if result is None else _tokens(result, result_bytes),
        kept(shown, size, keeping.redaction),
        kept(result, result_bytes, keeping.redaction) if keeping.results else None,
        row[16],
        row[17],
    )


def _tokens(head: bytes, size: int) -> int:
    return roughly(head) if len(head) == size else roughly(head[:SAMPLE]) * size // min(len(head), SAMPLE)


@lru_cache(4096)
def _known(principal: str, client: str, name: str, tool: ToolId | None) -> tuple[str, str, str, str | None]:
    """Of texts that come again and again."""
    return indexed(principal), indexed(client), indexed(name), None if tool is None else indexed(str(tool))


def _ended(record: CallRecord) -> tuple[str, str, str, bytes]:
    """Its kind, how it ended, what is said of it, and its result."""
    match record.ended:
        case Returned(body) as ended:
            return CALL, "returned", ended.said if isinstance(ended, Noted) else "", body
        case ToolFailed(body):
            return CALL, "tool_failed", "", body
        case NeedsInput(body):
            return CALL, "needs_input", "", body
        case Demanded(error):
            return CALL, "demanded", "", error
        case ProviderFailed(why, may_have_run):
            return CALL, "provider_failed", f"{why.rstrip('.')}. The tool may have run." if may_have_run else why, b""
        case Cancelled():
            return CALL, "cancelled", "", b""
        case ToolIsLocked(_, reason):
            return REFUSAL, status(reason).value, sentence(reason), b""
        case UnknownTool() as refusal:
            return REFUSAL, "unknown_tool", refusal_text(refusal), b""
        case BadArguments(_, problems):
            # A problem may quote the argument, and arguments are not kept but by the rule.
            return REFUSAL, "bad_arguments", f"The arguments did not fit the tool. Problems: {len(problems)}.", b""
        case NotConfirmed(_, how, _, ticket):
            return REFUSAL, how.value, "" if ticket is None else f"Ticket {ticket}.", b""
        case _:
            assert_never(record.ended)


def _written(call: Call) -> bytes:
    try:
        return canonical(call.arguments)
    except (TypeError, ValueError, RecursionError):
        return b""  # not JSON: then nothing that could have been sent to a tool has a size


def microseconds(at: datetime) -> int:
    """A time without a zone is this machine's: whoever asks for `since` may well leave it out."""
    return ((at.astimezone() if at.tzinfo is None else at) - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


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
    """Whether it is among the latest: a batch in doubt is tried again soon."""
    at, call_id, *_ = row
    among = select(func.max(calls.c.number) - _LATEST).scalar_subquery()
    found = select(calls.c.number).where(calls.c.number > among, calls.c.at == at, calls.c.call_id == call_id).limit(1)
    return (await connection.execute(found)).scalar() is not None
