"""Schemas of overrides. Pinned values are never shown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, NotRequired

import anyio.to_thread
from typing_extensions import TypedDict

from pegboard.config.masked_servers import MASK, mask_value
from pegboard.core.explain.effects import IneffectiveField, OverrideEffect, OverrideMisfit, misfits_of_override
from pegboard.core.json.values import Json
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import Origin
from pegboard.core.overrides.model import ArgumentOverride, EffectiveOverride, Override
from pegboard.core.renderers.catalogue import Renderer
from pegboard.core.renderers.render import RenderContext, RenderedCall, render_call, return_value
from pegboard.gateway.board import BoardState
from pegboard.gateway.toolsets.files import UnreadablePage
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.surfaces.rest.responses import PageResponse, ProblemError
from pegboard.surfaces.rest.schemas import FreeObject, OriginInfo, origin_info

_NO_EFFECT: Final = OverrideEffect("")

OverrideFieldInfo = TypedDict("OverrideFieldInfo", {"field": str, "value": object, "from": OriginInfo | None})
"""What is said of one field, and where or by whom. A pinned value is masked."""


class OverrideMismatchInfo(TypedDict):
    tool: str | None
    field: str | None
    message: str


class OverrideInfo(TypedDict):
    toolset: str
    target: str
    kind: Literal["tool", "pattern"]
    declared: bool
    manifest: NotRequired[Literal[True]]
    fields: list[OverrideFieldInfo]
    mismatches: list[OverrideMismatchInfo]


class EffectiveFieldInfo(OverrideFieldInfo):
    """One field as it holds in the end."""

    toolset: str
    target: str
    declared: bool
    manifest: NotRequired[Literal[True]]
    effective: bool
    effect: str | None


class IneffectiveFieldInfo(TypedDict):
    tool: str
    field: str
    reason: str


class RendererInfo(TypedDict):
    name: str
    aliases: list[str]
    description: str
    standalone: bool
    configSchema: FreeObject


class RenderedInfo(TypedDict):
    renderer: str
    config: FreeObject
    standalone: bool
    missing: list[str]
    refused: Mapping[str, str]
    truncated: bool


class OverridesResponse(PageResponse):
    overrides: list[OverrideInfo]
    policyVersion: int


class ToolOverridesResponse(TypedDict):
    id: str
    fields: list[EffectiveFieldInfo]
    mismatches: list[OverrideMismatchInfo]
    inputSchema: FreeObject


class OverrideEditResponse(OverrideInfo):
    withoutEffect: list[IneffectiveFieldInfo]
    policyVersion: int


class RenderersResponse(TypedDict):
    renderers: list[RendererInfo]


class RenderCallResponse(TypedDict):
    id: str
    rendered: RenderedInfo | None


def override_info(row: Override, found: Sequence[OverrideMisfit]) -> OverrideInfo:
    shape: OverrideInfo = {
        "toolset": row.toolset,
        "target": str(row.target),
        "kind": "tool" if isinstance(row.target, ToolId) else "pattern",
        "declared": row.is_declared,
        "fields": [_field_info(name, value, origin) for name, value, origin in _override_fields(row)],
        "mismatches": [override_mismatch_info(misfit) for misfit in misfits_of_override(found, row)],
    }
    if row.from_manifest:
        shape["manifest"] = True
    return shape


def override_mismatch_info(misfit: OverrideMisfit) -> OverrideMismatchInfo:
    return {"tool": None if misfit.tool is None else str(misfit.tool), "field": misfit.field, "message": misfit.problem}


def effective_field_infos(look: EffectiveOverride, effects: Mapping[str, OverrideEffect]) -> list[EffectiveFieldInfo]:
    """What holds for one tool in the end, which override said so, and what comes of it where that is not plain."""
    told: list[EffectiveFieldInfo] = []
    for place, row in look.origin.items():
        origin, value = (
            row.origin(place.rpartition(".")[0] if place.startswith("arguments.") else place),
            _effective_value(look, place),
        )
        effect = effects.get(place, _NO_EFFECT)
        shape: EffectiveFieldInfo = {
            "field": place,
            "value": value,
            "from": None if origin is None else origin_info(origin),
            "toolset": row.toolset,
            "target": str(row.target),
            "declared": row.is_declared,
            "effective": effect.is_effective,
            "effect": effect.text or None,
        }
        if row.from_manifest:
            shape["manifest"] = True
        told.append(shape)
    return told


def ineffective_field_info(idle: IneffectiveField) -> IneffectiveFieldInfo:
    return {"tool": str(idle.tool), "field": idle.field, "reason": idle.why}


def renderer_info(renderer: Renderer) -> RendererInfo:
    return {
        "name": renderer.name,
        "aliases": list(renderer.aliases),
        "description": renderer.description,
        "standalone": renderer.standalone,
        "configSchema": renderer.schema(),
    }


def rendered_info(rendered: RenderedCall) -> RenderedInfo:
    return {
        "renderer": rendered.renderer,
        "config": dict(rendered.config),
        "standalone": rendered.standalone,
        "missing": list(rendered.missing_references),
        "refused": dict(rendered.refused_keys),
        "truncated": rendered.is_cut,
    }


def _field_info(name: str, value: Json, origin: Origin | None) -> OverrideFieldInfo:
    return {"field": name, "value": value, "from": None if origin is None else origin_info(origin)}


def _override_fields(row: Override) -> Iterator[tuple[str, Json, Origin | None]]:
    for name in row.fields_set:
        if name != "arguments":
            yield name, getattr(row, name), row.origin(name)
    for name, argument in (row.arguments or {}).items():
        for aspect in argument.aspects_set:
            yield f"arguments.{name}.{aspect}", _argument_aspect(argument, aspect), row.origin(f"arguments.{name}")


def _effective_value(look: EffectiveOverride, place: str) -> Json:
    if not place.startswith("arguments."):
        value: Json = getattr(look, place)
        return value
    name, _, aspect = place.removeprefix("arguments.").rpartition(".")
    arguments: Mapping[str, ArgumentOverride] = look.arguments or {}
    return _argument_aspect(arguments[name], aspect)


def _argument_aspect(argument: ArgumentOverride, aspect: str) -> Json:
    match aspect:
        case "pin":
            value = None if argument.pin is None else argument.pin.value
            return mask_value(value) if isinstance(value, str) else MASK
        case "default":
            return None if argument.default is None else argument.default.value
        case "hide":
            return argument.hide
        case _:
            return argument.description


# A call as a person is to be shown it, by what the overrides of its tool say.


async def render_tool_call(
    board: BoardState,
    installer: Callable[[], ToolsetInstaller],
    tool: ToolId,
    arguments: Mapping[str, Json],
    result: Mapping[str, Json],
    chat_id: str | None = None,
    workspace: str | None = None,
) -> RenderedCall | None:
    """`None` without a renderer, and for a result that tells of a failure: its words are shown as they are."""
    look = board.policy.overrides.for_tool(tool)
    if look.renderer is None or result.get("isError") is True:
        return None
    around = RenderContext(arguments, return_value(result), chat_id, workspace, tool.toolset)
    shown = render_call(look.renderer, look.renderer_config or {}, around)
    return None if shown is None else await _with_page(board, installer, tool, shown)


async def _with_page(
    board: BoardState, installer: Callable[[], ToolsetInstaller], tool: ToolId, shown: RenderedCall
) -> RenderedCall:
    """The page that `artifact` names, as `content`; what cannot be read is listed under `refused`."""
    artifact = shown.config.get("artifact")
    if shown.renderer != "html" or not isinstance(artifact, str):
        return shown
    try:
        files = installer().files
    except ProblemError as problem:
        page: str | UnreadablePage = UnreadablePage(problem.detail.rstrip("."))
    else:
        page = await anyio.to_thread.run_sync(files.read_page, board.policy, tool.toolset, artifact)
    if isinstance(page, UnreadablePage):
        without = {name: value for name, value in shown.config.items() if name != "artifact"}
        return replace(shown, config=without, refused_keys={**shown.refused_keys, "artifact": page.why})
    return replace(shown, config={**shown.config, "content": page})
