"""Overrides as JSON: every field with its value and whose word it is. A pinned value is never shown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NotRequired

from typing_extensions import TypedDict

from pegboard.config.masking import MASK, masked_value
from pegboard.core.argument import Argument
from pegboard.core.effects import Effect, Idle
from pegboard.core.ids import ToolId
from pegboard.core.misfit import Misfit, by_row
from pegboard.core.override import Appearance, Override
from pegboard.core.renderers import Rendered, Renderer
from pegboard.core.server import Origin
from pegboard.core.tool import Json

from .pages import Following
from .shapes import OriginShape, Told, origin_shape

_PLAIN: Final = Effect("")

FieldShape = TypedDict("FieldShape", {"field": str, "value": object, "from": OriginShape | None})
"""What is said of one field, and where or by whom. A pinned value is masked."""


class MisfitShape(TypedDict):
    tool: str | None
    field: str | None
    what: str


class OverrideShape(TypedDict):
    toolset: str
    target: str
    kind: Literal["tool", "pattern"]
    declared: bool
    manifest: NotRequired[Literal[True]]
    fields: list[FieldShape]
    misfits: list[MisfitShape]


class AppearanceShape(FieldShape):
    """One field as it holds in the end."""

    toolset: str
    target: str
    declared: bool
    manifest: NotRequired[Literal[True]]
    inForce: bool
    effect: str | None


class IdleShape(TypedDict):
    tool: str
    field: str
    why: str


class RendererShape(TypedDict):
    name: str
    aliases: list[str]
    what: str
    standalone: bool
    configSchema: Told


class RenderedShape(TypedDict):
    renderer: str
    config: Told
    standalone: bool
    missing: list[str]
    refused: Mapping[str, str]
    cut: bool


class OverridesShape(Following):
    overrides: list[OverrideShape]
    policyVersion: int


class ShownOverrideShape(TypedDict):
    id: str
    fields: list[AppearanceShape]
    misfits: list[MisfitShape]
    inputSchema: Told


class EditedShape(OverrideShape):
    withoutEffect: list[IdleShape]
    policyVersion: int


class RenderersShape(TypedDict):
    renderers: list[RendererShape]


class RenderedCallShape(TypedDict):
    id: str
    rendered: RenderedShape | None


def override_shape(row: Override, found: Sequence[Misfit]) -> OverrideShape:
    shape: OverrideShape = {
        "toolset": row.toolset,
        "target": str(row.target),
        "kind": "tool" if isinstance(row.target, ToolId) else "pattern",
        "declared": row.declared,
        "fields": [_field(name, value, origin) for name, value, origin in _said(row)],
        "misfits": [misfit_shape(misfit) for misfit in by_row(found, row)],
    }
    if row.manifest:
        shape["manifest"] = True
    return shape


def misfit_shape(misfit: Misfit) -> MisfitShape:
    return {"tool": None if misfit.tool is None else str(misfit.tool), "field": misfit.field, "what": misfit.what}


def appearance_shape(look: Appearance, effects: Mapping[str, Effect]) -> list[AppearanceShape]:
    """What holds for one tool in the end, which override said so, and what comes of it where that is not plain."""
    told: list[AppearanceShape] = []
    for place, row in look.origin.items():
        origin, value = (
            row.origin(place.rpartition(".")[0] if place.startswith("arguments.") else place),
            _value(look, place),
        )
        effect = effects.get(place, _PLAIN)
        shape: AppearanceShape = {
            "field": place,
            "value": value,
            "from": None if origin is None else origin_shape(origin),
            "toolset": row.toolset,
            "target": str(row.target),
            "declared": row.declared,
            "inForce": effect.holds,
            "effect": effect.what or None,
        }
        if row.manifest:
            shape["manifest"] = True
        told.append(shape)
    return told


def idle_shape(idle: Idle) -> IdleShape:
    return {"tool": str(idle.tool), "field": idle.field, "why": idle.why}


def renderer_shape(renderer: Renderer) -> RendererShape:
    return {
        "name": renderer.name,
        "aliases": list(renderer.aliases),
        "what": renderer.what,
        "standalone": renderer.standalone,
        "configSchema": renderer.schema(),
    }


def rendered_shape(rendered: Rendered) -> RenderedShape:
    return {
        "renderer": rendered.renderer,
        "config": dict(rendered.config),
        "standalone": rendered.standalone,
        "missing": list(rendered.missing),
        "refused": dict(rendered.refused),
        "cut": rendered.is_cut,
    }


def _field(name: str, value: Json, origin: Origin | None) -> FieldShape:
    return {"field": name, "value": value, "from": None if origin is None else origin_shape(origin)}


def _said(row: Override) -> Iterator[tuple[str, Json, Origin | None]]:
    for name in row.says:
        if name != "arguments":
            yield name, getattr(row, name), row.origin(name)
    for name, argument in (row.arguments or {}).items():
        for aspect in argument.says:
            yield f"arguments.{name}.{aspect}", _aspect(argument, aspect), row.origin(f"arguments.{name}")


def _value(look: Appearance, place: str) -> Json:
    if not place.startswith("arguments."):
        value: Json = getattr(look, place)
        return value
    name, _, aspect = place.removeprefix("arguments.").rpartition(".")
    arguments: Mapping[str, Argument] = look.arguments or {}
    return _aspect(arguments[name], aspect)


def _aspect(argument: Argument, aspect: str) -> Json:
    match aspect:
        case "pin":
            value = None if argument.pin is None else argument.pin.value
            return masked_value(value) if isinstance(value, str) else MASK
        case "default":
            return None if argument.default is None else argument.default.value
        case "hide":
            return argument.hide
        case _:
            return argument.description
