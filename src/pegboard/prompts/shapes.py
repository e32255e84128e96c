"""What a format is told of a tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pegboard.core.folded import Json

from .stubs.writing import Stub


@dataclass(frozen=True, slots=True)
class ToolShape:
    name: str
    """As the model is to write it: a wire name, not an id."""
    description: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    """The JSON Schema of its arguments."""
    stub: Stub | None = None
    """Where it is a function of a program: how that is told."""

    @property
    def properties(self) -> Mapping[str, Json]:
        found = self.parameters.get("properties")
        return found if isinstance(found, dict) else {}


def tools_by_name(tools: Sequence[ToolShape]) -> dict[str, ToolShape]:
    """Of two with one name the first counts."""
    found: dict[str, ToolShape] = {}
    for tool in tools:
        found.setdefault(tool.name, tool)
    return found
