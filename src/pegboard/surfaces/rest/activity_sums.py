"""Routes for what happened in numbers: over time, by tool and by server."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Final

from anyio import to_thread
from fastapi import APIRouter, Query
from pydantic import Field

from pegboard.core.outcomes import outcome_state
from pegboard.core.presentations.code import FOUND_BY
from pegboard.core.presentations.costs import costs
from pegboard.core.presentations.saved import FINDING, savings
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.ports.summing import Stretches, Whose

from .activity_narrowing import Narrowing, query_of
from .activity_shapes import SharesShape, SummaryShape, saved_shape, share_shape, sums_shape
from .answers import routes_about
from .problems import Problem
from .shapes import moment

HOUR: Final = 3600.0
_YEAR: Final = 366 * 24 * HOUR
MOST_BUCKETS: Final = 288
_SHORTEST: Final = timedelta(milliseconds=1)


class Over(Narrowing):
    """A stretch of time: from `since`, or the last `window` seconds before `until`, which is now unless it is said."""

    window: Annotated[float | None, Field(ge=1, le=_YEAR, description="Seconds, instead of `since`.")] = None
    buckets: Annotated[int, Field(ge=1, le=MOST_BUCKETS)] = 60


class Ranked(Narrowing):
    window: Annotated[float | None, Field(ge=1, le=_YEAR, description="Seconds, instead of `since`.")] = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    after: Annotated[int, Field(ge=0, le=1_000_000, description="The `next` of an answer.")] = 0


def activity_sum_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("activity")
    board, audit = gateway.board, gateway.audit

    @routes.get("/activity/summary")
    async def summarise_activity(asked: Annotated[Over, Query()]) -> SummaryShape:
        """Calls and refusals by buckets of equal length: how many, how they ended, how long they took, what they
        weighed; and the tokens that were saved, with the parts of the sum. `complete` is false where more was called
        in that time than is looked at: then the latest 200,000 records are told of."""
        stretches = _stretches(asked, gateway.clock())
        summary = await audit.summed(query_of(gateway, asked), stretches, FINDING)
        resolution, policy = board.resolution(View()), board.policy
        counted = await to_thread.run_sync(costs, resolution, policy, gateway.code.tool(FOUND_BY))
        turns = {name: (each.turns, each.found_tokens) for name, each in summary.turns.items()}
        return {
            "since": moment(stretches.since),
            "until": moment(stretches.until),
            "bucketSeconds": stretches.length.total_seconds(),
            "buckets": [
                {"at": moment(stretches.since + stretches.length * place), **sums_shape(sums)}
                for place, sums in enumerate(summary.stretches)
            ],
            "total": sums_shape(summary.total),
            "saved": saved_shape(savings(counted, turns)),
            "outcomeStates": {outcome: outcome_state(outcome) for outcome in summary.total.outcomes},
            "complete": summary.is_whole,
            "policyVersion": policy.version,
        }

    @routes.get("/activity/tools")
    async def activity_by_tool(asked: Annotated[Ranked, Query()]) -> SharesShape:
        """What each tool had of it, those called most first: how often, how long, how it ended, the last error."""
        return await _shares(asked, Whose.TOOL)

    @routes.get("/activity/servers")
    async def activity_by_server(asked: Annotated[Ranked, Query()]) -> SharesShape:
        """The same by server, by the toolset where tools are its own."""
        return await _shares(asked, Whose.SERVER)

    async def _shares(asked: Ranked, whose: Whose) -> SharesShape:
        query = query_of(gateway, _since(asked, gateway.clock()), limit=asked.limit)
        told = await audit.shared(query, whose, asked.after)
        return {
            "shares": [share_shape(share) for share in told.shares],
            "next": told.next,
            "complete": told.is_whole,
        }

    return routes


def _stretches(asked: Over, now: datetime) -> Stretches:
    until = asked.until or now
    since = _since(asked, now).since or until - timedelta(seconds=HOUR)
    length = max((until - since) / asked.buckets, _SHORTEST)
    return Stretches(since, length, asked.buckets)


def _since(asked: "Over | Ranked", now: datetime) -> "Over | Ranked":
    if asked.window is None:
        return asked
    if asked.since is not None:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "since and window say the same: send one of them.")
    return asked.model_copy(update={"since": (asked.until or now) - timedelta(seconds=asked.window)})
