"""Audit records as rows: the little that is captured at once, and the rest at write time."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import chain
from secrets import token_hex
from typing import Final, TypeAlias, assert_never

from sqlalchemy import Dialect, func, insert, select

from pegboard.core.calls.activity import CALL, REFUSAL, DecisionRecord
from pegboard.core.calls.call import (
    AnnotatedSuccess,
    BadArguments,
    CallCancellation,
    CallRecord,
    ConfirmationRefusal,
    LockedToolRefusal,
    NeedsInput,
    ProtocolErrorReply,
    ProviderFailure,
    ToolCall,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
    refusal_text,
)
from pegboard.core.decision.status import explain_reason, status_of
from pegboard.core.json.values import Json
from pegboard.core.model.ids import ToolId
from pegboard.core.model.redaction import DisplayLimits, Redaction, hidden_placeholder, redact_line
from pegboard.core.model.text import truncate
from pegboard.core.model.tool import canonical_json
from pegboard.core.presentations.entries import estimate_tokens_roughly
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.schema import calls
from pegboard.store.text import index_key, storable_text

# Arguments and results as they are kept: redacted by rule, and cut. Whatever a tool sent, this ends soon.

MAX_KEPT_CHARS: Final = 2_000
"""Characters of arguments and of a result that are kept."""
REDACTION_BOUNDS: Final = DisplayLimits(text=1_000, total=MAX_KEPT_CHARS, members=40, levels=8)

_MAX_NESTED_TEXTS: Final = 3
"""A text within a result is often JSON again, seldom JSON of JSON of JSON."""

_MEMBER_PATTERNS: Final = (
    re.compile(r'("([^"\\]{1,100})"\s{0,8}:\s{0,8})(?:"(?:[^"\\]|\\.)*"?|[^,}\]\s"]+)', re.DOTALL),
    re.compile(
        r'(\\"([^"\\]{1,100})\\"\s{0,8}:\s{0,8})(?:\\"(?:[^"\\]|\\\\\\"|\\[^"])*(?:\\")?|[^,}\]\s"\\]+)', re.DOTALL
    ),
)
"""A member of JSON text, and of JSON within a text of JSON; it may break off."""


def redact_content(head: bytes | None, size: int, redaction: Redaction) -> str | None:
    """`head` is the beginning of JSON text of `size` bytes, or all of it. What is not read as JSON is kept as a text,
    without the values of members that have the name of a secret."""
    if head is None or not size:
        return None
    text = head.decode("utf-8", "replace")
    if len(head) == size:
        try:
            return _shorten(
                redaction.redact_to_text(_parse_nested(json.loads(text), redaction, 0), REDACTION_BOUNDS), size
            )
        except (ValueError, RecursionError):
            pass
    shown = redact_line(_redact_members(text, redaction), MAX_KEPT_CHARS)
    return _shorten(shown if len(head) == size else f"{shown}… ({size} bytes)", size)


def _redact_members(text: str, redaction: Redaction) -> str:
    for member in _MEMBER_PATTERNS:
        text = member.sub(
            lambda found: (
                f"{found[1]}{hidden_placeholder(found[0][len(found[1]) :])}"
                if redaction.hides(found[2], found[2])
                else found[0]
            ),
            text,
        )
    return text


def _parse_nested(value: Json, redaction: Redaction, level: int) -> Json:
    """Servers send JSON as the text of their results: read as what it is, its members have names."""
    match value:
        case str() if level < _MAX_NESTED_TEXTS and value.lstrip()[:1] in ("{", "["):
            try:
                return _parse_nested(json.loads(value), redaction, level + 1)
            except (ValueError, RecursionError):
                return _redact_members(value, redaction)
        case list():
            return [_parse_nested(item, redaction, level) for item in value]
        case dict():
            return {name: _parse_nested(item, redaction, level) for name, item in value.items()}
        case _:
            return value


def _shorten(text: str, size: int) -> str:
    most = 2 * MAX_KEPT_CHARS
    return storable_text(text if len(text) <= most else f"{text[:most]}… ({size} bytes)")


PendingAuditRow: TypeAlias = tuple[
    int, str, str | None, str, str, str, str | None, str, str, int, int, int, str, int, bytes | None, bytes | None,
    str | None, int | None, bytes | None,
]  # fmt: skip
"""The columns of `calls` but the number, in order, up to `policy_version`; then how arguments and result begin, the
presentation, how long the gate took, and what is kept of the arguments in any case."""

FinishedAuditRow: TypeAlias = tuple[
    int, str, str | None, str, str, str, str | None, str, str, int, int, int, str, int, int | None, int | None,
    str | None, str | None, str | None, int | None,
]  # fmt: skip
"""The columns of `calls` but the number, in order, ready for the driver."""

AUDIT_COLUMNS: Final = tuple(column.name for column in calls.columns if column.name != "number")
MAX_MESSAGE_LENGTH: Final = 2000
INSERT_BLOCK_SIZES: Final = (100, 10)

SAMPLE_BYTES: Final = 1024
"""Bytes of arguments and of a result that are looked at to estimate what they cost a model, when they are not kept."""
HEAD_BYTES: Final = 16_384
"""The same when they are."""
_RECENT_ROWS: Final = 100_000
_MAX_ID_LENGTH: Final = 100
_ROWS_PER_TURN: Final = 100
"""Rows that are worked out at a stretch: meanwhile nobody else runs."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True)
class ContentRetention:
    """What of calls is kept beside the fact, and by which rule it is redacted. Nothing, unless the operator says so or
    the record itself tells it."""

    arguments: bool = False
    results: bool = False
    redaction: Redaction = field(default_factory=Redaction)


def call_row(record: CallRecord, keeping: ContentRetention, *, whole: bool = True) -> PendingAuditRow:
    """At once and cheap, because a call waits for it. Of arguments and results a bounded part is held until the row is
    written, so that a queue of records takes little memory; `whole` is false when many wait already."""
    call = record.call
    kind, ended, said, result = _describe_outcome(record)
    raw = call.raw if call.raw is not None else _encode_arguments(call)
    first = HEAD_BYTES if keeping.arguments and whole else SAMPLE_BYTES
    second = HEAD_BYTES if keeping.results and whole else SAMPLE_BYTES
    return (
        to_microseconds(call.at),
        call.id if call.id.isalnum() and len(call.id) <= _MAX_ID_LENGTH else index_text(call.id),
        None if call.parent is None else index_text(call.parent),
        *_index_texts(call.principal, call.client, call.name, record.tool),
        ended,
        "" if not said else storable_text(truncate(said, MAX_MESSAGE_LENGTH, total=True)),
        record.duration // _MICROSECOND,
        len(raw),
        len(result),
        kind,
        record.policy_version,
        raw if len(raw) <= first else raw[:first],
        result if len(result) <= second else result[:second],
        call.presentation or None,
        record.gate_us,
        record.recorded_arguments,
    )


def decision_row(decision: DecisionRecord) -> PendingAuditRow:
    return (
        to_microseconds(decision.at),
        f"d-{token_hex(12)}",
        None,
        index_text(decision.by),
        "",
        "",
        None if decision.about is None else index_text(decision.about),
        index_text(decision.outcome),
        storable_text(redact_line(decision.text, MAX_MESSAGE_LENGTH)),
        0,
        0,
        0,
        index_text(decision.kind),
        decision.policy_version,
        None,
        None,
        None,
        None,
        None,
    )


def finish_rows(rows: Sequence[PendingAuditRow], keeping: ContentRetention) -> list[FinishedAuditRow]:
    """Runs in a thread beside the event loop, and gives way to it every so often."""
    done: list[FinishedAuditRow] = []
    keeps = keeping.arguments or keeping.results
    for start in range(0, len(rows), _ROWS_PER_TURN):
        if start:
            time.sleep(0)
        turn = rows[start : start + _ROWS_PER_TURN]
        done += (
            _finish_with_content(row, keeping) if keeps or row[18] is not None else _finish_counts(row) for row in turn
        )
    return done


def _finish_counts(row: PendingAuditRow) -> FinishedAuditRow:
    """Of which nothing is kept but what it cost."""
    arguments, result = row[14], row[15]
    if arguments is None or result is None:
        return (*row[:14], None, None, None, None, row[16], row[17])
    costs = _estimate_tokens(arguments, row[10]), _estimate_tokens(result, row[11])
    return (*row[:14], *costs, None, None, row[16], row[17])


def _finish_with_content(row: PendingAuditRow, keeping: ContentRetention) -> FinishedAuditRow:
    argument_bytes, result_bytes, arguments, result, told = row[10], row[11], row[14], row[15], row[18]
    shown, size = (arguments, argument_bytes) if keeping.arguments else (told, len(told or b""))
    return (
        *row[:14],
        None if arguments is None else _estimate_tokens(arguments, argument_bytes),
        None if result is None else _estimate_tokens(result, result_bytes),
        redact_content(shown, size, keeping.redaction),
        redact_content(result, result_bytes, keeping.redaction) if keeping.results else None,
        row[16],
        row[17],
    )


def _estimate_tokens(head: bytes, size: int) -> int:
    return (
        estimate_tokens_roughly(head)
        if len(head) == size
        else estimate_tokens_roughly(head[:SAMPLE_BYTES]) * size // min(len(head), SAMPLE_BYTES)
    )


@lru_cache(4096)
def _index_texts(principal: str, client: str, name: str, tool: ToolId | None) -> tuple[str, str, str, str | None]:
    """Of texts that come again and again."""
    return index_text(principal), index_text(client), index_text(name), None if tool is None else index_text(str(tool))


def _describe_outcome(record: CallRecord) -> tuple[str, str, str, bytes]:
    """Its kind, how it ended, what is said of it, and its result."""
    match record.outcome:
        case ToolSuccess(body) as ended:
            return CALL, "returned", ended.note if isinstance(ended, AnnotatedSuccess) else "", body
        case ToolFailure(body):
            return CALL, "tool_failed", "", body
        case NeedsInput(body):
            return CALL, "needs_input", "", body
        case ProtocolErrorReply(error):
            return CALL, "demanded", "", error
        case ProviderFailure(why, may_have_run):
            return CALL, "provider_failed", f"{why.rstrip('.')}. The tool may have run." if may_have_run else why, b""
        case CallCancellation():
            return CALL, "cancelled", "", b""
        case LockedToolRefusal(_, reason):
            return REFUSAL, status_of(reason).value, explain_reason(reason), b""
        case UnknownTool() as refusal:
            return REFUSAL, "unknown_tool", refusal_text(refusal), b""
        case BadArguments(_, problems):
            # A problem may quote the argument, and arguments are not kept but by the rule.
            return REFUSAL, "bad_arguments", f"The arguments did not fit the tool. Problems: {len(problems)}.", b""
        case ConfirmationRefusal(_, how, _, ticket):
            return REFUSAL, how.value, "" if ticket is None else f"Ticket {ticket}.", b""
        case _:
            assert_never(record.outcome)


def _encode_arguments(call: ToolCall) -> bytes:
    try:
        return canonical_json(call.arguments)
    except (TypeError, ValueError, RecursionError):
        return b""  # not JSON: then nothing that could have been sent to a tool has a size


def to_microseconds(at: datetime) -> int:
    """A time without a zone is this machine's: whoever asks for `since` may well leave it out."""
    return ((at.astimezone() if at.tzinfo is None else at) - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def index_text(text: str) -> str:
    """Clients choose some of these texts, and may choose megabytes."""
    return storable_text(index_key(text))


def insert_statement(dialect: Dialect) -> str:
    """As text for the driver: binding each value by its type would cost more than the insertion itself."""
    return str(insert(calls).compile(dialect=dialect, column_keys=list(AUDIT_COLUMNS)))


async def insert_rows(connection: AsyncConnection, rows: Sequence[FinishedAuditRow], one: str) -> None:
    """`one` is the statement for one row. SQLite gets many at a time: between two of its statements it gives way to the
    event loop, which has to be interrupted again for each next one."""
    done = 0
    for block in INSERT_BLOCK_SIZES if connection.dialect.name == "sqlite" else ():
        statement = _block_statement(block)
        while done + block <= len(rows):
            values = tuple(chain.from_iterable(rows[done : done + block]))
            await connection.exec_driver_sql(statement, values)
            done += block
    if done < len(rows):
        await connection.exec_driver_sql(one, list(rows[done:]))


@cache
def _block_statement(rows: int) -> str:
    row = f"({', '.join('?' * len(AUDIT_COLUMNS))})"
    return f"INSERT INTO {calls.name} ({', '.join(AUDIT_COLUMNS)}) VALUES {', '.join([row] * rows)}"  # noqa: S608 - our own names


async def is_written(connection: AsyncConnection, row: FinishedAuditRow) -> bool:
    """Whether it is among the latest: a batch in doubt is tried again soon."""
    at, call_id, *_ = row
    among = select(func.max(calls.c.number) - _RECENT_ROWS).scalar_subquery()
    found = select(calls.c.number).where(calls.c.number > among, calls.c.at == at, calls.c.call_id == call_id).limit(1)
    return (await connection.execute(found)).scalar() is not None
