"""What each presentation costs a model before it has done anything: the tools that it is shown, in tokens."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pegboard.core.code import python_tool
from pegboard.core.policy import Policy
from pegboard.core.prompting import PYTHON
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.tokens import rough_tool_cost
from pegboard.core.tool import Tool, ToolSpec

from . import code, deferred, meta, search
from .kept import open_pinned_tools, pinned_tools
from .presenting import PresentationMode

PRESENTATION_TOOLS: Final[Mapping[PresentationMode, Mapping[str, Tool]]] = {
    PresentationMode.META: meta.TOOLS,
    PresentationMode.SEARCH: search.TOOLS,
    PresentationMode.DEFERRED: deferred.TOOLS,
    PresentationMode.CODE: code.TOOLS,
}


@dataclass(frozen=True, slots=True)
class PresentationCost:
    presentation: PresentationMode
    tools: int
    tokens: int
    """Estimated, and the same on every machine."""


def presentation_costs(
    resolution: Resolution, policy: Policy, python: Tool | None = None
) -> tuple[PresentationCost, ...]:
    """For one view; `direct` first. `python` is the tool that runs programs, in the words that its sandbox gives it."""
    runs = {PYTHON: python_tool("", policy.declared.code, code.SEARCH_HINT) if python is None else python}
    opened = [verdict.visible_tool for verdict in resolution.verdicts.values() if isinstance(verdict, OpenTool)]
    direct = _sum_cost(
        PresentationMode.DIRECT, (spec_as_shown(tool, resolution.names[tool.id], policy) for tool in opened)
    )
    return direct, *(
        _cost_of(presented, {**own, **runs} if presented is PresentationMode.CODE else own, resolution, policy)
        for presented, own in PRESENTATION_TOOLS.items()
    )


def _cost_of(
    presented: PresentationMode, own: Mapping[str, Tool], resolution: Resolution, policy: Policy
) -> PresentationCost:
    named = pinned_tools(resolution, policy.declared.presentation, own)
    beside = (spec_as_shown(tool, name, policy) for name, tool in open_pinned_tools(resolution, named))
    return _sum_cost(presented, (*(tool.spec for tool in own.values()), *beside))


def spec_as_shown(tool: Tool, name: str, policy: Policy) -> ToolSpec:
    written = policy.overrides.for_tool(tool.id).description_override
    if written is None and tool.spec.name == name:
        return tool.spec
    return replace(tool.spec, name=name, description=tool.spec.description if written is None else written)


def _sum_cost(presented: PresentationMode, specs: Iterable[ToolSpec]) -> PresentationCost:
    each = [rough_tool_cost(spec) for spec in specs]
    return PresentationCost(presented, len(each), sum(each))
