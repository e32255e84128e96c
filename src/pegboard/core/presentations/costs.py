"""Token costs of each presentation, and which tools `/mcp` lists."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.model.ids import ToolId
from pegboard.core.model.settings import PYTHON, PresentationMode, python_tool
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations import code, deferred_tools, meta, search
from pegboard.core.presentations.entries import rough_tool_cost
from pegboard.core.presentations.own_tools import choose_presentation, open_pinned_tools, pinned_tools

# What each presentation costs a model before it has done anything: the tools that it is shown, in tokens.

PRESENTATION_TOOLS: Final[Mapping[PresentationMode, Mapping[str, Tool]]] = {
    PresentationMode.META: meta.TOOLS,
    PresentationMode.SEARCH: search.TOOLS,
    PresentationMode.DEFERRED: deferred_tools.TOOLS,
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


# What it saves a model not to be shown every tool as itself: turn by turn, against the board as it is now.

CALL_TOOL: Final = "call_tool"
"""By which tools are called that are not shown: its answers are theirs."""

SEARCH_TOOLS: Final = tuple(sorted({name for own in PRESENTATION_TOOLS.values() for name in own} - {CALL_TOOL}))
"""The presentations' own tools whose answers only tell of other tools."""

FORMULA: Final = (
    "saved = turns * (all tools - shown) - found, summed over the presentations. A turn is one call or refusal of a "
    "model's own, not of its programs; all tools is what every open tool costs when each is shown as itself; shown is "
    "what the presentation shows instead; found is what the answers cost in which tools were found. Estimated with "
    "the tools that are open now."
)


@dataclass(frozen=True, slots=True)
class PresentationTokenSavings:
    presentation: str
    turns: int
    shown_tokens: int
    """Tokens of what is shown by it, at each turn."""
    found_tokens: int
    """Tokens of the answers in which tools were found, all together."""
    saved_tokens: int


@dataclass(frozen=True, slots=True)
class TotalSavings:
    baseline: int
    """Tokens of all open tools, each as itself."""
    parts: Sequence[PresentationTokenSavings]

    @property
    def saved_tokens(self) -> int:
        """It may be less than nothing: on a small board, to search costs more than to show."""
        return sum(part.saved_tokens for part in self.parts)


def compute_savings(costs: Iterable[PresentationCost], turns: Mapping[str, tuple[int, int]]) -> TotalSavings:
    """`turns` has for each presentation how many there were, and what their finding cost."""
    shown = {cost.presentation.value: cost.tokens for cost in costs}
    baseline = shown.get(PresentationMode.DIRECT.value, 0)
    parts = [
        PresentationTokenSavings(name, count, shown[name], found, count * (baseline - shown[name]) - found)
        for name, (count, found) in turns.items()
        if name in shown
    ]
    return TotalSavings(baseline, parts)


_HOW_TO_REACH: Final[Mapping[PresentationMode, str]] = {
    PresentationMode.META: "by which they look through the toolsets and call what they find",
    PresentationMode.SEARCH: "by which they find and call all others",
    PresentationMode.DEFERRED: "by which they find all others, each of which is listed once it was found",
    PresentationMode.CODE: "by which they find all others and call them from programs",
}


@dataclass(frozen=True)
class EndpointToolList:
    """At /mcp, for one view; there is none where each tool is listed as itself."""

    own_tool_count: int
    """The presentation's own tools."""
    pinned: Set[ToolId]
    """Those that stay listed, open or locked."""
    open_pinned_count: int
    how: str
    setting: str
    where: str = "/mcp"

    @property
    def sentence(self) -> str:
        return f"Clients at /mcp are shown {self._own_tools_text}. /mcp/direct lists each open tool as itself."

    @property
    def unlisted_sentence(self) -> str:
        """About one that is not listed."""
        return f"Not listed at /mcp: clients there are shown {self._own_tools_text}. /mcp/direct lists it as itself."

    def describe_step(self, id: ToolId) -> str:
        if id in self.pinned:
            return "yes: always_visible names it"
        return f"no: clients there are shown {self._own_tools_text}; /mcp/direct lists each open tool as itself"

    def leaves_out(self, id: ToolId) -> bool:
        return id not in self.pinned

    @property
    def _own_tools_text(self) -> str:
        beside = f", and {self.open_pinned_count} of always_visible" if self.open_pinned_count else ""
        return f"{self.own_tool_count} tools {self.how}{beside} ({self.setting})"


def endpoint_tool_list(
    resolution: Resolution, policy: Policy, asked: PresentationMode | None = None
) -> EndpointToolList | None:
    """At /mcp as the operator chose, or at the path of the presentation that is `asked` about."""
    presenting = policy.declared.presentation
    presented = presenting.presentation if asked is None else asked
    setting = f"presentation: {presented}"
    if presented is PresentationMode.AUTO:
        presented = choose_presentation(resolution, presenting)
        setting += f", of more than {presenting.threshold} tools"
    if presented is PresentationMode.DIRECT:
        return None
    own = {*PRESENTATION_TOOLS[presented], *((PYTHON,) if presented is PresentationMode.CODE else ())}
    beside = frozenset(pinned_tools(resolution, presenting, own).values())
    opened = sum(1 for id in beside if isinstance(resolution.verdicts[id], OpenTool))
    where = "/mcp" if asked is None else f"/mcp/{presented.value}"
    return EndpointToolList(len(own), beside, opened, _HOW_TO_REACH[presented], setting, where)
