"""What people ask of the rows: the latest, those that came after one, and a single one."""

from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Row, Select, and_, func, or_, select, text

from pegboard.core.activity import CALL, DECISION, REFUSAL
from pegboard.ports import AuditQuery, AuditRow, NewerPage, OlderPage

from .async_engine import AsyncConnection
from .calls import from_microseconds, index_text, to_microseconds
from .schema import NOT_CALL, NOT_RETURNED, calls
from .text import restore_text, storable_text


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
