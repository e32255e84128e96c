"""Routes for overrides: those there are, what they make of one tool, one edit of one of them, and a rendered call."""

import json
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query

from pegboard.config.pinned import ADVICE, clear_secrets
from pegboard.config.settings import Broken, load_text
from pegboard.core.commands import EditOverride, Rejected, apply
from pegboard.core.editing import ARGUMENT, Edit
from pegboard.core.effects import effects, idle
from pegboard.core.ids import ToolId
from pegboard.core.override import FIELDS, Override
from pegboard.core.policy import Policy
from pegboard.core.renderers import CATALOGUE
from pegboard.core.rules import shape_of
from pegboard.core.scope import Scope
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.overriding import all_misfits
from pegboard.gateway.toolsets.installer import Installer

from .access import needs, refuse_references, whoever
from .answers import routes_about
from .bodies import EditBody, OverridesQuery, RenderBody, ToolQuery
from .deciding import Version, done
from .override_places import Place, place_named
from .override_shapes import (
    EditedShape,
    OverridesShape,
    RenderedCallShape,
    RenderersShape,
    ShownOverrideShape,
    appearance_shape,
    idle_shape,
    misfit_shape,
    override_shape,
    rendered_shape,
    renderer_shape,
)
from .pages import page_of
from .problems import Problem
from .rendering import render
from .tools import tool_named

_FILE = "override.json"


def override_routes(gateway: Gateway, installer: Callable[[], Installer]) -> APIRouter:
    routes = routes_about("overrides")
    board = gateway.board

    @routes.get("/overrides")
    async def list_overrides(asked: Annotated[OverridesQuery, Query()]) -> OverridesShape:
        """Every override, manifests' and files' first, each field with whose word it is, and what does not fit."""
        found = all_misfits(gateway)
        every = [row for row in board.policy.overrides.rows if asked.toolset in (None, row.toolset)]
        rows, following = page_of(every, row_name, asked.limit, asked.after)
        told = [override_shape(row, found) for row in rows]
        return {**following, "overrides": told, "policyVersion": board.policy.version}

    @routes.get("/overrides/show")
    async def show_override(asked: Annotated[ToolQuery, Query()]) -> ShownOverrideShape:
        """What overrides make of one tool, and which of them said what."""
        id = tool_named(gateway, asked.tool, board.resolution(asked.view()))
        tool = board.catalogue.tools[id]
        shape = shape_of(tool, board.policy)
        found = [misfit for misfit in all_misfits(gateway) if misfit.tool == id]
        return {
            "id": str(id),
            "fields": appearance_shape(board.policy.overrides.for_tool(id), effects(tool, board.policy)),
            "misfits": [misfit_shape(misfit) for misfit in found],
            "inputSchema": dict((tool if shape is None else shape.tool).spec.input_schema),
        }

    @routes.post("/overrides")
    async def edit_override(body: EditBody, if_match: Version = None) -> EditedShape:
        """Say or clear some fields of one override; the others stay as they are."""
        refuse_references(body.model_dump())
        command = edit_of(gateway, body)
        said = command.edit.said
        _refuse_unfit(gateway, command)
        await done(gateway, command, if_match)
        found = all_misfits(gateway)
        now = row_of(board.policy, said) or Override(said.toolset, said.target)
        vain = [idle_shape(each) for each in idle(now, said, board.catalogue, board.policy)]
        return {**override_shape(now, found), "withoutEffect": vain, "policyVersion": board.policy.version}

    @routes.get("/renderers")
    async def list_renderers() -> RenderersShape:
        """The renderers there are, each with the schema of its configuration."""
        return {"renderers": [renderer_shape(each) for each in CATALOGUE]}

    @routes.post("/render")
    @needs(Scope.READ)
    async def render_call(body: RenderBody) -> RenderedCallShape:
        """One call as its tool's overrides say that it is to be shown; `null` when they name no renderer."""
        id = tool_named(gateway, body.tool, board.resolution(body.view()))
        around = await render(gateway, installer, id, body.arguments, body.result, body.chat_id, body.workspace)
        return {"id": str(id), "rendered": None if around is None else rendered_shape(around)}

    return routes


def edit_of(gateway: Gateway, body: EditBody) -> EditOverride:
    """What the body says. Raises `Problem` where it says nothing, or nothing that can be read."""
    said = _said(place_named(gateway, body.target, body.toolset), body.set)
    cleared = _cleared(gateway, said, body)
    if not said.says and not cleared:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "Nothing is said: name a field to set or to clear.")
    return EditOverride(Edit(said, frozenset(cleared)))


def row_name(row: Override) -> str:
    """By whose word it is, its toolset and what it is about: a row has all three for itself."""
    whose = "assumed" if row.assumed else "manifest" if row.manifest else "file" if row.declared else "person"
    return f"{whose}/{row.toolset}/{row.target}"


def _refuse_unfit(gateway: Gateway, command: EditOverride) -> None:
    """What cannot be applied to the tool as it is now would close it, and that is hardly what was meant."""
    said, board = command.edit.said, gateway.board
    tool = board.catalogue.tools.get(said.target) if isinstance(said.target, ToolId) else None
    after = apply(board.policy, command, whoever(), gateway.clock())
    if tool is None or isinstance(after, Rejected):
        return
    shape = shape_of(tool, after)
    wrong = [
        f"arguments.{unfit.parameter}: {unfit.why}"
        for unfit in (() if shape is None else shape.unfit)
        if unfit.parameter in (said.arguments or {})
    ]
    if wrong:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{tool.id}: {'; '.join(wrong)}.", {"errors": wrong})


def _said(place: Place, written: dict[str, Any]) -> Override:
    """Read by the rules of the file: what pegboard.yaml takes is taken here too."""
    toolset, about = place
    if not written:
        return Override(toolset, about)
    read = load_text(json.dumps({"overrides": {toolset: {str(about): written}}}), _FILE, resolves_references=False)
    if isinstance(read, Broken):
        prefix = f"overrides.{toolset}."
        told = [f"{_key(problem.key, prefix, str(about))}{problem.what}" for problem in read.problems]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(told), {"errors": told})
    (row,) = read.declared.overrides
    clear = [place for name, argument in (row.arguments or {}).items() for place in clear_secrets(name, argument)]
    if clear:
        wrong = [f"{place}: this {ADVICE}" for place in clear]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{'; '.join(wrong)}.", {"errors": wrong})
    return replace(row, toolset=toolset, target=about, declared=False, origins={})


def _key(key: str, prefix: str, about: str) -> str:
    """The field alone: the rest is the place that the request named itself."""
    rest = key.removeprefix(prefix)
    for shown in (repr(about), about):
        rest = rest.removeprefix(shown)
    rest = rest.lstrip(".")
    return f"{rest}: " if rest else ""


def _cleared(gateway: Gateway, said: Override, body: EditBody) -> tuple[str, ...]:
    if body.clear == "all":
        row = row_of(gateway.board.policy, said)
        if row is None:
            told = f"No person has overridden {said.target} in toolset {said.toolset!r}. See: pegboard overrides list"
            raise Problem(HTTPStatus.CONFLICT, told)
        return row.says
    for name in body.clear:
        if name not in FIELDS and not name.startswith(ARGUMENT):
            known = ", ".join((*FIELDS, f"{ARGUMENT}NAME"))
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"There is no field {name!r}. There are: {known}.")
    return tuple(body.clear)


def row_of(policy: Policy, said: Override) -> Override | None:
    """What people have said at that place."""
    rows = policy.decided.overrides
    return next((row for row in rows if (row.toolset, row.target) == (said.toolset, said.target)), None)
