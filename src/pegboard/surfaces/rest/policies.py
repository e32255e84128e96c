"""Routes for the whole policy as one text: exported, held against what holds, and imported all or nothing."""

from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any

import anyio.to_thread
from fastapi import APIRouter
from fastapi.responses import Response
from typing_extensions import TypedDict

from pegboard.config.policy_reading import Unreadable, read_policy
from pegboard.config.policy_writing import policy_text
from pegboard.core.carrying import (
    Altered,
    Carried,
    ReplaceDecisions,
    alterations,
    carried,
    left_out,
    replaced,
    tokens_missing,
)
from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import LOCAL, PrincipalId
from pegboard.core.policy import Policy
from pegboard.core.rejected import Rejected
from pegboard.core.scope import Scope
from pegboard.core.unreadable import describe_row
from pegboard.core.view import View
from pegboard.core.whatif import what_if
from pegboard.gateway.gateway import Gateway

from .access import needs, whoever
from .answers import routes_about
from .bodies import PolicyComparisonBody, PolicyImportBody
from .deciding import Version, done
from .diffs import ShiftShape, shift_shape
from .problems import Problem

MOST_CALLERS = 50
MOST_SHIFTS = 2_000
_NAME = "pegboard-policy.json"
_FILE = "application/octet-stream"
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The policy.", "content": {_FILE: {"schema": {"type": "string", "format": "binary"}}}}
}


class SecretPlace(TypedDict):
    """A variable that stands where a value was that may be secret. Set it where the policy is imported."""

    name: str
    at: list[str]


class ExportedPolicy(TypedDict):
    name: str
    text: str
    secrets: list[SecretPlace]
    leftBehind: list[str]
    policyVersion: int


class AlteredShape(TypedDict):
    """Decisions of one kind, by what each is about."""

    kind: str
    added: list[str]
    removed: list[str]
    changed: list[str]


class CallerShifts(TypedDict):
    principal: str
    shifts: list[ShiftShape]
    more: int
    """Shifts beyond those that are told."""


class PolicyDifference(TypedDict):
    changes: list[AlteredShape]
    callers: list[CallerShifts]
    newServers: list[str]
    goneServers: list[str]
    leftOut: list[str]
    """Decisions about what is not on this board: they are not kept."""
    imported: bool
    policyVersion: int


def policy_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("policy")
    board = gateway.board

    async def read(text: str) -> Carried:
        found = await anyio.to_thread.run_sync(read_policy, text, whoever(), gateway.clock())
        if isinstance(found, Unreadable):
            told = list(found.problems)
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told), {"errors": told})
        return found

    async def difference(said: Carried, is_open: bool) -> PolicyDifference:
        before, by = board.policy, whoever()
        if (refused := tokens_missing(before, said, is_open)) is not None:
            raise Problem(HTTPStatus.CONFLICT, refused.why, {"errors": [refused.why]})
        after = replaced(before, said, by)
        if isinstance(after, Rejected):
            told = after.why.splitlines()
            raise Problem(HTTPStatus.CONFLICT, after.why, {"errors": told})
        other = gateway.fitting.without_resolving(board.catalogue, replace(before, decided=after))
        return await anyio.to_thread.run_sync(partial(_difference, board.catalogue, before, other, said))

    def exported() -> Carried:
        """Without a row that cannot be read, another board would open what the row closes here."""
        rows = [row for row in board.policy.decided.unreadable if row.is_decision]
        if rows:
            told = f"The policy cannot be exported: {describe_row(rows[0])}"
            raise Problem(HTTPStatus.CONFLICT, told)
        return replace(carried(board.policy.decided), tokens_required=board.policy.requires_tokens)

    @routes.get("/policy/export")
    @needs(Scope.OPERATE)
    async def export_policy() -> ExportedPolicy:
        """All that people decided as one text, which another board can import. No secret and no token is in it."""
        policy = board.policy
        written = await anyio.to_thread.run_sync(policy_text, exported())
        return {
            "name": _NAME,
            "text": written.text,
            "secrets": [{"name": name, "at": list(places)} for name, places in written.secrets.items()],
            "leftBehind": [
                f"Toolset {id!r} has files, and is exported by itself: pegboard toolset export {id}"
                for id in policy.decided.files
            ],
            "policyVersion": policy.version,
        }

    @routes.get("/policy/export/file", response_class=Response, responses=_TEXT)
    @needs(Scope.OPERATE)
    async def download_policy() -> Response:
        """The same text alone, as a file."""
        written = await anyio.to_thread.run_sync(policy_text, exported())
        headers = {"content-disposition": f'attachment; filename="{_NAME}"'}
        return Response(written.text, media_type=_FILE, headers=headers)

    @routes.post("/policy/what-if")
    async def compare_policy(body: PolicyComparisonBody) -> PolicyDifference:
        """What would change if this policy held: decisions, and the verdict of each tool for each caller. Nothing is
        saved."""
        return await difference(await read(body.text), body.open)

    @routes.post("/policy/import")
    @needs(Scope.ADMIN)
    async def import_policy(body: PolicyImportBody, if_match: Version = None) -> PolicyDifference:
        """From now on all that people decided is what this policy says. All of it or nothing."""
        said = await read(body.text)
        told = await difference(said, body.open)
        looked_at = str(body.version) if if_match is None and body.version is not None else if_match
        await done(gateway, ReplaceDecisions(said, body.open), looked_at)
        told["imported"], told["policyVersion"] = True, board.policy.version
        return told

    return routes


def _difference(catalogue: Catalogue, before: Policy, after: Policy, said: Carried) -> PolicyDifference:
    """Not for the event loop: every tool is judged twice for every caller."""
    callers = [_shifts(catalogue, before, after, who) for who in _callers(before, after)]
    whole = what_if(catalogue, before, after, View())
    return {
        "changes": [_altered_shape(each) for each in alterations(carried(before.decided), carried(after.decided))],
        "callers": callers,
        "newServers": [str(key) for key in whole.fresh],
        "goneServers": [str(key) for key in whole.gone],
        "leftOut": [*left_out(before, said)],
        "imported": False,
        "policyVersion": before.version,
    }


def _callers(before: Policy, after: Policy) -> list[PrincipalId]:
    named = {*before.declared.principals, *before.declared.grants, *before.decided.grants, *after.decided.grants}
    return [LOCAL, *sorted(named - {LOCAL})[: MOST_CALLERS - 1]]


def _shifts(catalogue: Catalogue, before: Policy, after: Policy, who: PrincipalId) -> CallerShifts:
    shifts = [shift for shift in what_if(catalogue, before, after, View(who)).shifts if shift.matters]
    return {
        "principal": who,
        "shifts": [shift_shape(shift) for shift in shifts[:MOST_SHIFTS]],
        "more": max(0, len(shifts) - MOST_SHIFTS),
    }


def _altered_shape(each: Altered) -> AlteredShape:
    return {
        "kind": each.kind,
        "added": list(each.added),
        "removed": list(each.removed),
        "changed": list(each.changed),
    }
