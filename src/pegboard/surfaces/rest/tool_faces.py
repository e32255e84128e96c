"""A tool as its server offers it, as a model sees it, and the difference, as JSON bodies."""

from typing_extensions import TypedDict

from pegboard.core.faces import overridden_spec
from pegboard.core.policy import Policy
from pegboard.core.sections import SpecSection, spec_sections
from pegboard.core.tokens import tool_cost
from pegboard.core.tool import Tool, ToolSpec

from .reviews import DiffSectionInfo, diff_section_info


class ToolSpecInfo(TypedDict):
    name: str
    title: str | None
    description: str
    inputSchema: dict[str, object]
    outputSchema: dict[str, object] | None
    annotations: dict[str, object] | None
    tokens: int


class ToolFormsInfo(TypedDict):
    asOffered: ToolSpecInfo
    asOverridden: ToolSpecInfo
    difference: list[DiffSectionInfo]


def tool_spec_info(spec: ToolSpec) -> ToolSpecInfo:
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "inputSchema": {**spec.input_schema},
        "outputSchema": None if spec.output_schema is None else {**spec.output_schema},
        "annotations": None if spec.annotations is None else {**spec.annotations},
        "tokens": tool_cost(spec),
    }


def tool_forms_info(tool: Tool, policy: Policy) -> ToolFormsInfo:
    now = overridden_spec(tool, policy)
    return {
        "asOffered": tool_spec_info(tool.spec),
        "asOverridden": tool_spec_info(now),
        "difference": diff_section_infos(spec_sections(tool.spec, now)),
    }


def diff_section_infos(found: tuple[SpecSection, ...]) -> list[DiffSectionInfo]:
    return [diff_section_info(section) for section in found]
