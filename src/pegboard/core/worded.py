"""A tool as the manifest of its toolset has models read it: whoever scans its words must scan these too, because they
come from the same hands."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from .argument import ArgumentOverride
from .ids import ToolId
from .override import Override, OverrideIndex
from .tool import Json, ToolSpec

NO_OVERRIDES: Final = OverrideIndex()


def with_manifest_texts(id: ToolId, spec: ToolSpec, manifest: OverrideIndex) -> ToolSpec:
    """The same spec where the manifest says nothing that a model reads."""
    said = manifest.for_tool(id)
    return _with_texts(spec, said.name_override, said.description_override, said.arguments or {})


def override_texts(row: Override) -> ToolSpec:
    """What one override has models read, whatever tools it fits."""
    return _with_texts(ToolSpec("tool", None, "", {}), row.name_override, row.description_override, row.arguments or {})


def _with_texts(
    spec: ToolSpec, name: str | None, description: str | None, arguments: Mapping[str, ArgumentOverride]
) -> ToolSpec:
    told = {key: words for key, argument in arguments.items() if (words := _argument_texts(argument))}
    if name is None and description is None and not told:
        return spec
    known = spec.input_schema.get("properties")
    properties: dict[str, Json] = {**known} if isinstance(known, Mapping) else {}
    for key, words in told.items():
        own = properties.get(key)
        properties[key] = {**own, **words} if isinstance(own, Mapping) else words
    return replace(
        spec,
        title=spec.title if name is None else name,
        description=spec.description if description is None else description,
        input_schema={**spec.input_schema, "properties": properties} if told else spec.input_schema,
    )


def _argument_texts(argument: ArgumentOverride) -> dict[str, Json]:
    """A pinned value is shown to nobody."""
    said: dict[str, Json] = {}
    if argument.description is not None:
        said["description"] = argument.description
    if argument.default is not None and isinstance(argument.default.value, str):
        said["default"] = argument.default.value
    return said
