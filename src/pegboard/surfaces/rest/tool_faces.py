"""A tool as its server offers it, as a model sees it, and the difference, as JSON bodies."""

from typing_extensions import TypedDict

from pegboard.core.faces import overridden
from pegboard.core.policy import Policy
from pegboard.core.sections import Section, sections
from pegboard.core.tokens import tool_cost
from pegboard.core.tool import Tool, ToolSpec

from .reviews import SectionShape, section_shape


class SpecShape(TypedDict):
    name: str
    title: str | None
    description: str
    inputSchema: dict[str, object]
    outputSchema: dict[str, object] | None
    annotations: dict[str, object] | None
    tokens: int


class Faces(TypedDict):
    asOffered: SpecShape
    asOverridden: SpecShape
    difference: list[SectionShape]


def spec_shape(spec: ToolSpec) -> SpecShape:
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "inputSchema": {**spec.input_schema},
        "outputSchema": None if spec.output_schema is None else {**spec.output_schema},
        "annotations": None if spec.annotations is None else {**spec.annotations},
        "tokens": tool_cost(spec),
    }


def faces_shape(tool: Tool, policy: Policy) -> Faces:
    now = overridden(tool, policy)
    return {
        "asOffered": spec_shape(tool.spec),
        "asOverridden": spec_shape(now),
        "difference": difference_shape(sections(tool.spec, now)),
    }


def difference_shape(found: tuple[Section, ...]) -> list[SectionShape]:
    return [section_shape(section) for section in found]
