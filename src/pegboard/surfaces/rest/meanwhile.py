"""What was decided since a version of the policy: told to whoever began something on that version."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.activity import DECISION, DONE
from pegboard.gateway.gateway import Gateway
from pegboard.ports import AuditQuery, AuditRow

from .answers import routes_about
from .shapes import moment

MOST: Final = 20
_LOOKED_THROUGH: Final = 200


class DecidedShape(TypedDict):
    id: int
    """The number of its record in the activity."""
    by: str
    at: str | None
    kind: str
    about: str | None
    said: str
    policyVersion: int


class MeanwhileShape(TypedDict):
    decisions: list[DecidedShape]
    """The latest first. A decision of this moment may be missing: ask again when the bell rings for activity."""
    more: bool
    policyVersion: int


def meanwhile_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("policy")

    @routes.get("/policy/decisions")
    async def decided_since(
        after: Annotated[int, Query(ge=0, lt=2**63, description="The policy version you looked at.")],
    ) -> MeanwhileShape:
        """What was decided since a version of the policy, by whom, the latest first: at most 20."""
        rows = (await gateway.audit.back(AuditQuery(kind=DECISION, ended=DONE, limit=_LOOKED_THROUGH))).rows
        told = [shape for row in rows if (shape := _shape(row, after)) is not None]
        return {"decisions": told[:MOST], "more": len(told) > MOST, "policyVersion": gateway.board.policy.version}

    return routes


def _shape(row: AuditRow, after: int) -> DecidedShape | None:
    version = row.policy_version
    if version is None or version <= after:
        return None
    return {
        "id": row.number,
        "by": row.principal,
        "at": moment(row.at),
        "kind": row.kind,
        "about": row.tool,
        "said": row.said,
        "policyVersion": version,
    }
