"""Runs commands for routes, and reports conflicts with newer decisions."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from typing_extensions import TypedDict

from pegboard.core.calls.activity import DECISION, DONE
from pegboard.core.commands.base import Command
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator, SaveFailure
from pegboard.ports.audit import Audit, AuditQuery, AuditRow
from pegboard.ports.stores import StaleVersion
from pegboard.surfaces.rest.auth import decision_author
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.schemas import iso_time

# Carrying out one command for a request: done, or the end of the request with the reason.

IfMatchVersion = Annotated[str | None, Header(alias="If-Match", description="The policy version you looked at.")]


def parse_if_match(if_match: str | None) -> int | None:
    """The policy version a person looked at. Raises `ProblemError` for what is none."""
    if if_match is None:
        return None
    digits = if_match.strip().removeprefix("W/").strip('"')
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, f"If-Match {if_match[:40]!r} is not a policy version: send a number."
        )
    return int(digits)


def version_conflict(current: int) -> ProblemError:
    told = f"The policy is at version {current} now. Look at it again before you decide."
    return ProblemError(HTTPStatus.PRECONDITION_FAILED, told, {"policyVersion": current})


async def run_command(operator: Operator, command: Command, if_match: str | None) -> None:
    """`If-Match` carries the policy version a person looked at; without it the command stands on what is true now."""
    match await operator.execute(command, decision_author(), expecting=parse_if_match(if_match)):
        case SaveFailure(why):
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, why)
        case CommandRejection(why):
            raise ProblemError(HTTPStatus.CONFLICT, why)
        case StaleVersion(current):
            raise version_conflict(current)
        case Policy():
            return


MAX_DECISIONS: Final = 20
_MAX_RECORDS_READ: Final = 200


class DecisionInfo(TypedDict):
    id: int
    """The number of its record in the activity."""
    by: str
    at: str | None
    kind: str
    subject: str | None
    message: str
    policyVersion: int


class DecisionsSinceResponse(TypedDict):
    decisions: list[DecisionInfo]
    """The latest first. The newest may be missing: query again after the event `changed` with the topic `activity`."""
    hasMore: bool
    policyVersion: int


def decision_routes(board: BoardState, audit: Audit) -> APIRouter:
    routes = make_router("policy")

    @routes.get("/policy/decisions")
    async def decided_since(
        after: Annotated[int, Query(ge=0, lt=2**63, description="The policy version you looked at.")],
    ) -> DecisionsSinceResponse:
        """What was decided since a version of the policy, by whom, the latest first: at most 20."""
        rows = (await audit.page_before(AuditQuery(kind=DECISION, outcome=DONE, limit=_MAX_RECORDS_READ))).rows
        told = [shape for row in rows if (shape := _decision_info(row, after)) is not None]
        return {
            "decisions": told[:MAX_DECISIONS],
            "hasMore": len(told) > MAX_DECISIONS,
            "policyVersion": board.policy.version,
        }

    return routes


def _decision_info(row: AuditRow, after: int) -> DecisionInfo | None:
    version = row.policy_version
    if version is None or version <= after:
        return None
    return {
        "id": row.number,
        "by": row.principal,
        "at": iso_time(row.at),
        "kind": row.kind,
        "subject": row.tool,
        "message": row.message,
        "policyVersion": version,
    }
