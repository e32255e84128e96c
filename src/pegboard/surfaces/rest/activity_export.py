"""The route by which records are taken away: streamed a page at a time, as JSON lines or CSV."""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from pegboard.gateway.gateway import Gateway
from pegboard.ports import AuditQuery, OlderPage

from .activity_narrowing import ActivityFilter, to_audit_query
from .activity_shapes import ActivityRecord, activity_record
from .answers import make_router

PAGE_SIZE: Final = 500
MAX_RECORDS: Final = 1_000_000
COLUMNS: Final = tuple(ActivityRecord.__annotations__)
_FORMULA_PREFIXES: Final = ("=", "+", "-", "@", "\t", "\r")
_MEDIA_TYPES: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


class ActivityExportQuery(ActivityFilter):
    format: Literal["jsonl", "csv"] = "jsonl"
    limit: Annotated[int, Field(ge=1, le=MAX_RECORDS, description="So many at most, the newest ones.")] = 100_000
    before: Annotated[int, Field(ge=0, lt=2**63)] | None = None


def activity_export_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("activity")

    @routes.get(
        "/activity/export",
        response_class=StreamingResponse,
        responses={200: {"content": {kind: {"schema": {"type": "string"}} for kind in _MEDIA_TYPES.values()}}},
    )
    async def export_activity(asked: Annotated[ActivityExportQuery, Query()]) -> StreamingResponse:
        """What the list tells, in one answer, the newest first: a JSON object a line, or CSV with a first line of
        names, in which no text begins as a formula does."""
        query = to_audit_query(gateway, asked, asked.before, min(asked.limit, PAGE_SIZE))
        # The first page before anything is sent: a store that is away is told as a problem.
        first = await gateway.audit.page_before(query)
        written = _to_json_lines if asked.format == "jsonl" else _to_csv_rows
        head = "" if asked.format == "jsonl" else _csv_row(COLUMNS)
        return StreamingResponse(
            _stream_parts(gateway, query, first, asked.limit, written, head),
            media_type=_MEDIA_TYPES[asked.format],
            headers={"content-disposition": f'attachment; filename="activity.{asked.format}"'},
        )

    return routes


async def _stream_parts(
    gateway: Gateway,
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
        page = await gateway.audit.page_before(replace(query, before=page.before, limit=min(left, PAGE_SIZE)))


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
