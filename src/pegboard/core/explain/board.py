"""The dashboard: every tool of a view with its state and token cost, sorted, with totals."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Resolution, Verdict
from pegboard.core.decision.rules import is_switched_on
from pegboard.core.decision.status import SwitchedOff
from pegboard.core.explain.states import MissingTool, ToolState, missing_tools, state_of
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import BuiltinKey, ServerKey, SourceKey, ToolId, ToolsetId
from pegboard.core.model.server import Container, Http, Stdio
from pegboard.core.model.tool import OwnTools, Tool
from pegboard.core.model.web_api import WebApi
from pegboard.core.policy.policy import Policy

ToolCost: TypeAlias = Callable[[Tool, str], int]
"""What a model is charged for a tool that it is shown under a name."""

BoardPosition: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ToolCard:
    id: ToolId
    text: str
    """The id as text: pegs hang in the order of their toolsets, and then of this."""
    verdict: Verdict | MissingTool
    state: ToolState
    tokens: int
    """What the tool costs a model that is shown it, open or not; nothing where nobody can be."""


@dataclass
class BoardTotals:
    """How many pegs are in each state, and what those that are open cost if all of them are shown."""

    states: Counter[ToolState] = field(default_factory=Counter[ToolState])
    tokens: int = 0

    def add(self, peg: ToolCard) -> None:
        self.states[peg.state] += 1
        if peg.state is ToolState.OPEN:
            self.tokens += peg.tokens


@dataclass(frozen=True)
class Dashboard:
    policy_version: int
    cards: tuple[ToolCard, ...]
    positions: tuple[BoardPosition, ...]
    """Of each peg, for finding the one after another, which may be gone by then."""
    totals: BoardTotals
    toolsets: Mapping[ToolsetId, BoardTotals]

    def cards_after(self, id: ToolId | None, limit: int) -> tuple[tuple[ToolCard, ...], bool]:
        """So many pegs after this one, and whether there are more."""
        start = 0 if id is None else bisect_right(self.positions, (id.toolset, str(id)))
        return self.cards[start : start + limit], start + limit < len(self.cards)

    def card_of(self, id: ToolId) -> ToolCard | None:
        start = bisect_left(self.positions, (id.toolset, str(id)))
        return self.cards[start] if start < len(self.cards) and self.cards[start].id == id else None


def build_dashboard(catalogue: Catalogue, policy: Policy, resolution: Resolution, cost: ToolCost) -> Dashboard:
    names = resolution.names
    verdicts: list[tuple[ToolId, Verdict | MissingTool]] = [*resolution.verdicts.items()]
    verdicts += [(each.tool, each) for each in missing_tools(catalogue, policy, resolution.view)]
    pegs = [
        ToolCard(
            id,
            str(id),
            verdict,
            state_of(verdict),
            0 if (tool := visible_tool(verdict)) is None else cost(tool, names.get(id, id.name)),
        )
        for id, verdict in verdicts
    ]
    pegs.sort(key=_position_of)
    total, toolsets = BoardTotals(), dict[ToolsetId, BoardTotals]()
    for peg in pegs:
        total.add(peg)
        toolsets.setdefault(peg.id.toolset, BoardTotals()).add(peg)
    return Dashboard(
        resolution.policy_version, tuple(pegs), tuple([_position_of(peg) for peg in pegs]), total, toolsets
    )


def provider_kind(source: SourceKey, policy: Policy) -> str:
    """By what kind of provider a source's tools come; an MCP server in a container is an MCP server."""
    if isinstance(source, BuiltinKey):
        return "builtin"
    connection = None if (server := policy.servers.get(source)) is None else server.connection
    match connection:
        case Stdio() | Http() | Container():
            return "mcp"
        case WebApi(kind):
            return kind
        case OwnTools():
            return "container" if connection.commands and not connection.python else "python"
        case None:
            return "mcp" if isinstance(source, ServerKey) else "python"
        case _:
            assert_never(connection)


def _position_of(peg: ToolCard) -> BoardPosition:
    return peg.id.toolset, peg.text


def visible_tool(verdict: Verdict | MissingTool) -> Tool | None:
    """The tool as whoever is shown it sees it."""
    match verdict:
        case OpenTool():
            return verdict.visible_tool
        case LockedTool(tool) | HiddenTool(tool):
            return tool
        case MissingTool():
            return None


def is_switch_on(verdict: Verdict | MissingTool, policy: Policy) -> bool:
    """Whether nothing of the tool's own switches it off: neither its switch nor an override that people can pass."""
    match verdict:
        case OpenTool():
            return True
        case LockedTool(_, reason, more):
            return not any(isinstance(each, SwitchedOff) for each in (reason, *more))
        case HiddenTool(tool):
            return is_switched_on(tool, None, policy) is None
        case MissingTool(id):
            switch = policy.decisions.switches.get(id)
            return switch is None or switch.is_on
