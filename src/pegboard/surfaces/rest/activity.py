"""Routes for what happened: calls, refusals and decisions, the newest first, one by one, or as they come."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.gateway.gateway import Gateway
from pegboard.gateway.hindsight import children, resolved_now, timeline

from .activity_narrowing import Paged, query_of
from .activity_shapes import ActivityRecord, RecordInFull, activity_shape, lap_shape, now_shape
from .answers import routes_about
from .problems import Problem

LONGEST_WAIT = 4.0
"""Seconds. A gateway that is asked to end waits a little longer than this for open requests."""


class Newest(Paged):
    before: Annotated[int, Field(ge=0, lt=2**63)] | None = None


class AfterOne(Paged):
    after: Annotated[int, Field(ge=0, lt=2**63)] = 0
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT)] = 0


class ActivityPage(TypedDict):
    activity: list[ActivityRecord]
    next: int | None


class Onward(TypedDict):
    activity: list[ActivityRecord]
    after: int


class Latest(TypedDict):
    latest: int


def activity_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("activity")
    audit = gateway.audit

    @routes.get("/activity")
    async def list_activity(asked: Annotated[Newest, Query()]) -> ActivityPage:
        """The newest first. `next` is what to send as `before` for the page that follows; `null` when none does. Where
        little fits among many records, a page may hold fewer than asked for, or none, and there is a next one."""
        told = await audit.back(query_of(gateway, asked, asked.before))
        return {"activity": [activity_shape(row) for row in told.rows], "next": told.before}

    @routes.get("/activity/latest")
    async def latest_activity() -> Latest:
        """The number of the latest record, from which to follow what comes."""
        return {"latest": await audit.latest()}

    @routes.get("/activity/after")
    async def activity_after(asked: Annotated[AfterOne, Query()]) -> Onward:
        """In the order of writing, each record once: ask again with the `after` of the answer. With `wait`, the answer
        waits so many seconds for something to tell."""
        told = await audit.onward(query_of(gateway, asked, None), asked.after, asked.wait)
        return {"activity": [activity_shape(row) for row in told.rows], "after": told.after}

    @routes.get("/activity/{number}")
    async def show_activity(number: int) -> RecordInFull:
        """One record in full: where its time went, what it called in its turn, and what would be decided now."""
        row = await audit.row(number) if 0 < number < 2**63 else None
        if row is None:
            told = f"There is no record {number}. It may have been removed by age. See: pegboard activity list"
            raise Problem(HTTPStatus.NOT_FOUND, told)
        return {
            **activity_shape(row),
            "timeline": [lap_shape(lap) for lap in timeline(row)],
            "children": [activity_shape(each) for each in await children(gateway, row)],
            "resolvedNow": now_shape(resolved_now(gateway, row), row.policy_version),
        }

    return routes
