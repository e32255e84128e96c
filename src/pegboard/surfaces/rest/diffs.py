"""The route that holds another configuration against the one that is loaded."""

from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.config.settings import Broken, load_text
from pegboard.core.ids import PrincipalId, ProviderKey
from pegboard.core.policy import Policy, clashes
from pegboard.core.resolve import resolve
from pegboard.core.running import reach, wanted
from pegboard.core.view import View
from pegboard.core.whatif import Shift, what_if
from pegboard.gateway.gateway import Gateway

from .answers import routes_about
from .bodies import OtherConfig
from .problems import Problem
from .shapes import VerdictShape, verdict_shape


class ShiftShape(TypedDict):
    id: str
    before: VerdictShape
    after: VerdictShape


class ConfigDifference(TypedDict):
    shifts: list[ShiftShape]
    goneServers: list[str]
    newServers: list[str]
    startedServers: list[str]
    changedServers: list[str]
    clashes: list[str]
    unknown: list[str]
    warnings: list[str]


def diff_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("board")
    board = gateway.board

    @routes.post("/diff")
    async def diff_config(body: OtherConfig) -> ConfigDifference:
        """Which tools would open or lock if this configuration were loaded instead. References such as ${NAME} are not
        resolved: whether each has a value is not checked."""
        other = load_text(body.text, body.file, Path(body.file).parent, resolves_references=False)
        if isinstance(other, Broken):
            told = [str(problem) for problem in other.problems]
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told), {"errors": told})
        view = View(PrincipalId(body.principal))
        before = board.policy
        after = gateway.fitting.without_resolving(board.catalogue, replace(before, declared=other.declared))
        found = what_if(board.catalogue, before, after, view)
        unknown = resolve(board.catalogue, after, view).unknown
        return {
            "shifts": [shift_shape(shift) for shift in found.shifts if shift.matters],
            "goneServers": [str(key) for key in found.gone],
            "newServers": [str(key) for key in found.fresh],
            "startedServers": _started(gateway, before, after, found.fresh),
            "changedServers": _changed(before, after),
            "clashes": [str(clash) for clash in clashes(other.declared, board.policy.decided)],
            "unknown": [f"selection: {name}" for name in unknown],
            "warnings": [str(problem) for problem in other.remarks.told(after.toolsets, after.callers, after.servers)],
        }

    return routes


def shift_shape(shift: Shift) -> ShiftShape:
    return {"id": str(shift.tool), "before": verdict_shape(shift.before), "after": verdict_shape(shift.after)}


def _started(gateway: Gateway, before: Policy, after: Policy, fresh: tuple[ProviderKey, ...]) -> list[str]:
    """Off until now, so nothing of what they list may be known yet."""
    listings = gateway.board.catalogue.listings
    started = (key for key in wanted(after) if key not in wanted(before) and key not in fresh)
    return [str(key) for key in started if key not in listings or not listings[key].tools]


def _changed(before: Policy, after: Policy) -> list[str]:
    """Reached in another way than before. What only moved to another line is the same."""
    now, then = wanted(before), wanted(after)
    return [str(key) for key, server in then.items() if key in now and reach(now[key]) != reach(server)]
