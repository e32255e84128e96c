"""Calls in numbers: counted, and their times ranked, by the engine itself in the same words for both."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Row, case, func, literal, select

from pegboard.core.activity import CALL, REFUSAL
from pegboard.ports import AuditQuery
from pegboard.ports.summing import (
    ActivityBreakdown,
    ActivityGroup,
    ActivityShare,
    ActivitySummary,
    ActivityTotals,
    TimeBuckets,
    TurnCount,
)

from .async_engine import AsyncConnection
from .calls import from_microseconds, index_text, to_microseconds
from .questions import audit_row, filter_conditions, number_range
from .schema import calls
from .text import restore_text

FAILED_OUTCOMES: Final = ("tool_failed", "provider_failed")
_MICROSECOND: Final = 1_000_000


class _RowScope(NamedTuple):
    """What is looked at: no more than so many of the latest rows, and what of them is asked for."""

    where: Sequence[ColumnElement[bool]]
    is_complete: bool


async def totals(
    connection: AsyncConnection, query: AuditQuery, stretches: TimeBuckets, finding: Sequence[str], span: int
) -> ActivitySummary:
    asked = replace(query, since=stretches.since, until=stretches.until)
    scope = await _row_scope(connection, asked, span)
    start, length = to_microseconds(stretches.since), int(stretches.length.total_seconds() * _MICROSECOND)
    stretch = (calls.c.at - start) // length
    parts = await _sums_by(connection, stretch, scope)
    total = reduce(_add_sums, parts.values(), ActivityTotals())
    for _, half, most in await connection.execute(_percentiles(literal(0), scope)):
        total = replace(total, p50_us=half, p95_us=most)
    turns = await _turn_counts(connection, scope, finding)
    return ActivitySummary(
        [parts.get(place, ActivityTotals()) for place in range(stretches.count)], total, turns, scope.is_complete
    )


async def breakdown(
    connection: AsyncConnection, query: AuditQuery, whose: ActivityGroup, start: int, span: int
) -> ActivityBreakdown:
    scope = await _row_scope(connection, query, span)
    name = calls.c.tool if whose is ActivityGroup.TOOL else _server_column(connection)
    scope = _RowScope((*scope.where, calls.c.tool.is_not(None)), scope.is_complete)
    failed = func.max(case((calls.c.ended.in_(FAILED_OUTCOMES), calls.c.number)))
    ranked = (
        select(name.label("whose"), func.max(calls.c.at), failed)
        .where(*scope.where)
        .group_by("whose")
        .order_by(func.count().desc(), "whose")
        .offset(start)
        .limit(query.limit + 1)
    )
    found = (await connection.execute(ranked)).all()
    named = found[: query.limit]
    if start or len(found) > query.limit:
        scope = _RowScope((*scope.where, name.in_([row[0] for row in named])), scope.is_complete)
    sums = await _sums_by(connection, name, scope)
    numbers = [row[2] for row in named if row[2] is not None]
    errors = {row.number: row for row in await connection.execute(select(calls).where(calls.c.number.in_(numbers)))}
    shares = [
        ActivityShare(
            restore_text(part), sums[part], from_microseconds(at), None if number is None else audit_row(errors[number])
        )
        for part, at, number in named
    ]
    return ActivityBreakdown(shares, start + query.limit if len(found) > query.limit else None, scope.is_complete)


async def _row_scope(connection: AsyncConnection, query: AuditQuery, span: int) -> _RowScope:
    """Rows are written nearly in the order of their times: if the one before those that are looked at is too old
    already, nothing is missed."""
    _, latest = await number_range(connection)
    first = latest - span + 1
    before = select(calls.c.at).where(calls.c.number < first).order_by(calls.c.number.desc()).limit(1)
    at = (await connection.execute(before)).scalar()
    where = [calls.c.number >= first, calls.c.kind.in_((CALL, REFUSAL)), *filter_conditions(query)]
    return _RowScope(where, at is None or (query.since is not None and at < to_microseconds(query.since)))


async def _sums_by(
    connection: AsyncConnection, part: ColumnElement[Any], scope: _RowScope
) -> dict[Any, ActivityTotals]:
    columns = (calls.c.argument_bytes, calls.c.result_bytes, calls.c.argument_tokens, calls.c.result_tokens)
    counted = (
        select(part.label("part"), calls.c.kind, calls.c.ended, func.count(), *map(func.sum, columns))
        .where(*scope.where)
        .group_by("part", calls.c.kind, calls.c.ended)
    )
    sums: dict[Any, ActivityTotals] = {}
    for row in await connection.execute(counted):
        sums[row.part] = _add_sums(sums.get(row.part, ActivityTotals()), _sums_of_row(row))
    for name, half, most in await connection.execute(_percentiles(part, scope)):
        sums[name] = replace(sums[name], p50_us=half, p95_us=most)
    return sums


def _sums_of_row(row: Row[*tuple[Any, ...]]) -> ActivityTotals:
    _, kind, ended, count, *sizes = row
    is_call, ended = kind == CALL, restore_text(ended)
    # Sums of big numbers are decimals to PostgreSQL, and of nothing they are nothing.
    argument_bytes, result_bytes, argument_tokens, result_tokens = (int(size or 0) for size in sizes)
    return ActivityTotals(
        outcomes={ended: count},
        calls=count if is_call else 0,
        refusals=0 if is_call else count,
        errors=count if is_call and ended in FAILED_OUTCOMES else 0,
        argument_bytes=argument_bytes,
        result_bytes=result_bytes,
        argument_tokens=argument_tokens,
        result_tokens=result_tokens,
    )


def _add_sums(one: ActivityTotals, other: ActivityTotals) -> ActivityTotals:
    """Without the times, which cannot be added up."""
    counts = Counter(one.outcomes)
    counts.update(other.outcomes)
    return ActivityTotals(
        outcomes=dict(sorted(counts.items())),
        calls=one.calls + other.calls,
        refusals=one.refusals + other.refusals,
        errors=one.errors + other.errors,
        argument_bytes=one.argument_bytes + other.argument_bytes,
        result_bytes=one.result_bytes + other.result_bytes,
        argument_tokens=one.argument_tokens + other.argument_tokens,
        result_tokens=one.result_tokens + other.result_tokens,
    )


def _percentiles(part: ColumnElement[Any], scope: _RowScope) -> Any:
    """The time at the rank of the half and of 95 in a hundred. PostgreSQL could be asked for it by a word of its own;
    SQLite has none, and one question for both is one to test."""
    place = func.row_number().over(partition_by=part, order_by=calls.c.took_us)
    size = func.count().over(partition_by=part)
    times = (
        select(part.label("part"), calls.c.took_us, place.label("place"), size.label("size"))
        .where(*scope.where, calls.c.kind == CALL)
        .subquery()
    )
    half = case((times.c.place == (times.c.size + 1) // 2, times.c.took_us))
    most = case((times.c.place == (times.c.size * 95 + 99) // 100, times.c.took_us))
    return select(times.c.part, func.max(half), func.max(most)).group_by(times.c.part)


async def _turn_counts(
    connection: AsyncConnection, scope: _RowScope, finding: Sequence[str]
) -> Mapping[str, TurnCount]:
    found = case((calls.c.name.in_([index_text(name) for name in finding]), calls.c.result_tokens), else_=0)
    asked = (
        select(calls.c.presentation, func.count(), func.sum(found))
        .where(*scope.where, calls.c.presentation.is_not(None), calls.c.parent_id.is_(None))
        .group_by(calls.c.presentation)
        .order_by(calls.c.presentation)
    )
    return {name: TurnCount(count, int(cost or 0)) for name, count, cost in await connection.execute(asked)}


def _server_column(connection: AsyncConnection) -> ColumnElement[str]:
    """The key of the server in a tool's id, or the toolset. Of a built-in tool, and of an id that was too long to keep,
    all that there is."""
    place = func.instr if connection.dialect.name == "sqlite" else func.strpos
    tool, rest = calls.c.tool, func.substr(calls.c.tool, 5)
    return case(
        ((func.substr(tool, 1, 4) == "mcp:") & (place(rest, ":") == 0), tool),
        (func.substr(tool, 1, 4) == "mcp:", func.substr(rest, 1, place(rest, ":") - 1)),
        (place(tool, ":") > 0, func.substr(tool, 1, place(tool, ":") - 1)),
        else_=tool,
    )
