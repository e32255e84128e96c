"""Routes for overrides: those there are, what they make of one tool, one edit of one of them, and a rendered call."""

import json
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query

from pegboard.config.pinned import PIN_ADVICE, plaintext_secrets
from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.commands import CommandRejection, EditOverride, apply_command
from pegboard.core.editing import ARGUMENT_PREFIX, OverrideEdit
from pegboard.core.effects import ineffective_fields, override_effects
from pegboard.core.ids import ToolId
from pegboard.core.override import OVERRIDE_FIELDS, Override
from pegboard.core.policy import Policy
from pegboard.core.renderers import RENDERERS
from pegboard.core.rules import overridden_tool_of
from pegboard.core.scope import TokenScope
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.overriding import all_misfits
from pegboard.gateway.toolsets.installer import ToolsetInstaller

from .access import decision_author, refuse_references, requires_scopes
from .answers import make_router
from .bodies import OverrideEditBody, OverridesQuery, RenderBody, ToolQuery
from .deciding import IfMatchVersion, run_command
from .override_places import OverridePlace, parse_override_place
from .override_shapes import (
    OverrideEditResponse,
    OverridesResponse,
    RenderCallResponse,
    RenderersResponse,
    ToolOverridesResponse,
    appearance_field_infos,
    idle_field_info,
    misfit_info,
    override_info,
    rendered_info,
    renderer_info,
)
from .pages import paginate
from .problems import ProblemError
from .rendering import render_tool_call
from .tools import find_tool

_FILE_NAME = "override.json"


def override_routes(gateway: Gateway, installer: Callable[[], ToolsetInstaller]) -> APIRouter:
    routes = make_router("overrides")
    board = gateway.board

    @routes.get("/overrides")
    async def list_overrides(asked: Annotated[OverridesQuery, Query()]) -> OverridesResponse:
        """Every override, manifests' and files' first, each field with whose word it is, and what does not fit."""
        found = all_misfits(gateway)
        every = [row for row in board.policy.overrides.rows if asked.toolset in (None, row.toolset)]
        rows, following = paginate(every, override_key, asked.limit, asked.after)
        told = [override_info(row, found) for row in rows]
        return {**following, "overrides": told, "policyVersion": board.policy.version}

    @routes.get("/overrides/show")
    async def show_override(asked: Annotated[ToolQuery, Query()]) -> ToolOverridesResponse:
        """What overrides make of one tool, and which of them said what."""
        id = find_tool(gateway, asked.tool, board.resolution(asked.view()))
        tool = board.catalogue.tools[id]
        shape = overridden_tool_of(tool, board.policy)
        found = [misfit for misfit in all_misfits(gateway) if misfit.tool == id]
        return {
            "id": str(id),
            "fields": appearance_field_infos(board.policy.overrides.for_tool(id), override_effects(tool, board.policy)),
            "misfits": [misfit_info(misfit) for misfit in found],
            "inputSchema": dict((tool if shape is None else shape.tool).spec.input_schema),
        }

    @routes.post("/overrides")
    async def edit_override(body: OverrideEditBody, if_match: IfMatchVersion = None) -> OverrideEditResponse:
        """Say or clear some fields of one override; the others stay as they are."""
        refuse_references(body.model_dump())
        command = to_edit_command(gateway, body)
        said = command.edit.changes
        _check_applicable(gateway, command)
        await run_command(gateway, command, if_match)
        found = all_misfits(gateway)
        now = stored_override(board.policy, said) or Override(said.toolset, said.target)
        vain = [idle_field_info(each) for each in ineffective_fields(now, said, board.catalogue, board.policy)]
        return {**override_info(now, found), "withoutEffect": vain, "policyVersion": board.policy.version}

    @routes.get("/renderers")
    async def list_renderers() -> RenderersResponse:
        """The renderers there are, each with the schema of its configuration."""
        return {"renderers": [renderer_info(each) for each in RENDERERS]}

    @routes.post("/render")
    @requires_scopes(TokenScope.READ)
    async def render_call(body: RenderBody) -> RenderCallResponse:
        """One call as its tool's overrides say that it is to be shown; `null` when they name no renderer."""
        id = find_tool(gateway, body.tool, board.resolution(body.view()))
        around = await render_tool_call(
            gateway, installer, id, body.arguments, body.result, body.chat_id, body.workspace
        )
        return {"id": str(id), "rendered": None if around is None else rendered_info(around)}

    return routes


def to_edit_command(gateway: Gateway, body: OverrideEditBody) -> EditOverride:
    """What the body says. Raises `Problem` where it says nothing, or nothing that can be read."""
    said = _parse_override(parse_override_place(gateway, body.target, body.toolset), body.set)
    cleared = _fields_to_clear(gateway, said, body)
    if not said.fields_set and not cleared:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "Nothing is said: name a field to set or to clear.")
    return EditOverride(OverrideEdit(said, frozenset(cleared)))


def override_key(row: Override) -> str:
    """By whose word it is, its toolset and what it is about: a row has all three for itself."""
    whose = (
        "assumed" if row.is_assumed else "manifest" if row.from_manifest else "file" if row.is_declared else "person"
    )
    return f"{whose}/{row.toolset}/{row.target}"


def _check_applicable(gateway: Gateway, command: EditOverride) -> None:
    """What cannot be applied to the tool as it is now would close it, and that is hardly what was meant."""
    said, board = command.edit.changes, gateway.board
    tool = board.catalogue.tools.get(said.target) if isinstance(said.target, ToolId) else None
    after = apply_command(board.policy, command, decision_author(), gateway.clock())
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


def _fields_to_clear(gateway: Gateway, said: Override, body: OverrideEditBody) -> tuple[str, ...]:
    if body.clear == "all":
        row = stored_override(gateway.board.policy, said)
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
