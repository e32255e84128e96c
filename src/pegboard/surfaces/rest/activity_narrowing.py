"""What narrows the activity, in a list, a summary and an export alike."""

from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Final

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from pegboard.core.activity import KINDS, OUTCOMES
from pegboard.core.ids import ServerKey, parse_server_key
from pegboard.core.reference import closest_names
from pegboard.gateway.gateway import Gateway
from pegboard.ports import AuditQuery

from .problems import ProblemError
from .servers import find_provider

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


def to_audit_query(gateway: Gateway, asked: ActivityFilter, before: int | None = None, limit: int = 100) -> AuditQuery:
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
        server=None if asked.server is None else _server_key(gateway, asked.server),
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


def _server_key(gateway: Gateway, name: str) -> str:
    """One that is gone has its records still, under its key."""
    key = parse_server_key(name)
    return str(key) if isinstance(key, ServerKey) else str(find_provider(gateway, name))


def _format_time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
