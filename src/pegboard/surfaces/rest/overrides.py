"""Routes: overrides, their effects, and rendered calls."""

import json
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from itertools import islice
from typing import Annotated, Any, Final, NoReturn

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.config.overrides import PIN_ADVICE, plaintext_secrets
from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.commands.commands import EditOverride, apply_command
from pegboard.core.decision.facts import overridden_tool_of
from pegboard.core.explain.effects import ineffective_fields, misfits_of_override, override_effects, override_misfits
from pegboard.core.model.ids import BUILTIN, BadId, BuiltinKey, ToolId, ToolsetId, WireName, parse_tool_id
from pegboard.core.model.patterns import Pattern, is_pattern, parse_pattern
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.references import closest_names
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.overrides.model import ARGUMENT_PREFIX, OVERRIDE_FIELDS, Override, OverrideEdit, parse_target
from pegboard.core.overrides.schema import ValueProblems
from pegboard.core.policy.policy import Policy
from pegboard.core.renderers.catalogue import RENDERERS
from pegboard.core.review.review import ToolEditPreview, preview_edit, tools_changed_by
from pegboard.gateway.argument_values import ArgumentValueChecker
from pegboard.gateway.board import BoardState
from pegboard.gateway.doctor import all_misfits
from pegboard.gateway.operator import Operator
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.ports.providers import Clock
from pegboard.surfaces.rest.auth import decision_author, refuse_references, requires_scopes
from pegboard.surfaces.rest.commands import IfMatchVersion, run_command
from pegboard.surfaces.rest.override_schemas import (
    IneffectiveFieldInfo,
    OverrideEditResponse,
    OverrideMismatchInfo,
    OverridesResponse,
    RenderCallResponse,
    RenderersResponse,
    ToolOverridesResponse,
    effective_field_infos,
    ineffective_field_info,
    override_info,
    override_mismatch_info,
    render_tool_call,
    rendered_info,
    renderer_info,
)
from pegboard.surfaces.rest.requests import OverrideEditBody, OverridesQuery, RenderBody, ToolQuery
from pegboard.surfaces.rest.responses import ProblemError, make_router, paginate
from pegboard.surfaces.rest.review_schemas import DiffSectionInfo, ToolSpecInfo, diff_section_infos, tool_spec_info
from pegboard.surfaces.rest.schemas import VerdictInfo, verdict_info
from pegboard.surfaces.rest.tools import find_tool

# What an override is to be about, as people name it: a toolset, and in it a tool or a pattern.

OverridePlace = tuple[ToolsetId, ToolId | Pattern]


def parse_override_place(board: BoardState, text: str, toolset: str | None) -> OverridePlace:
    """With a toolset as the file would read it, but for a bare name, which is a tool; without one, the toolset must
    follow from what is named."""
    policy = board.policy
    if toolset is not None:
        return _parse_within(board, text, _find_toolset(policy, toolset))
    if text.startswith("toolset:"):
        return _parse_within(board, text, _find_toolset(policy, text.removeprefix("toolset:")))
    if is_pattern(text) or (text.startswith("mcp:") and ":" not in text.removeprefix("mcp:")):
        match parse_pattern(text):
            case Pattern() as about:
                return _toolset_of(about, policy), about
            case BadId(_, why):
                _refuse(f"{why}.")
    id = parse_tool_id(text)
    if isinstance(id, ToolId) and not isinstance(id.source, BuiltinKey) and id.source in policy.servers:
        return id.toolset, id  # tools come and go: it need not be listed now
    found = find_tool(board, text, board.resolution(View()))
    return found.toolset, found


def _parse_within(board: BoardState, text: str, toolset: ToolsetId) -> OverridePlace:
    id = parse_tool_id(text)
    if isinstance(id, ToolId) and id in board.catalogue.tools and id.toolset == toolset:
        return toolset, id
    if ":" not in text and not is_pattern(text) and toolset != BUILTIN:
        return toolset, _find_tool(board, text, toolset)
    match parse_target(text, toolset):
        case BadId(_, why):
            _refuse(f"{why}.")
        case found:
            return toolset, found


def _find_tool(board: BoardState, text: str, toolset: ToolsetId) -> ToolId:
    """A bare name is a tool here, with a toolset beside it as without one, so that what is set is what is cleared."""
    found = [id for id in board.catalogue.tools if id.toolset == toolset and id.name == text]
    if not found and (seen := board.resolution(View()).by_name.get(WireName(text))) is not None:
        found = [seen] if seen.toolset == toolset else []
    if len(found) == 1:
        return found[0]
    every = f"For every tool of that name, now and later, write '*:{text}'."
    if found:
        _refuse(f"{len(found)} tools of toolset {toolset!r} are {text!r}: {', '.join(map(str, found))}. {every}")
    near = closest_names(text, (id.name for id in board.catalogue.tools if id.toolset == toolset))
    hint = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    raise ProblemError(HTTPStatus.NOT_FOUND, f"Toolset {toolset!r} lists no tool {text!r}.{hint} {every}")


def _find_toolset(policy: Policy, text: str) -> ToolsetId:
    if text in policy.toolsets or text == BUILTIN:
        return ToolsetId(text)
    near = closest_names(text, policy.toolsets)
    hint = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else " See: pegboard servers list"
    raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no toolset {text!r}.{hint}")


def _toolset_of(about: Pattern, policy: Policy) -> ToolsetId:
    if about.scope in policy.toolsets:
        return ToolsetId(about.scope)
    owners = {key.toolset for key, server in policy.servers.items() if about.scope in (server.id, str(key))}
    if len(owners) == 1:
        return owners.pop()
    among = ", ".join(sorted(owners or policy.toolsets)) or "there is none yet"
    _refuse(f"An override belongs to one toolset, and {str(about)!r} does not tell which. Name it ({among}): --toolset")


def _refuse(why: str) -> NoReturn:
    raise ProblemError(HTTPStatus.BAD_REQUEST, why)


_FILE_NAME = "override.json"


def override_routes(
    board: BoardState, clock: Clock, operator: Operator, installer: Callable[[], ToolsetInstaller]
) -> APIRouter:
    routes = make_router("overrides")

    @routes.get("/overrides")
    async def list_overrides(asked: Annotated[OverridesQuery, Query()]) -> OverridesResponse:
        """Every override, manifests' and files' first, each field with whose word it is, and what does not fit."""
        found = all_misfits(board)
        every = [row for row in board.policy.overrides.rows if asked.toolset in (None, row.toolset)]
        rows, following = paginate(every, override_key, asked.limit, asked.after)
        told = [override_info(row, found) for row in rows]
        return {**following, "overrides": told, "policyVersion": board.policy.version}

    @routes.get("/overrides/show")
    async def show_override(asked: Annotated[ToolQuery, Query()]) -> ToolOverridesResponse:
        """What overrides make of one tool, and which of them said what."""
        id = find_tool(board, asked.tool, board.resolution(asked.view()))
        tool = board.catalogue.tools[id]
        shape = overridden_tool_of(tool, board.policy)
        found = [misfit for misfit in all_misfits(board) if misfit.tool == id]
        return {
            "id": str(id),
            "fields": effective_field_infos(board.policy.overrides.for_tool(id), override_effects(tool, board.policy)),
            "mismatches": [override_mismatch_info(misfit) for misfit in found],
            "inputSchema": dict((tool if shape is None else shape.tool).spec.input_schema),
        }

    @routes.post("/overrides")
    async def edit_override(body: OverrideEditBody, if_match: IfMatchVersion = None) -> OverrideEditResponse:
        """Say or clear some fields of one override; the others stay as they are."""
        refuse_references(body.model_dump())
        command = to_edit_command(board, body)
        said = command.edit.changes
        _check_applicable(board, clock, command)
        await run_command(operator, command, if_match)
        found = all_misfits(board)
        now = stored_override(board.policy, said) or Override(said.toolset, said.target)
        vain = [ineffective_field_info(each) for each in ineffective_fields(now, said, board.catalogue, board.policy)]
        return {**override_info(now, found), "withoutEffect": vain, "policyVersion": board.policy.version}

    @routes.get("/renderers")
    async def list_renderers() -> RenderersResponse:
        """The renderers there are, each with the schema of its configuration."""
        return {"renderers": [renderer_info(each) for each in RENDERERS]}

    @routes.post("/render")
    @requires_scopes(TokenScope.READ)
    async def render_call(body: RenderBody) -> RenderCallResponse:
        """One call as its tool's overrides say that it is to be shown; `null` when they name no renderer."""
        id = find_tool(board, body.tool, board.resolution(body.view()))
        around = await render_tool_call(board, installer, id, body.arguments, body.result, body.chat_id, body.workspace)
        return {"id": str(id), "rendered": None if around is None else rendered_info(around)}

    return routes


def to_edit_command(board: BoardState, body: OverrideEditBody) -> EditOverride:
    """What the body says. Raises `ProblemError` where it says nothing, or nothing that can be read."""
    said = _parse_override(parse_override_place(board, body.target, body.toolset), body.set)
    cleared = _fields_to_clear(board, said, body)
    if not said.fields_set and not cleared:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "Nothing is said: name a field to set or to clear.")
    return EditOverride(OverrideEdit(said, frozenset(cleared)))


def override_key(row: Override) -> str:
    """By whose word it is, its toolset and what it is about: a row has all three for itself."""
    whose = (
        "assumed" if row.is_assumed else "manifest" if row.from_manifest else "file" if row.is_declared else "person"
    )
    return f"{whose}/{row.toolset}/{row.target}"


def _check_applicable(board: BoardState, clock: Clock, command: EditOverride) -> None:
    """What cannot be applied to the tool as it is now would close it, and that is hardly what was meant."""
    said = command.edit.changes
    tool = board.catalogue.tools.get(said.target) if isinstance(said.target, ToolId) else None
    after = apply_command(board.policy, command, decision_author(), clock())
    if tool is None or isinstance(after, CommandRejection):
        return
    shape = overridden_tool_of(tool, after)
    wrong = [
        f"arguments.{unfit.parameter}: {unfit.why}"
        for unfit in (() if shape is None else shape.inapplicable)
        if unfit.parameter in (said.arguments or {})
    ]
    if wrong:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{tool.id}: {'; '.join(wrong)}.", {"errors": wrong})


def _parse_override(place: OverridePlace, written: dict[str, Any]) -> Override:
    """Read by the rules of the file: what pegboard.yaml takes is taken here too."""
    toolset, about = place
    if not written:
        return Override(toolset, about)
    read = load_settings_text(
        json.dumps({"overrides": {toolset: {str(about): written}}}), _FILE_NAME, resolves_references=False
    )
    if isinstance(read, InvalidFile):
        prefix = f"overrides.{toolset}."
        told = [f"{_field_prefix(problem.key, prefix, str(about))}{problem.message}" for problem in read.problems]
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(told), {"errors": told})
    (row,) = read.declared.overrides
    clear = [place for name, argument in (row.arguments or {}).items() for place in plaintext_secrets(name, argument)]
    if clear:
        wrong = [f"{place}: this {PIN_ADVICE}" for place in clear]
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{'; '.join(wrong)}.", {"errors": wrong})
    return replace(row, toolset=toolset, target=about, is_declared=False, origins={})


def _field_prefix(key: str, prefix: str, about: str) -> str:
    """The field alone: the rest is the place that the request named itself."""
    rest = key.removeprefix(prefix)
    for shown in (repr(about), about):
        rest = rest.removeprefix(shown)
    rest = rest.lstrip(".")
    return f"{rest}: " if rest else ""


def _fields_to_clear(board: BoardState, said: Override, body: OverrideEditBody) -> tuple[str, ...]:
    if body.clear == "all":
        row = stored_override(board.policy, said)
        if row is None:
            told = f"No person has overridden {said.target} in toolset {said.toolset!r}. See: pegboard overrides list"
            raise ProblemError(HTTPStatus.CONFLICT, told)
        return row.fields_set
    for name in body.clear:
        if name not in OVERRIDE_FIELDS and not name.startswith(ARGUMENT_PREFIX):
            known = ", ".join((*OVERRIDE_FIELDS, f"{ARGUMENT_PREFIX}NAME"))
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"There is no field {name!r}. There are: {known}.")
    return tuple(body.clear)


def stored_override(policy: Policy, said: Override) -> Override | None:
    """What people have said at that place."""
    rows = policy.decisions.overrides
    return next((row for row in rows if (row.toolset, row.target) == (said.toolset, said.target)), None)


# The route that tells what an edit of an override would make of its tools. Nothing is saved.

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
    mismatches: list[OverrideMismatchInfo]
    withoutEffect: list[IneffectiveFieldInfo]
    problems: list[str]
    policyVersion: int


def override_preview_routes(board: BoardState, clock: Clock, value_checker: ArgumentValueChecker) -> APIRouter:
    routes = make_router("overrides")

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
            "mismatches": [],
            "withoutEffect": [],
            "problems": [],
            "policyVersion": policy.version,
        }
        try:
            command = to_edit_command(board, body)
        except ProblemError as problem:
            if problem.status.value not in (409, 422):
                raise
            told = problem.extra.get("errors")
            return {**nothing, "problems": [*map(str, told)] if isinstance(told, list) else [problem.detail]}
        said = command.edit.changes
        after = apply_command(policy, command, decision_author(), clock())
        if isinstance(after, CommandRejection):
            return {**nothing, "problems": [after.why]}
        about = said.target if isinstance(said.target, ToolId) else None
        after = replace(
            after, value_problems={**after.value_problems, **_value_faults(board, value_checker, after, about)}
        )
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
            "mismatches": [
                {**override_mismatch_info(misfit)}
                for misfit in misfits_of_override([*override_misfits(catalogue, after)], row)[:MAX_TOOLS]
            ],
            "withoutEffect": [
                {**ineffective_field_info(each)}
                for each in islice(ineffective_fields(row, said, catalogue, after), MAX_TOOLS)
            ],
            "problems": wrong,
        }

    return routes


def _value_faults(
    board: BoardState, value_checker: ArgumentValueChecker, after: Policy, about: ToolId | None
) -> ValueProblems:
    """Of values, which only their tools' schemas can judge."""
    named = None if about is None else board.catalogue.tools.get(about)
    touched = [*tools_changed_by(board.catalogue, board.policy, after)] if named is None else [named]
    return {
        value: why for tool in touched[:MAX_TOOLS] for value, why in value_checker.faults_of_tool(tool, after).items()
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
