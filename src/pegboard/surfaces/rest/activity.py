"""Routes for what happened: calls, refusals and decisions, the newest first, one by one, or as they come."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.gateway.gateway import Gateway
from pegboard.gateway.hindsight import child_records, current_verdict, timeline

from .activity_narrowing import ActivityPageFilter, to_audit_query
from .activity_shapes import ActivityRecord, ActivityRecordDetail, activity_record, current_verdict_info, timeline_part
from .answers import make_router
from .problems import ProblemError

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


def activity_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("activity")
    audit = gateway.audit

    @routes.get("/activity")
    async def list_activity(asked: Annotated[ActivityQuery, Query()]) -> ActivityResponse:
        """The newest first. `next` is what to send as `before` for the page that follows; `null` when none does. Where
        little fits among many records, a page may hold fewer than asked for, or none, and there is a next one."""
        told = await audit.page_before(to_audit_query(gateway, asked, asked.before))
        return {"activity": [activity_record(row) for row in told.rows], "next": told.before}

    @routes.get("/activity/latest")
    async def latest_activity() -> LatestActivityResponse:
        """The number of the latest record, from which to follow what comes."""
        return {"latest": await audit.latest_number()}

    @routes.get("/activity/after")
    async def activity_after(asked: Annotated[ActivityAfterQuery, Query()]) -> ActivityAfterResponse:
        """In the order of writing, each record once: ask again with the `after` of the answer. With `wait`, the answer
        waits so many seconds for something to tell."""
        told = await audit.page_after(to_audit_query(gateway, asked, None), asked.after, asked.wait)
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
            "children": [activity_record(each) for each in await child_records(gateway, row)],
            "resolvedNow": current_verdict_info(current_verdict(gateway, row), row.policy_version),
        }

    return routes
