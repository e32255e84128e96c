"""The route that tells what an edit of an override would make of its tools. Nothing is saved."""

from dataclasses import replace
from itertools import islice
from typing import Final

from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.commands import Rejected, apply
from pegboard.core.effects import idle
from pegboard.core.faces import Change, changes, touched_by
from pegboard.core.ids import ToolId
from pegboard.core.misfit import by_row, misfits
from pegboard.core.policy import Policy
from pegboard.core.scope import Scope
from pegboard.core.values import Faults
from pegboard.gateway.gateway import Gateway

from .access import needs, whoever
from .answers import routes_about
from .bodies import EditBody
from .override_shapes import IdleShape, MisfitShape, idle_shape, misfit_shape
from .overrides import edit_of, row_of
from .problems import Problem
from .reviews import SectionShape
from .shapes import VerdictShape, verdict_shape
from .tool_faces import SpecShape, difference_shape, spec_shape

MOST: Final = 50
"""Tools that are told of one by one, where a pattern fits many."""


class PreviewedTool(TypedDict):
    id: str
    before: SpecShape
    after: SpecShape
    difference: list[SectionShape]
    verdict: VerdictShape
    problems: list[str]


class Preview(TypedDict):
    toolset: str | None
    target: str | None
    tools: list[PreviewedTool]
    affected: int
    misfits: list[MisfitShape]
    withoutEffect: list[IdleShape]
    problems: list[str]
    policyVersion: int


def override_preview_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("overrides")
    board = gateway.board

    @routes.post("/overrides/preview")
    @needs(Scope.READ)
    async def preview_override(body: EditBody) -> Preview:
        """What `POST /overrides` with the same body would do: each tool as a model sees it before and after, the
        difference, and what is wrong with the edit. With `problems`, the edit would be refused."""
        policy, catalogue = board.policy, board.catalogue
        nothing: Preview = {
            "toolset": body.toolset,
            "target": body.target,
            "tools": [],
            "affected": 0,
            "misfits": [],
            "withoutEffect": [],
            "problems": [],
            "policyVersion": policy.version,
        }
        try:
            command = edit_of(gateway, body)
        except Problem as problem:
            if problem.status.value not in (409, 422):
                raise
            told = problem.more.get("errors")
            return {**nothing, "problems": [*map(str, told)] if isinstance(told, list) else [problem.detail]}
        said = command.edit.said
        after = apply(policy, command, whoever(), gateway.clock())
        if isinstance(after, Rejected):
            return {**nothing, "problems": [after.why]}
        about = said.target if isinstance(said.target, ToolId) else None
        after = replace(after, faults={**after.faults, **_faults(gateway, after, about)})
        found = [*changes(catalogue, policy, after, about)]
        wrong = [*dict.fromkeys(each for change in found[:MOST] for each in change.unfit)] if about is not None else []
        row = row_of(after, said) or said
        return {
            **nothing,
            "toolset": said.toolset,
            "target": str(said.target),
            "tools": [_shape(change) for change in islice(found, MOST)],
            "affected": len(found),
            "misfits": [{**misfit_shape(misfit)} for misfit in by_row([*misfits(catalogue, after)], row)[:MOST]],
            "withoutEffect": [{**idle_shape(each)} for each in islice(idle(row, said, catalogue, after), MOST)],
            "problems": wrong,
        }

    return routes


def _faults(gateway: Gateway, after: Policy, about: ToolId | None) -> Faults:
    """Of values, which only their tools' schemas can judge."""
    board = gateway.board
    named = None if about is None else board.catalogue.tools.get(about)
    touched = [*touched_by(board.catalogue, board.policy, after)] if named is None else [named]
    return {value: why for tool in touched[:MOST] for value, why in gateway.fitting.of_tool(tool, after).items()}


def _shape(change: Change) -> PreviewedTool:
    return {
        "id": str(change.tool.id),
        "before": spec_shape(change.before),
        "after": spec_shape(change.after),
        "difference": difference_shape(change.difference),
        "verdict": {**verdict_shape(change.verdict)},
        "problems": [*change.unfit],
    }
