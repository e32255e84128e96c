"""Routes for what happened: calls, refusals and decisions, the newest first, one by one, or as they come."""

from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from pegboard.core.activity import CALL, KINDS, OUTCOMES, REFUSAL
from pegboard.core.ids import ServerKey, server_key
from pegboard.core.reference import closest
from pegboard.gateway.gateway import Gateway
from pegboard.ports import AuditQuery, AuditRow

from .answers import routes_about
from .problems import Problem
from .servers import provider_named
from .shapes import Shape, moment

LONGEST_WAIT = 4.0
"""Seconds. A gateway that is asked to end waits a little longer than this for open requests."""

Text = Annotated[str, Field(max_length=2048)]


class Narrowing(BaseModel):
    """Every field narrows. A tool is named by its id or by the name that clients call it by."""

    model_config = ConfigDict(extra="forbid")

    tool: Text | None = None
    server: Text | None = None
    principal: Text | None = None
    client: Text | None = None
    kind: Text | None = None
    outcome: Text | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class Newest(Narrowing):
    before: Annotated[int, Field(ge=0, lt=2**63)] | None = None


class AfterOne(Narrowing):
    after: Annotated[int, Field(ge=0, lt=2**63)] = 0
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT)] = 0


def activity_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("activity")
    audit = gateway.audit

    @routes.get("/activity")
    async def list_activity(asked: Annotated[Newest, Query()]) -> Shape:
        """The newest first. `next` is what to send as `before` for the page that follows; `null` when none does. Where
        little fits among many records, a page may hold fewer than asked for, or none, and there is a next one."""
        told = await audit.back(_query(gateway, asked, asked.before))
        return {"activity": [activity_shape(row) for row in told.rows], "next": told.before}

    @routes.get("/activity/latest")
    async def latest_activity() -> Shape:
        """The number of the latest record, from which to follow what comes."""
        return {"latest": await audit.latest()}

    @routes.get("/activity/after")
    async def activity_after(asked: Annotated[AfterOne, Query()]) -> Shape:
        """In the order of writing, each record once: ask again with the `after` of the answer. With `wait`, the answer
        waits so many seconds for something to tell."""
        told = await audit.onward(_query(gateway, asked, None), asked.after, asked.wait)
        return {"activity": [activity_shape(row) for row in told.rows], "after": told.after}

    @routes.get("/activity/{number}")
    async def show_activity(number: int) -> Shape:
        """One record in full."""
        row = await audit.row(number) if 0 < number < 2**63 else None
        if row is None:
            told = f"There is no record {number}. It may have been removed by age. See: pegboard activity list"
            raise Problem(HTTPStatus.NOT_FOUND, told)
        return activity_shape(row)

    return routes


def _query(gateway: Gateway, asked: Narrowing, before: int | None) -> AuditQuery:
    since, until = asked.since, asked.until
    if since is not None and until is not None and since >= until:
        raise Problem(HTTPStatus.BAD_REQUEST, f"Nothing is since {_told(since)} and before {_told(until)}.")
    _known("kind", asked.kind, KINDS)
    _known("outcome", asked.outcome, OUTCOMES)
    by_id = asked.tool is not None and ":" in asked.tool
    return AuditQuery(
        tool=asked.tool if by_id else None,
        name=None if by_id else asked.tool,
        server=None if asked.server is None else _server(gateway, asked.server),
        principal=asked.principal,
        client=asked.client,
        kind=asked.kind,
        ended=asked.outcome,
        since=since,
        until=until,
        before=before,
        limit=asked.limit,
    )


def _known(what: str, said: str | None, known: Sequence[str]) -> None:
    """A word that no record has would be answered with nothing, which reads as if nothing had happened."""
    if said is not None and said not in known:
        near = closest(said, known)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        told = f"There is no {what} {said[:64]!r}.{meant} There are: {', '.join(known)}."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, told)


def _server(gateway: Gateway, name: str) -> str:
    """One that is gone has its records still, under its key."""
    key = server_key(name)
    return str(key) if isinstance(key, ServerKey) else str(provider_named(gateway, name))


def _told(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def activity_shape(row: AuditRow) -> Shape:
    is_call = row.kind in (CALL, REFUSAL)
    return {
        "id": row.number,
        "at": moment(row.at),
        "kind": row.kind,
        "principal": row.principal,
        "client": row.client or None,
        "name": row.name or None,
        "about": row.tool,
        "outcome": row.ended,
        "said": row.said,
        "policyVersion": row.policy_version,
        "tookMs": round(row.took_us / 1000, 3) if is_call else None,
        "argumentBytes": row.argument_bytes if is_call else None,
        "resultBytes": row.result_bytes if is_call else None,
        "argumentTokens": row.argument_tokens,
        "resultTokens": row.result_tokens,
        "arguments": row.arguments,
        "result": row.result,
        "callId": row.call_id,
        "parentId": row.parent_id,
        "presentation": row.presentation,
    }
