"""What was decided since a version of the policy: told to whoever began something on that version."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.activity import DECISION, DONE
from pegboard.gateway.gateway import Gateway
from pegboard.ports import AuditQuery, AuditRow

from .answers import make_router
from .shapes import iso_time

MAX_DECISIONS: Final = 20
_MAX_RECORDS_READ: Final = 200


class DecisionInfo(TypedDict):
    id: int
    """The number of its record in the activity."""
    by: str
    at: str | None
    kind: str
    about: str | None
    said: str
    policyVersion: int


class DecisionsSinceResponse(TypedDict):
    decisions: list[DecisionInfo]
    """The latest first. A decision of this moment may be missing: ask again when the bell rings for activity."""
    more: bool
    policyVersion: int


def decision_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("policy")

    @routes.get("/policy/decisions")
    async def decided_since(
        after: Annotated[int, Query(ge=0, lt=2**63, description="The policy version you looked at.")],
    ) -> DecisionsSinceResponse:
        """What was decided since a version of the policy, by whom, the latest first: at most 20."""
        rows = (await gateway.audit.page_before(AuditQuery(kind=DECISION, outcome=DONE, limit=_MAX_RECORDS_READ))).rows
        told = [shape for row in rows if (shape := _decision_info(row, after)) is not None]
        return {
            "decisions": told[:MAX_DECISIONS],
            "more": len(told) > MAX_DECISIONS,
            "policyVersion": gateway.board.policy.version,
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
        "about": row.tool,
        "said": row.message,
        "policyVersion": version,
    }
