"""Routes for what happened in numbers: over time, by tool and by server."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Final

from anyio import to_thread
from fastapi import APIRouter, Query
from pydantic import Field

from pegboard.core.outcomes import outcome_state
from pegboard.core.presentations.code import SEARCH_HINT
from pegboard.core.presentations.costs import presentation_costs
from pegboard.core.presentations.saved import SEARCH_TOOLS, compute_savings
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.ports.summing import ActivityGroup, TimeBuckets

from .activity_narrowing import ActivityFilter, to_audit_query
from .activity_shapes import (
    ActivitySharesResponse,
    ActivitySummaryResponse,
    activity_share_info,
    call_sums_info,
    token_savings_info,
)
from .answers import make_router
from .problems import ProblemError
from .shapes import iso_time

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


def activity_sum_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("activity")
    board, audit = gateway.board, gateway.audit

    @routes.get("/activity/summary")
    async def summarise_activity(asked: Annotated[ActivitySummaryQuery, Query()]) -> ActivitySummaryResponse:
        """Calls and refusals by buckets of equal length: how many, how they ended, how long they took, what they
        weighed; and the tokens that were saved, with the parts of the sum. `complete` is false where more was called
        in that time than is looked at: then the latest 200,000 records are told of."""
        stretches = _time_buckets(asked, gateway.clock())
        summary = await audit.totals(to_audit_query(gateway, asked), stretches, SEARCH_TOOLS)
        resolution, policy = board.resolution(View()), board.policy
        counted = await to_thread.run_sync(presentation_costs, resolution, policy, gateway.code_mode.tool(SEARCH_HINT))
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
            "saved": token_savings_info(compute_savings(counted, turns)),
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
        query = to_audit_query(gateway, _with_since(asked, gateway.clock()), limit=asked.limit)
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
