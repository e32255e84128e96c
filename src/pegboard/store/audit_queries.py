"""Calls in numbers: counted, and their times ranked, by the engine itself in the same words for both."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final, NamedTuple

from sqlalchemy import Column, ColumnElement, Row, Select, and_, case, func, literal, or_, select, text

from pegboard.core.calls.activity import CALL, DECISION, REFUSAL
from pegboard.ports.audit import (
    ActivityBreakdown,
    ActivityGroup,
    ActivityShare,
    ActivitySummary,
    ActivityTotals,
    AuditQuery,
    AuditRow,
    NewerPage,
    OlderPage,
    TimeBuckets,
    TurnCount,
)
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.call_records import from_microseconds, index_text, to_microseconds
from pegboard.store.schema import NOT_CALL, NOT_RETURNED, calls
from pegboard.store.text import restore_text, storable_text

# What people ask of the rows: the latest, those that came after one, and a single one.


async def page_before(connection: AsyncConnection, query: AuditQuery, span: int) -> OlderPage:
    """Walks over no more than `span` rows where no index leads to what is asked for: whoever wants more asks again from
    where this one stopped, and meets each row once."""
    oldest, latest = await number_range(connection)
    if oldest is None or query.limit <= 0:
        return OlderPage((), None)
    start = latest + 1 if query.before is None else min(query.before, latest + 1)
    stop = oldest if _is_indexed(query) else max(oldest, start - span)
    asked = select_matching(query)
    if stop > oldest:
        asked = asked.where(calls.c.number >= stop)
    rows = tuple(audit_row(row) for row in await connection.execute(asked))
    if len(rows) == query.limit:
        return OlderPage(rows, rows[-1].number)
    return OlderPage(rows, stop if stop > oldest else None)


def _is_indexed(query: AuditQuery) -> bool:
    """The indexes are of what is no call, or did not end well, and of nothing else."""
    if any(getattr(query, name) is not None for name in _UNINDEXED_FILTERS):
        return False
    return query.outcome not in (None, "returned") or query.kind not in (None, CALL)


_UNINDEXED_FILTERS: Final = (
    "tool",
    "name",
    "server",
    "principal",
    "client",
    "since",
    "until",
    "slower_us",
    "text",
    "parent",
)


async def find_record(connection: AsyncConnection, number: int) -> AuditRow | None:
    found = (await connection.execute(select(calls).where(calls.c.number == number))).one_or_none()
    return None if found is None else audit_row(found)


async def newest_number(connection: AsyncConnection) -> int:
    return (await number_range(connection))[1]


async def number_range(connection: AsyncConnection) -> tuple[int | None, int]:
    """The first number there is and the last. Each on its own, because SQLite finds both at once by reading all."""
    first = (await connection.execute(select(func.min(calls.c.number)))).scalar()
    last = (await connection.execute(select(func.max(calls.c.number)))).scalar()
    return first, last or 0


async def page_after(connection: AsyncConnection, query: AuditQuery, after: int, span: int) -> NewerPage:
    """By number, which is the order of writing. What the query leaves out is passed over once and for all, no more than
    `span` rows at a time."""
    oldest, newest = await number_range(connection)
    if oldest is None or newest <= after or query.limit <= 0:
        return NewerPage((), after)
    latest = min(newest, max(after, oldest - 1) + span)
    beyond = and_(calls.c.number > after, calls.c.number <= latest, *filter_conditions(query))
    told = select(calls).where(beyond).order_by(calls.c.number).limit(query.limit)
    rows = tuple(audit_row(row) for row in await connection.execute(told))
    return NewerPage(rows, latest if len(rows) < query.limit else rows[-1].number)


def select_matching(query: AuditQuery) -> Select[*tuple[Any, ...]]:
    """The latest first, from `since` up to but without `until`."""
    parts = filter_conditions(query)
    if query.before is not None:
        parts.append(calls.c.number < query.before)
    return select(calls).where(*parts).order_by(calls.c.number.desc()).limit(max(query.limit, 0))


def filter_conditions(query: AuditQuery) -> list[ColumnElement[bool]]:
    parts: list[ColumnElement[bool]] = []
    for column, wanted in (
        (calls.c.tool, query.tool),
        (calls.c.name, query.name),
        (calls.c.principal, query.principal),
        (calls.c.client, query.client),
        (calls.c.parent_id, query.parent),
        (calls.c.call_id, query.call),
    ):
        if wanted is not None:
            parts.append(column == index_text(wanted))
    if query.server is not None:
        parts.append(_is_of_server(storable_text(query.server)))
    if query.outcome is not None:
        parts.append(calls.c.ended == index_text(query.outcome))
        # What is implied must be said, or SQLite does not see that the index of these holds it.
        parts += [] if query.outcome == "returned" else [_raw_condition(NOT_RETURNED.text)]
    if query.kind is not None:
        parts += [] if query.kind == CALL else [_raw_condition(NOT_CALL.text)]
        parts.append(calls.c.kind != REFUSAL if query.kind == DECISION else calls.c.kind == index_text(query.kind))
    if query.since is not None:
        parts.append(calls.c.at >= to_microseconds(query.since))
    if query.until is not None:
        parts.append(calls.c.at < to_microseconds(query.until))
    if query.slower_us is not None:
        parts.append(calls.c.took_us > query.slower_us)
    if query.text is not None:
        parts.append(or_(*(_contains_text(column, query.text) for column in _SEARCHED_COLUMNS)))
    return parts


_SEARCHED_COLUMNS: Final = (calls.c.name, calls.c.tool, calls.c.said, calls.c.principal, calls.c.client)


def _contains_text(column: Column[str], words: str) -> ColumnElement[bool]:
    return func.lower(column).contains(storable_text(words.lower()), autoescape=True)


def _is_of_server(key: str) -> ColumnElement[bool]:
    """By how it begins, and not by what it sorts between: many databases sort by a language, past such marks."""
    start = f"mcp:{key}:" if "~" in key else f"{key}:"
    return or_(func.substr(calls.c.tool, 1, len(start)) == start, calls.c.tool == key)


def _raw_condition(condition: str) -> ColumnElement[bool]:
    return text(condition)  # type: ignore[return-value]  # it stands where a condition may stand


def audit_row(row: Row[*tuple[Any, ...]]) -> AuditRow:
    number, at, call_id, parent_id, principal, client, name, tool, ended, said, *rest = row
    (
        took,
        argument_bytes,
        result_bytes,
        kind,
        version,
        argument_tokens,
        result_tokens,
        arguments,
        result,
        presentation,
        gate,
    ) = rest
    return AuditRow(
        number,
        from_microseconds(at),
        restore_text(call_id),
        None if parent_id is None else restore_text(parent_id),
        restore_text(principal),
        restore_text(client),
        restore_text(name),
        None if tool is None else restore_text(tool),
        restore_text(ended),
        restore_text(said),
        took,
        argument_bytes,
        result_bytes,
        restore_text(kind),
        version,
        argument_tokens,
        result_tokens,
        None if arguments is None else restore_text(arguments),
        None if result is None else restore_text(result),
        presentation,
        gate,
    )


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
