"""Routes for the whole policy as one text: exported, held against what holds, and imported all or nothing."""

from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any

import anyio.to_thread
from fastapi import APIRouter
from fastapi.responses import Response
from typing_extensions import TypedDict

from pegboard.config.policy_reading import UnreadablePolicy, read_policy
from pegboard.config.policy_writing import policy_text
from pegboard.core.carrying import (
    DecisionDifference,
    PolicyExport,
    ReplaceDecisions,
    apply_import,
    check_tokens_required,
    decision_differences,
    describe_left_out,
    policy_export,
)
from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.policy import Policy
from pegboard.core.rejected import CommandRejection
from pegboard.core.scope import TokenScope
from pegboard.core.unreadable import describe_row
from pegboard.core.view import View
from pegboard.core.whatif import what_if
from pegboard.gateway.gateway import Gateway

from .access import decision_author, requires_scopes
from .answers import make_router
from .bodies import PolicyComparisonBody, PolicyImportBody
from .deciding import IfMatchVersion, run_command
from .diffs import VerdictShiftInfo, verdict_shift_info
from .problems import ProblemError

MAX_CALLERS = 50
MAX_SHIFTS = 2_000
_FILE_NAME = "pegboard-policy.json"
_FILE_TYPE = "application/octet-stream"
_FILE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The policy.", "content": {_FILE_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
}


class SecretPlaceInfo(TypedDict):
    """A variable that stands where a value was that may be secret. Set it where the policy is imported."""

    name: str
    at: list[str]


class PolicyExportResponse(TypedDict):
    name: str
    text: str
    secrets: list[SecretPlaceInfo]
    leftBehind: list[str]
    policyVersion: int


class PolicyChangeInfo(TypedDict):
    """Decisions of one kind, by what each is about."""

    kind: str
    added: list[str]
    removed: list[str]
    changed: list[str]


class CallerShiftsInfo(TypedDict):
    principal: str
    shifts: list[VerdictShiftInfo]
    more: int
    """Shifts beyond those that are told."""


class PolicyDiffResponse(TypedDict):
    changes: list[PolicyChangeInfo]
    callers: list[CallerShiftsInfo]
    newServers: list[str]
    goneServers: list[str]
    leftOut: list[str]
    """Decisions about what is not on this board: they are not kept."""
    imported: bool
    policyVersion: int


def policy_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("policy")
    board = gateway.board

    async def parse_policy(text: str) -> PolicyExport:
        found = await anyio.to_thread.run_sync(read_policy, text, decision_author(), gateway.clock())
        if isinstance(found, UnreadablePolicy):
            told = list(found.problems)
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told), {"errors": told})
        return found

    async def difference(said: PolicyExport, is_open: bool) -> PolicyDiffResponse:
        before, by = board.policy, decision_author()
        if (refused := check_tokens_required(before, said, is_open)) is not None:
            raise ProblemError(HTTPStatus.CONFLICT, refused.why, {"errors": [refused.why]})
        after = apply_import(before, said, by)
        if isinstance(after, CommandRejection):
            told = after.why.splitlines()
            raise ProblemError(HTTPStatus.CONFLICT, after.why, {"errors": told})
        other = gateway.value_checker.without_resolving(board.catalogue, replace(before, decisions=after))
        return await anyio.to_thread.run_sync(partial(_policy_diff, board.catalogue, before, other, said))

    def export_current() -> PolicyExport:
        """Without a row that cannot be read, another board would open what the row closes here."""
        rows = [row for row in board.policy.decisions.unreadable if row.is_decision]
        if rows:
            told = f"The policy cannot be exported: {describe_row(rows[0])}"
            raise ProblemError(HTTPStatus.CONFLICT, told)
        return replace(policy_export(board.policy.decisions), tokens_required=board.policy.requires_tokens)

    @routes.get("/policy/export")
    @requires_scopes(TokenScope.OPERATE)
    async def export_policy() -> PolicyExportResponse:
        """All that people decided as one text, which another board can import. No secret and no token is in it."""
        policy = board.policy
        written = await anyio.to_thread.run_sync(policy_text, export_current())
        return {
            "name": _FILE_NAME,
            "text": written.text,
            "secrets": [{"name": name, "at": list(places)} for name, places in written.secrets.items()],
            "leftBehind": [
                f"Toolset {id!r} has files, and is exported by itself: pegboard toolset export {id}"
                for id in policy.decisions.files
            ],
            "policyVersion": policy.version,
        }

    @routes.get("/policy/export/file", response_class=Response, responses=_FILE_RESPONSES)
    @requires_scopes(TokenScope.OPERATE)
    async def download_policy() -> Response:
        """The same text alone, as a file."""
        written = await anyio.to_thread.run_sync(policy_text, export_current())
        headers = {"content-disposition": f'attachment; filename="{_FILE_NAME}"'}
        return Response(written.text, media_type=_FILE_TYPE, headers=headers)

    @routes.post("/policy/what-if")
    async def compare_policy(body: PolicyComparisonBody) -> PolicyDiffResponse:
        """What would change if this policy held: decisions, and the verdict of each tool for each caller. Nothing is
        saved."""
        return await difference(await parse_policy(body.text), body.open)

    @routes.post("/policy/import")
    @requires_scopes(TokenScope.ADMIN)
    async def import_policy(body: PolicyImportBody, if_match: IfMatchVersion = None) -> PolicyDiffResponse:
        """From now on all that people decided is what this policy says. All of it or nothing."""
        said = await parse_policy(body.text)
        told = await difference(said, body.open)
        looked_at = str(body.version) if if_match is None and body.version is not None else if_match
        await run_command(gateway, ReplaceDecisions(said, body.open), looked_at)
        told["imported"], told["policyVersion"] = True, board.policy.version
        return told

    return routes


def _policy_diff(catalogue: Catalogue, before: Policy, after: Policy, said: PolicyExport) -> PolicyDiffResponse:
    """Not for the event loop: every tool is judged twice for every caller."""
    callers = [_caller_shifts(catalogue, before, after, who) for who in _all_callers(before, after)]
    whole = what_if(catalogue, before, after, View())
    return {
        "changes": [
            _policy_change_info(each)
            for each in decision_differences(policy_export(before.decisions), policy_export(after.decisions))
        ],
        "callers": callers,
        "newServers": [str(key) for key in whole.new_servers],
        "goneServers": [str(key) for key in whole.removed_servers],
        "leftOut": [*describe_left_out(before, said)],
        "imported": False,
        "policyVersion": before.version,
    }


def _all_callers(before: Policy, after: Policy) -> list[PrincipalId]:
    named = {*before.declared.principals, *before.declared.grants, *before.decisions.grants, *after.decisions.grants}
    return [LOCAL_PRINCIPAL, *sorted(named - {LOCAL_PRINCIPAL})[: MAX_CALLERS - 1]]


def _caller_shifts(catalogue: Catalogue, before: Policy, after: Policy, who: PrincipalId) -> CallerShiftsInfo:
    shifts = [shift for shift in what_if(catalogue, before, after, View(who)).changes if shift.is_relevant]
    return {
        "principal": who,
        "shifts": [verdict_shift_info(shift) for shift in shifts[:MAX_SHIFTS]],
        "more": max(0, len(shifts) - MAX_SHIFTS),
    }


def _policy_change_info(each: DecisionDifference) -> PolicyChangeInfo:
    return {
        "kind": each.kind,
        "added": list(each.added),
        "removed": list(each.removed),
        "changed": list(each.changed),
    }
