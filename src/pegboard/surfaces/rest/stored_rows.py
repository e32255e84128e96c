"""Routes for rows of the store that cannot be read: listed with what each keeps locked, and deleted."""

from http import HTTPStatus
from typing import Final

from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.row_repair import DeleteRows
from pegboard.core.scope import TokenScope
from pegboard.core.unreadable import UnreadableRow, describe_effect, repair_command
from pegboard.gateway.gateway import Gateway

from .access import requires_scopes
from .answers import make_router
from .bodies import DeleteRowsBody
from .deciding import IfMatchVersion, run_command
from .problems import ProblemError

MAX_ROWS: Final = 1_000


class UnreadableRowInfo(TypedDict):
    id: str
    """By which the row is deleted; the same for as long as its key is."""
    table: str
    row: str
    why: str
    effect: str
    fix: str
    alsoDeleted: list[str]
    """Readable rows that mean nothing without it: they are deleted with it."""


class UnreadableRowsResponse(TypedDict):
    rows: list[UnreadableRowInfo]
    policyVersion: int


class RowsDeletedResponse(TypedDict):
    deleted: list[str]
    policyVersion: int


def stored_row_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("policy")
    board = gateway.board

    @routes.get("/store/unreadable")
    async def list_unreadable_rows() -> UnreadableRowsResponse:
        """Rows of the store that cannot be read, the first 1,000. What each may have closed is locked until it is
        fixed."""
        await gateway.operator.catch_up()
        policy = board.policy
        return {
            "rows": [_row_info(row) for row in policy.decisions.unreadable[:MAX_ROWS]],
            "policyVersion": policy.version,
        }

    @routes.post("/store/unreadable/delete")
    @requires_scopes(TokenScope.ADMIN)
    async def delete_unreadable_rows(body: DeleteRowsBody, if_match: IfMatchVersion = None) -> RowsDeletedResponse:
        """Delete rows that cannot be read, by their ids. What they closed may open: decide about it again."""
        known = {row.row.id: row.row for row in board.policy.decisions.unreadable}
        if (missing := next((id for id in body.rows if id not in known), None)) is not None:
            told = f"There is no unreadable row {missing[:80]!r}. Look again: pegboard store check"
            raise ProblemError(HTTPStatus.NOT_FOUND, told)
        rows = tuple(known[id] for id in dict.fromkeys(body.rows))
        looked_at = str(body.version) if if_match is None and body.version is not None else if_match
        await run_command(gateway, DeleteRows(rows), looked_at)
        return {"deleted": [str(row) for row in rows], "policyVersion": board.policy.version}

    return routes


def _row_info(row: UnreadableRow) -> UnreadableRowInfo:
    return {
        "id": row.row.id,
        "table": row.row.table,
        "row": str(row.row),
        "why": row.why,
        "effect": describe_effect(row),
        "fix": repair_command(row),
        "alsoDeleted": [str(orphan) for orphan in row.orphans],
    }
