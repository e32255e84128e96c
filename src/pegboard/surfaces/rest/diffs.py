"""The route that holds another configuration against the one that is loaded."""

from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.ids import PrincipalId, ProviderKey
from pegboard.core.policy import Policy, id_clashes
from pegboard.core.resolve import resolve
from pegboard.core.running import connection_settings, servers_to_run
from pegboard.core.view import View
from pegboard.core.whatif import VerdictChange, what_if
from pegboard.gateway.gateway import Gateway

from .answers import make_router
from .bodies import OtherConfigBody
from .problems import ProblemError
from .shapes import VerdictInfo, verdict_info


class VerdictShiftInfo(TypedDict):
    id: str
    before: VerdictInfo
    after: VerdictInfo


class ConfigDiffResponse(TypedDict):
    shifts: list[VerdictShiftInfo]
    goneServers: list[str]
    newServers: list[str]
    startedServers: list[str]
    changedServers: list[str]
    clashes: list[str]
    unknown: list[str]
    warnings: list[str]


def diff_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("board")
    board = gateway.board

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
        after = gateway.value_checker.without_resolving(board.catalogue, replace(before, declared=other.declared))
        found = what_if(board.catalogue, before, after, view)
        unknown = resolve(board.catalogue, after, view).unknown_in_selection
        return {
            "shifts": [verdict_shift_info(shift) for shift in found.changes if shift.is_relevant],
            "goneServers": [str(key) for key in found.removed_servers],
            "newServers": [str(key) for key in found.new_servers],
            "startedServers": _servers_to_start(gateway, before, after, found.new_servers),
            "changedServers": _changed_servers(before, after),
            "clashes": [str(clash) for clash in id_clashes(other.declared, board.policy.decisions)],
            "unknown": [f"selection: {name}" for name in unknown],
            "warnings": [
                str(problem) for problem in other.all_warnings.applicable(after.toolsets, after.callers, after.servers)
            ],
        }

    return routes


def verdict_shift_info(shift: VerdictChange) -> VerdictShiftInfo:
    return {"id": str(shift.tool), "before": verdict_info(shift.before), "after": verdict_info(shift.after)}


def _servers_to_start(gateway: Gateway, before: Policy, after: Policy, fresh: tuple[ProviderKey, ...]) -> list[str]:
    """Off until now, so nothing of what they list may be known yet."""
    listings = gateway.board.catalogue.listings
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
