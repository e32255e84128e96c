"""Routes: calls and decisions, as records and as numbers over time."""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Final, Literal

from anyio import to_thread
from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field
from typing_extensions import TypedDict

from pegboard.core.calls.activity import KINDS, OUTCOMES
from pegboard.core.explain.states import outcome_state
from pegboard.core.model.ids import ServerKey, parse_server_key
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.presentations.code import SEARCH_HINT
from pegboard.core.presentations.costs import SEARCH_TOOLS, compute_savings, presentation_costs
from pegboard.gateway.board import BoardState
from pegboard.gateway.record_details import child_records, current_verdict, timeline
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.ports.audit import ActivityGroup, Audit, AuditQuery, OlderPage, TimeBuckets
from pegboard.ports.providers import Clock
from pegboard.surfaces.rest.activity_schemas import (
    ActivityRecord,
    ActivityRecordDetail,
    ActivitySharesResponse,
    ActivitySummaryResponse,
    activity_record,
    activity_share_info,
    call_sums_info,
    current_verdict_info,
    timeline_part,
    token_savings_info,
)
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.schemas import iso_time
from pegboard.surfaces.rest.servers import find_provider

# What narrows the activity, in a list, a summary and an export alike.

MAX_CALL_MS: Final = 86_400_000
"""Milliseconds. Nothing is waited for longer than a day."""

FilterText = Annotated[str, Field(max_length=2048)]


def _require_time_text(said: object) -> object:
    """A bare number would be taken for seconds since 1970, which nobody who reads the document means."""
    if isinstance(said, str) and said.strip("-+.0123456789") == "":
        raise ValueError("this must be a time with its zone, like 2026-07-28T14:30:00Z.")
    return said


FilterTime = Annotated[AwareDatetime, BeforeValidator(_require_time_text)]


class ActivityFilter(BaseModel):
    """Every field narrows. A tool is named by its id or by the name that clients call it by."""

    model_config = ConfigDict(extra="forbid")

    tool: FilterText | None = None
    server: FilterText | None = None
    principal: FilterText | None = None
    client: FilterText | None = None
    kind: FilterText | None = None
    outcome: FilterText | None = None
    since: FilterTime | None = None
    until: FilterTime | None = None
    slower_than: Annotated[
        float | None,
        Field(alias="slowerThan", ge=0, le=MAX_CALL_MS, description="Calls that took longer: milliseconds."),
    ] = None
    q: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="A text in the name, the tool's id, what is said, the caller or the client.",
        ),
    ] = None
    call: Annotated[str | None, Field(min_length=1, max_length=200, description="The call's own id.")] = None


class ActivityPageFilter(ActivityFilter):
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


def to_audit_query(board: BoardState, asked: ActivityFilter, before: int | None = None, limit: int = 100) -> AuditQuery:
    since, until = asked.since, asked.until
    if since is not None and until is not None and since >= until:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, f"Nothing is since {_format_time(since)} and before {_format_time(until)}."
        )
    _check_known("kind", asked.kind, KINDS)
    _check_known("outcome", asked.outcome, OUTCOMES)
    by_id = asked.tool is not None and ":" in asked.tool
    return AuditQuery(
        tool=asked.tool if by_id else None,
        name=None if by_id else asked.tool,
        server=None if asked.server is None else _server_key(board, asked.server),
        principal=asked.principal,
        client=asked.client,
        kind=asked.kind,
        outcome=asked.outcome,
        since=since,
        until=until,
        before=before,
        limit=asked.limit if isinstance(asked, ActivityPageFilter) else limit,
        slower_us=None if asked.slower_than is None else int(asked.slower_than * 1000),
        text=asked.q,
        call=asked.call,
    )


def _check_known(what: str, said: str | None, known: Sequence[str]) -> None:
    """A word that no record has would be answered with nothing, which reads as if nothing had happened."""
    if said is not None and said not in known:
        near = closest_names(said, known)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        told = f"There is no {what} {said[:64]!r}.{meant} There are: {', '.join(known)}."
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, told)


def _server_key(board: BoardState, name: str) -> str:
    """One that is gone has its records still, under its key."""
    key = parse_server_key(name)
    return str(key) if isinstance(key, ServerKey) else str(find_provider(board, name))


def _format_time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


# Routes for what happened: calls, refusals and decisions, the newest first, one by one, or as they come.

MAX_WAIT_S = 4.0
"""Seconds. A gateway that is asked to end waits a little longer than this for open requests."""


class ActivityQuery(ActivityPageFilter):
    before: Annotated[int, Field(ge=0, lt=2**63)] | None = None


class ActivityAfterQuery(ActivityPageFilter):
    after: Annotated[int, Field(ge=0, lt=2**63)] = 0
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_S)] = 0


class ActivityResponse(TypedDict):
    activity: list[ActivityRecord]
    next: int | None


class ActivityAfterResponse(TypedDict):
    activity: list[ActivityRecord]
    after: int


class LatestActivityResponse(TypedDict):
    latest: int


def activity_routes(board: BoardState, audit: Audit) -> APIRouter:
    routes = make_router("activity")

    @routes.get("/activity")
    async def list_activity(asked: Annotated[ActivityQuery, Query()]) -> ActivityResponse:
        """The newest first. `next` is what to send as `before` for the page that follows; `null` when none does. Where
        little fits among many records, a page may hold fewer than asked for, or none, and there is a next one."""
        told = await audit.page_before(to_audit_query(board, asked, asked.before))
        return {"activity": [activity_record(row) for row in told.rows], "next": told.before}

    @routes.get("/activity/latest")
    async def latest_activity() -> LatestActivityResponse:
        """The number of the latest record, from which to follow what comes."""
        return {"latest": await audit.latest_number()}

    @routes.get("/activity/after")
    async def activity_after(asked: Annotated[ActivityAfterQuery, Query()]) -> ActivityAfterResponse:
        """In the order of writing, each record once: ask again with the `after` of the answer. With `wait`, the answer
        waits so many seconds for something to tell."""
        told = await audit.page_after(to_audit_query(board, asked, None), asked.after, asked.wait)
        return {"activity": [activity_record(row) for row in told.rows], "after": told.after}

    @routes.get("/activity/{number}")
    async def show_activity(number: int) -> ActivityRecordDetail:
        """One record in full: where its time went, what it called in its turn, and what would be decided now."""
        row = await audit.row(number) if 0 < number < 2**63 else None
        if row is None:
            told = f"There is no record {number}. It may have been removed by age. See: pegboard activity list"
            raise ProblemError(HTTPStatus.NOT_FOUND, told)
        return {
            **activity_record(row),
            "timeline": [timeline_part(lap) for lap in timeline(row)],
            "children": [activity_record(each) for each in await child_records(audit, row)],
            "currentVerdict": current_verdict_info(current_verdict(board, row), row.policy_version),
        }

    return routes


HOUR_S: Final = 3600.0
_YEAR_S: Final = 366 * 24 * HOUR_S
MAX_BUCKETS: Final = 288
_MIN_BUCKET: Final = timedelta(milliseconds=1)


class ActivitySummaryQuery(ActivityFilter):
    """A stretch of time: from `since`, or the last `window` seconds before `until`, which is now unless it is said."""

    window: Annotated[float | None, Field(ge=1, le=_YEAR_S, description="Seconds, instead of `since`.")] = None
    buckets: Annotated[int, Field(ge=1, le=MAX_BUCKETS)] = 60


class ActivityRankQuery(ActivityFilter):
    window: Annotated[float | None, Field(ge=1, le=_YEAR_S, description="Seconds, instead of `since`.")] = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    after: Annotated[int, Field(ge=0, le=1_000_000, description="The `next` of an answer.")] = 0


def activity_sum_routes(board: BoardState, clock: Clock, audit: Audit, tool_calls: ToolCalls) -> APIRouter:
    routes = make_router("activity")

    @routes.get("/activity/summary")
    async def summarise_activity(asked: Annotated[ActivitySummaryQuery, Query()]) -> ActivitySummaryResponse:
        """Calls and refusals by buckets of equal length: how many, how they ended, how long they took, what they
        weighed; and the tokens that were saved, with the parts of the sum. `complete` is false where more was called
        in that time than is looked at: then the latest 200,000 records are told of."""
        stretches = _time_buckets(asked, clock())
        summary = await audit.totals(to_audit_query(board, asked), stretches, SEARCH_TOOLS)
        resolution, policy = board.resolution(View()), board.policy
        counted = await to_thread.run_sync(presentation_costs, resolution, policy, tool_calls.program_tool(SEARCH_HINT))
        turns = {name: (each.count, each.found_tokens) for name, each in summary.turns.items()}
        return {
            "since": iso_time(stretches.since),
            "until": iso_time(stretches.until),
            "bucketSeconds": stretches.length.total_seconds(),
            "buckets": [
                {"at": iso_time(stretches.since + stretches.length * place), **call_sums_info(sums)}
                for place, sums in enumerate(summary.buckets)
            ],
            "total": call_sums_info(summary.total),
            "savings": token_savings_info(compute_savings(counted, turns)),
            "outcomeStates": {outcome: outcome_state(outcome) for outcome in summary.total.outcomes},
            "complete": summary.is_whole,
            "policyVersion": policy.version,
        }

    @routes.get("/activity/tools")
    async def activity_by_tool(asked: Annotated[ActivityRankQuery, Query()]) -> ActivitySharesResponse:
        """What each tool had of it, those called most first: how often, how long, how it ended, the last error."""
        return await _shares(asked, ActivityGroup.TOOL)

    @routes.get("/activity/servers")
    async def activity_by_server(asked: Annotated[ActivityRankQuery, Query()]) -> ActivitySharesResponse:
        """The same by server, by the toolset where tools are its own."""
        return await _shares(asked, ActivityGroup.SERVER)

    async def _shares(asked: ActivityRankQuery, whose: ActivityGroup) -> ActivitySharesResponse:
        query = to_audit_query(board, _with_since(asked, clock()), limit=asked.limit)
        told = await audit.breakdown(query, whose, asked.after)
        return {
            "shares": [activity_share_info(share) for share in told.shares],
            "next": told.next_start,
            "complete": told.is_whole,
        }

    return routes


def _time_buckets(asked: ActivitySummaryQuery, now: datetime) -> TimeBuckets:
    until = asked.until or now
    since = _with_since(asked, now).since or until - timedelta(seconds=HOUR_S)
    length = max((until - since) / asked.buckets, _MIN_BUCKET)
    return TimeBuckets(since, length, asked.buckets)


def _with_since(
    asked: "ActivitySummaryQuery | ActivityRankQuery", now: datetime
) -> "ActivitySummaryQuery | ActivityRankQuery":
    if asked.window is None:
        return asked
    if asked.since is not None:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "since and window say the same: send one of them.")
    return asked.model_copy(update={"since": (asked.until or now) - timedelta(seconds=asked.window)})


# The route by which records are taken away: streamed a page at a time, as JSON lines or CSV.

PAGE_SIZE: Final = 500
MAX_RECORDS: Final = 1_000_000
COLUMNS: Final = tuple(ActivityRecord.__annotations__)
_FORMULA_PREFIXES: Final = ("=", "+", "-", "@", "\t", "\r")
_MEDIA_TYPES: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


class ActivityExportQuery(ActivityFilter):
    format: Literal["jsonl", "csv"] = "jsonl"
    limit: Annotated[int, Field(ge=1, le=MAX_RECORDS, description="So many at most, the newest ones.")] = 100_000
    before: Annotated[int, Field(ge=0, lt=2**63)] | None = None


def activity_export_routes(board: BoardState, audit: Audit) -> APIRouter:
    routes = make_router("activity")

    @routes.get(
        "/activity/export",
        response_class=StreamingResponse,
        responses={200: {"content": {kind: {"schema": {"type": "string"}} for kind in _MEDIA_TYPES.values()}}},
    )
    async def export_activity(asked: Annotated[ActivityExportQuery, Query()]) -> StreamingResponse:
        """What the list tells, in one answer, the newest first: a JSON object a line, or CSV with a first line of
        names, in which no text begins as a formula does."""
        query = to_audit_query(board, asked, asked.before, min(asked.limit, PAGE_SIZE))
        # The first page before anything is sent: a store that is away is told as a problem.
        first = await audit.page_before(query)
        written = _to_json_lines if asked.format == "jsonl" else _to_csv_rows
        head = "" if asked.format == "jsonl" else _csv_row(COLUMNS)
        return StreamingResponse(
            _stream_parts(audit, query, first, asked.limit, written, head),
            media_type=_MEDIA_TYPES[asked.format],
            headers={"content-disposition": f'attachment; filename="activity.{asked.format}"'},
        )

    return routes


async def _stream_parts(
    audit: Audit,
    query: AuditQuery,
    page: OlderPage,
    left: int,
    written: Callable[[list[ActivityRecord]], str],
    head: str,
) -> AsyncIterator[str]:
    if head:
        yield head
    while True:
        if page.rows:
            yield written([activity_record(row) for row in page.rows])
        left -= len(page.rows)
        if page.before is None or left <= 0:
            return
        page = await audit.page_before(replace(query, before=page.before, limit=min(left, PAGE_SIZE)))


def _to_json_lines(records: list[ActivityRecord]) -> str:
    # Escaped, because texts of clients may hold half characters, which no UTF-8 has.
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _to_csv_rows(records: list[ActivityRecord]) -> str:
    return "".join(_csv_row([*map(_csv_cell, record.values())]) for record in records)


def _csv_row(cells: object) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)  # type: ignore[arg-type]  # any sequence of cells
    return out.getvalue()


def _csv_cell(value: object) -> object:
    """Clients choose some of these texts, and a spreadsheet takes one that begins so for a formula."""
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return f"'{text}" if text.startswith(_FORMULA_PREFIXES) else text
