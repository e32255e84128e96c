"""The route that tells what an edit of an override would make of its tools. Nothing is saved."""

from dataclasses import replace
from itertools import islice
from typing import Final

from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.commands import CommandRejection, apply_command
from pegboard.core.effects import ineffective_fields
from pegboard.core.faces import ToolEditPreview, preview_edit, tools_changed_by
from pegboard.core.ids import ToolId
from pegboard.core.misfit import misfits_of_override, override_misfits
from pegboard.core.policy import Policy
from pegboard.core.scope import TokenScope
from pegboard.core.values import ValueProblems
from pegboard.gateway.gateway import Gateway

from .access import decision_author, requires_scopes
from .answers import make_router
from .bodies import OverrideEditBody
from .override_shapes import IdleFieldInfo, MisfitInfo, idle_field_info, misfit_info
from .overrides import stored_override, to_edit_command
from .problems import ProblemError
from .reviews import DiffSectionInfo
from .shapes import VerdictInfo, verdict_info
from .tool_faces import ToolSpecInfo, diff_section_infos, tool_spec_info

MAX_TOOLS: Final = 50
"""Tools that are told of one by one, where a pattern fits many."""


class OverridePreviewTool(TypedDict):
    id: str
    before: ToolSpecInfo
    after: ToolSpecInfo
    difference: list[DiffSectionInfo]
    verdict: VerdictInfo
    problems: list[str]


class OverridePreviewResponse(TypedDict):
    toolset: str | None
    target: str | None
    tools: list[OverridePreviewTool]
    affected: int
    misfits: list[MisfitInfo]
    withoutEffect: list[IdleFieldInfo]
    problems: list[str]
    policyVersion: int


def override_preview_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("overrides")
    board = gateway.board

    @routes.post("/overrides/preview")
    @requires_scopes(TokenScope.READ)
    async def preview_override(body: OverrideEditBody) -> OverridePreviewResponse:
        """What `POST /overrides` with the same body would do: each tool as a model sees it before and after, the
        difference, and what is wrong with the edit. With `problems`, the edit would be refused."""
        policy, catalogue = board.policy, board.catalogue
        nothing: OverridePreviewResponse = {
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
            command = to_edit_command(gateway, body)
        except ProblemError as problem:
            if problem.status.value not in (409, 422):
                raise
            told = problem.extra.get("errors")
            return {**nothing, "problems": [*map(str, told)] if isinstance(told, list) else [problem.detail]}
        said = command.edit.changes
        after = apply_command(policy, command, decision_author(), gateway.clock())
        if isinstance(after, CommandRejection):
            return {**nothing, "problems": [after.why]}
        about = said.target if isinstance(said.target, ToolId) else None
        after = replace(after, value_problems={**after.value_problems, **_value_faults(gateway, after, about)})
        found = [*preview_edit(catalogue, policy, after, about)]
        wrong = (
            [*dict.fromkeys(each for change in found[:MAX_TOOLS] for each in change.problems)]
            if about is not None
            else []
        )
        row = stored_override(after, said) or said
        return {
            **nothing,
            "toolset": said.toolset,
            "target": str(said.target),
            "tools": [_preview_tool(change) for change in islice(found, MAX_TOOLS)],
            "affected": len(found),
            "misfits": [
                {**misfit_info(misfit)}
                for misfit in misfits_of_override([*override_misfits(catalogue, after)], row)[:MAX_TOOLS]
            ],
            "withoutEffect": [
                {**idle_field_info(each)} for each in islice(ineffective_fields(row, said, catalogue, after), MAX_TOOLS)
            ],
            "problems": wrong,
        }

    return routes


def _value_faults(gateway: Gateway, after: Policy, about: ToolId | None) -> ValueProblems:
    """Of values, which only their tools' schemas can judge."""
    board = gateway.board
    named = None if about is None else board.catalogue.tools.get(about)
    touched = [*tools_changed_by(board.catalogue, board.policy, after)] if named is None else [named]
    return {
        value: why
        for tool in touched[:MAX_TOOLS]
        for value, why in gateway.value_checker.faults_of_tool(tool, after).items()
    }


def _preview_tool(change: ToolEditPreview) -> OverridePreviewTool:
    return {
        "id": str(change.tool.id),
        "before": tool_spec_info(change.before),
        "after": tool_spec_info(change.after),
        "difference": diff_section_infos(change.difference),
        "verdict": {**verdict_info(change.verdict)},
        "problems": [*change.problems],
    }
