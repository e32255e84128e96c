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
from pegboard.ports import AuditQuery, Back

from .activity_narrowing import Narrowing, query_of
from .activity_shapes import ActivityRecord, activity_shape
from .answers import routes_about

PAGE: Final = 500
MOST: Final = 1_000_000
COLUMNS: Final = tuple(ActivityRecord.__annotations__)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_MEDIA: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


class Exported(Narrowing):
    format: Literal["jsonl", "csv"] = "jsonl"
    limit: Annotated[int, Field(ge=1, le=MOST, description="So many at most, the newest ones.")] = 100_000
    before: Annotated[int, Field(ge=0, lt=2**63)] | None = None


def activity_export_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("activity")

    @routes.get(
        "/activity/export",
        response_class=StreamingResponse,
        responses={200: {"content": {kind: {"schema": {"type": "string"}} for kind in _MEDIA.values()}}},
    )
    async def export_activity(asked: Annotated[Exported, Query()]) -> StreamingResponse:
        """What the list tells, in one answer, the newest first: a JSON object a line, or CSV with a first line of
        names, in which no text begins as a formula does."""
        query = query_of(gateway, asked, asked.before, min(asked.limit, PAGE))
        # The first page before anything is sent: a store that is away is told as a problem.
        first = await gateway.audit.back(query)
        written = _lines if asked.format == "jsonl" else _cells
        head = "" if asked.format == "jsonl" else _row(COLUMNS)
        return StreamingResponse(
            _parts(gateway, query, first, asked.limit, written, head),
            media_type=_MEDIA[asked.format],
            headers={"content-disposition": f'attachment; filename="activity.{asked.format}"'},
        )

    return routes


async def _parts(
    gateway: Gateway,
    query: AuditQuery,
    page: Back,
    left: int,
    written: Callable[[list[ActivityRecord]], str],
    head: str,
) -> AsyncIterator[str]:
    if head:
        yield head
    while True:
        if page.rows:
            yield written([activity_shape(row) for row in page.rows])
        left -= len(page.rows)
        if page.before is None or left <= 0:
            return
        page = await gateway.audit.back(replace(query, before=page.before, limit=min(left, PAGE)))


def _lines(records: list[ActivityRecord]) -> str:
    # Escaped, because texts of clients may hold half characters, which no UTF-8 has.
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _cells(records: list[ActivityRecord]) -> str:
    return "".join(_row([*map(_cell, record.values())]) for record in records)


def _row(cells: object) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)  # type: ignore[arg-type]  # any sequence of cells
    return out.getvalue()


def _cell(value: object) -> object:
    """Clients choose some of these texts, and a spreadsheet takes one that begins so for a formula."""
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return f"'{text}" if text.startswith(_FORMULA) else text
