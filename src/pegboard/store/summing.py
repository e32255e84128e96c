"""Calls in numbers: counted, and their times ranked, by the engine itself in the same words for both."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Row, case, func, literal, select

from pegboard.core.activity import CALL, REFUSAL
from pegboard.ports import AuditQuery
from pegboard.ports.summing import Share, Shares, Stretches, Summary, Sums, Turns, Whose

from .async_engine import AsyncConnection
from .calls import indexed, microseconds, moment
from .questions import audit_row, ends, narrow
from .schema import calls
from .text import restored

FAILED: Final = ("tool_failed", "provider_failed")
_MICROSECOND: Final = 1_000_000


class _Scope(NamedTuple):
    """What is looked at: no more than so many of the latest rows, and what of them is asked for."""

    where: Sequence[ColumnElement[bool]]
    is_whole: bool


async def summed(
    connection: AsyncConnection, query: AuditQuery, stretches: Stretches, finding: Sequence[str], span: int
) -> Summary:
    asked = replace(query, since=stretches.since, until=stretches.until)
    scope = await _scope(connection, asked, span)
    start, length = microseconds(stretches.since), int(stretches.length.total_seconds() * _MICROSECOND)
    stretch = (calls.c.at - start) // length
    parts = await _sums(connection, stretch, scope)
    total = reduce(_together, parts.values(), Sums())
    for _, half, most in await connection.execute(_ranks(literal(0), scope)):
        total = replace(total, p50_us=half, p95_us=most)
    turns = await _turns(connection, scope, finding)
    return Summary([parts.get(place, Sums()) for place in range(stretches.count)], total, turns, scope.is_whole)


async def shared(connection: AsyncConnection, query: AuditQuery, whose: Whose, start: int, span: int) -> Shares:
    scope = await _scope(connection, query, span)
    name = calls.c.tool if whose is Whose.TOOL else _server(connection)
    scope = _Scope((*scope.where, calls.c.tool.is_not(None)), scope.is_whole)
    failed = func.max(case((calls.c.ended.in_(FAILED), calls.c.number)))
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
        scope = _Scope((*scope.where, name.in_([row[0] for row in named])), scope.is_whole)
    sums = await _sums(connection, name, scope)
    numbers = [row[2] for row in named if row[2] is not None]
    errors = {row.number: row for row in await connection.execute(select(calls).where(calls.c.number.in_(numbers)))}
    shares = [
        Share(restored(part), sums[part], moment(at), None if number is None else audit_row(errors[number]))
        for part, at, number in named
    ]
    return Shares(shares, start + query.limit if len(found) > query.limit else None, scope.is_whole)


async def _scope(connection: AsyncConnection, query: AuditQuery, span: int) -> _Scope:
    """Rows are written nearly in the order of their times: if the one before those that are looked at is too old
    already, nothing is missed."""
    _, latest = await ends(connection)
    first = latest - span + 1
    before = select(calls.c.at).where(calls.c.number < first).order_by(calls.c.number.desc()).limit(1)
    at = (await connection.execute(before)).scalar()
    where = [calls.c.number >= first, calls.c.kind.in_((CALL, REFUSAL)), *narrow(query)]
    return _Scope(where, at is None or (query.since is not None and at < microseconds(query.since)))


async def _sums(connection: AsyncConnection, part: ColumnElement[Any], scope: _Scope) -> dict[Any, Sums]:
    columns = (calls.c.argument_bytes, calls.c.result_bytes, calls.c.argument_tokens, calls.c.result_tokens)
    counted = (
        select(part.label("part"), calls.c.kind, calls.c.ended, func.count(), *map(func.sum, columns))
        .where(*scope.where)
        .group_by("part", calls.c.kind, calls.c.ended)
    )
    sums: dict[Any, Sums] = {}
    for row in await connection.execute(counted):
        sums[row.part] = _together(sums.get(row.part, Sums()), _counted(row))
    for name, half, most in await connection.execute(_ranks(part, scope)):
        sums[name] = replace(sums[name], p50_us=half, p95_us=most)
    return sums


def _counted(row: Row[*tuple[Any, ...]]) -> Sums:
    _, kind, ended, count, *sizes = row
    is_call, ended = kind == CALL, restored(ended)
    # Sums of big numbers are decimals to PostgreSQL, and of nothing they are nothing.
    argument_bytes, result_bytes, argument_tokens, result_tokens = (int(size or 0) for size in sizes)
    return Sums(
        outcomes={ended: count},
        calls=count if is_call else 0,
        refusals=0 if is_call else count,
        errors=count if is_call and ended in FAILED else 0,
        argument_bytes=argument_bytes,
        result_bytes=result_bytes,
        argument_tokens=argument_tokens,
        result_tokens=result_tokens,
    )


def _together(one: Sums, other: Sums) -> Sums:
    """Without the times, which cannot be added up."""
    counts = Counter(one.outcomes)
    counts.update(other.outcomes)
    return Sums(
        outcomes=dict(sorted(counts.items())),
        calls=one.calls + other.calls,
        refusals=one.refusals + other.refusals,
        errors=one.errors + other.errors,
        argument_bytes=one.argument_bytes + other.argument_bytes,
        result_bytes=one.result_bytes + other.result_bytes,
        argument_tokens=one.argument_tokens + other.argument_tokens,
        result_tokens=one.result_tokens + other.result_tokens,
    )


def _ranks(part: ColumnElement[Any], scope: _Scope) -> Any:
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


async def _turns(connection: AsyncConnection, scope: _Scope, finding: Sequence[str]) -> Mapping[str, Turns]:
    found = case((calls.c.name.in_([indexed(name) for name in finding]), calls.c.result_tokens), else_=0)
    asked = (
        select(calls.c.presentation, func.count(), func.sum(found))
        .where(*scope.where, calls.c.presentation.is_not(None), calls.c.parent_id.is_(None))
        .group_by(calls.c.presentation)
        .order_by(calls.c.presentation)
    )
    return {name: Turns(count, int(cost or 0)) for name, count, cost in await connection.execute(asked)}


def _server(connection: AsyncConnection) -> ColumnElement[str]:
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
