"""What each presentation costs a model before it has done anything: the tools that it is shown, in tokens."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pegboard.core.code import python_tool
from pegboard.core.policy import Policy
from pegboard.core.prompting import PYTHON
from pegboard.core.resolve import Open, Resolution
from pegboard.core.tokens import rough_cost
from pegboard.core.tool import Tool, ToolSpec

from . import code, deferred, meta, search
from .kept import kept, kept_open
from .presenting import Presented

OWN: Final[Mapping[Presented, Mapping[str, Tool]]] = {
    Presented.META: meta.TOOLS,
    Presented.SEARCH: search.TOOLS,
    Presented.DEFERRED: deferred.TOOLS,
    Presented.CODE: code.TOOLS,
}


@dataclass(frozen=True, slots=True)
class Cost:
    presentation: Presented
    tools: int
    tokens: int
    """Estimated, and the same on every machine."""


def costs(resolution: Resolution, policy: Policy, python: Tool | None = None) -> tuple[Cost, ...]:
    """For one view; `direct` first. `python` is the tool that runs programs, in the words that its sandbox gives it."""
    runs = {PYTHON: python_tool("", policy.declared.code, code.FOUND_BY) if python is None else python}
    opened = [verdict.shown for verdict in resolution.verdicts.values() if isinstance(verdict, Open)]
    direct = _cost(Presented.DIRECT, (as_told(tool, resolution.names[tool.id], policy) for tool in opened))
    return direct, *(
        _of(presented, {**own, **runs} if presented is Presented.CODE else own, resolution, policy)
        for presented, own in OWN.items()
    )


def _of(presented: Presented, own: Mapping[str, Tool], resolution: Resolution, policy: Policy) -> Cost:
    named = kept(resolution, policy.declared.presenting, own)
    beside = (as_told(tool, name, policy) for name, tool in kept_open(resolution, named))
    return _cost(presented, (*(tool.spec for tool in own.values()), *beside))


def as_told(tool: Tool, name: str, policy: Policy) -> ToolSpec:
    written = policy.overrides.for_tool(tool.id).description_override
    if written is None and tool.spec.name == name:
        return tool.spec
    return replace(tool.spec, name=name, description=tool.spec.description if written is None else written)


def _cost(presented: Presented, specs: Iterable[ToolSpec]) -> Cost:
    each = [rough_cost(spec) for spec in specs]
    return Cost(presented, len(each), sum(each))
