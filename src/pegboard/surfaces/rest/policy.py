"""Routes: export, diff and import of the policy."""

from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
from fastapi import APIRouter
from fastapi.responses import Response
from typing_extensions import TypedDict

from pegboard.config.policy_file import UnreadablePolicy, policy_text, read_policy
from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.commands.first_sight import connection_settings, servers_to_run
from pegboard.core.commands.row_repair import DeleteRows
from pegboard.core.commands.transfer import (
    DecisionDifference,
    PolicyExport,
    ReplaceDecisions,
    apply_import,
    check_tokens_required,
    decision_differences,
    describe_left_out,
    policy_export,
)
from pegboard.core.decision.resolve import resolve
from pegboard.core.explain.what_if import VerdictChange, what_if
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ProviderKey
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.policy.policy import Policy, id_clashes
from pegboard.core.policy.unreadable_rows import UnreadableRow, describe_effect, describe_row, repair_command
from pegboard.gateway.argument_values import ArgumentValueChecker
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator
from pegboard.ports.providers import Clock
from pegboard.surfaces.rest.auth import decision_author, requires_scopes
from pegboard.surfaces.rest.commands import IfMatchVersion, run_command
from pegboard.surfaces.rest.requests import DeleteRowsBody, OtherConfigBody, PolicyComparisonBody, PolicyImportBody
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.schemas import VerdictInfo, verdict_info

# The route that holds another configuration against the one that is loaded.


class VerdictChangeInfo(TypedDict):
    id: str
    before: VerdictInfo
    after: VerdictInfo


class ConfigDiffResponse(TypedDict):
    changes: list[VerdictChangeInfo]
    removedServers: list[str]
    addedServers: list[str]
    startedServers: list[str]
    changedServers: list[str]
    conflicts: list[str]
    unknownNames: list[str]
    warnings: list[str]


def diff_routes(board: BoardState, value_checker: ArgumentValueChecker) -> APIRouter:
    routes = make_router("board")

    @routes.post("/diff")
    async def diff_config(body: OtherConfigBody) -> ConfigDiffResponse:
        """Which tools would open or lock if this configuration were loaded instead. References such as ${NAME} are not
        resolved: whether each has a value is not checked."""
        other = load_settings_text(body.text, body.file, Path(body.file).parent, resolves_references=False)
        if isinstance(other, InvalidFile):
            told = [str(problem) for problem in other.problems]
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told), {"errors": told})
        view = View(PrincipalId(body.principal))
        before = board.policy
        after = value_checker.without_resolving(board.catalogue, replace(before, declared=other.declared))
        found = what_if(board.catalogue, before, after, view)
        unknown = resolve(board.catalogue, after, view).unknown_in_selection
        return {
            "changes": [verdict_change_info(shift) for shift in found.changes if shift.is_relevant],
            "removedServers": [str(key) for key in found.removed_servers],
            "addedServers": [str(key) for key in found.new_servers],
            "startedServers": _servers_to_start(board, before, after, found.new_servers),
            "changedServers": _changed_servers(before, after),
            "conflicts": [str(clash) for clash in id_clashes(other.declared, board.policy.decisions)],
            "unknownNames": [f"selection: {name}" for name in unknown],
            "warnings": [
                str(problem) for problem in other.all_warnings.applicable(after.toolsets, after.callers, after.servers)
            ],
        }

    return routes


def verdict_change_info(shift: VerdictChange) -> VerdictChangeInfo:
    return {"id": str(shift.tool), "before": verdict_info(shift.before), "after": verdict_info(shift.after)}


def _servers_to_start(board: BoardState, before: Policy, after: Policy, fresh: tuple[ProviderKey, ...]) -> list[str]:
    """Off until now, so nothing of what they list may be known yet."""
    listings = board.catalogue.listings
    started = (key for key in servers_to_run(after) if key not in servers_to_run(before) and key not in fresh)
    return [str(key) for key in started if key not in listings or not listings[key].tools]


def _changed_servers(before: Policy, after: Policy) -> list[str]:
    """Reached in another way than before. What only moved to another line is the same."""
    now, then = servers_to_run(before), servers_to_run(after)
    return [
        str(key)
        for key, server in then.items()
        if key in now and connection_settings(now[key]) != connection_settings(server)
    ]


MAX_CALLERS = 50
MAX_CHANGES = 2_000
_FILE_NAME = "pegboard-policy.json"
_FILE_TYPE = "application/octet-stream"
_FILE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The policy.", "content": {_FILE_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
}


class SecretLocationsInfo(TypedDict):
    """A variable that stands where a value was that may be secret. Set it where the policy is imported."""

    name: str
    locations: list[str]


class PolicyExportResponse(TypedDict):
    name: str
    text: str
    secrets: list[SecretLocationsInfo]
    omitted: list[str]
    policyVersion: int


class PolicyChangeInfo(TypedDict):
    """Decisions of one kind, by what each is about."""

    kind: str
    added: list[str]
    removed: list[str]
    changed: list[str]


class CallerChangesInfo(TypedDict):
    principal: str
    changes: list[VerdictChangeInfo]
    omitted: int
    """Shifts beyond those that are told."""


class PolicyDiffResponse(TypedDict):
    changes: list[PolicyChangeInfo]
    callers: list[CallerChangesInfo]
    addedServers: list[str]
    removedServers: list[str]
    omitted: list[str]
    """Decisions about what is not on this board: they are not kept."""
    imported: bool
    policyVersion: int


def policy_routes(
    board: BoardState, clock: Clock, operator: Operator, value_checker: ArgumentValueChecker
) -> APIRouter:
    routes = make_router("policy")

    async def parse_policy(text: str) -> PolicyExport:
        found = await anyio.to_thread.run_sync(read_policy, text, decision_author(), clock())
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
        other = value_checker.without_resolving(board.catalogue, replace(before, decisions=after))
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
            "secrets": [{"name": name, "locations": list(places)} for name, places in written.secrets.items()],
            "omitted": [
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
        await run_command(operator, ReplaceDecisions(said, body.open), looked_at)
        told["imported"], told["policyVersion"] = True, board.policy.version
        return told

    return routes


def _policy_diff(catalogue: Catalogue, before: Policy, after: Policy, said: PolicyExport) -> PolicyDiffResponse:
    """Not for the event loop: every tool is judged twice for every caller."""
    callers = [_caller_changes(catalogue, before, after, who) for who in _all_callers(before, after)]
    whole = what_if(catalogue, before, after, View())
    return {
        "changes": [
            _policy_change_info(each)
            for each in decision_differences(policy_export(before.decisions), policy_export(after.decisions))
        ],
        "callers": callers,
        "addedServers": [str(key) for key in whole.new_servers],
        "removedServers": [str(key) for key in whole.removed_servers],
        "omitted": [*describe_left_out(before, said)],
        "imported": False,
        "policyVersion": before.version,
    }


def _all_callers(before: Policy, after: Policy) -> list[PrincipalId]:
    named = {*before.declared.principals, *before.declared.grants, *before.decisions.grants, *after.decisions.grants}
    return [LOCAL_PRINCIPAL, *sorted(named - {LOCAL_PRINCIPAL})[: MAX_CALLERS - 1]]


def _caller_changes(catalogue: Catalogue, before: Policy, after: Policy, who: PrincipalId) -> CallerChangesInfo:
    shifts = [shift for shift in what_if(catalogue, before, after, View(who)).changes if shift.is_relevant]
    return {
        "principal": who,
        "changes": [verdict_change_info(shift) for shift in shifts[:MAX_CHANGES]],
        "omitted": max(0, len(shifts) - MAX_CHANGES),
    }


def _policy_change_info(each: DecisionDifference) -> PolicyChangeInfo:
    return {
        "kind": each.kind,
        "added": list(each.added),
        "removed": list(each.removed),
        "changed": list(each.changed),
    }


# Routes for rows of the store that cannot be read: listed with what each keeps locked, and deleted.

MAX_ROWS: Final = 1_000


class UnreadableRowInfo(TypedDict):
    id: str
    """By which the row is deleted; the same for as long as its key is."""
    table: str
    row: str
    reason: str
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


def stored_row_routes(board: BoardState, operator: Operator) -> APIRouter:
    routes = make_router("policy")

    @routes.get("/store/unreadable")
    async def list_unreadable_rows() -> UnreadableRowsResponse:
        """Rows of the store that cannot be read, the first 1,000. What each may have closed is locked until it is
        fixed."""
        await operator.catch_up()
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
        await run_command(operator, DeleteRows(rows), looked_at)
        return {"deleted": [str(row) for row in rows], "policyVersion": board.policy.version}

    return routes


def _row_info(row: UnreadableRow) -> UnreadableRowInfo:
    return {
        "id": row.row.id,
        "table": row.row.table,
        "row": str(row.row),
        "reason": row.why,
        "effect": describe_effect(row),
        "fix": repair_command(row),
        "alsoDeleted": [str(orphan) for orphan in row.orphans],
    }
