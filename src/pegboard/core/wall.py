"""The wall: every tool of a view with its state and its cost, in one order, and what that sums up to."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, assert_never

from .catalogue import Catalogue
from .docspace.connection import DocSpace
from .gone import Gone, gone
from .ids import BuiltinKey, ServerKey, Source, ToolId, ToolsetId
from .own import Own
from .policy import Policy
from .resolve import Absent, Locked, Open, Resolution, Verdict
from .rules import is_switched_on
from .server import Container, Http, Stdio
from .status import SwitchedOff
from .tool import Tool
from .unlocking import PegState, state_of

Cost: TypeAlias = Callable[[Tool, str], int]
"""What a model is charged for a tool that it is shown under a name."""

Place: TypeAlias = tuple[str, str]


class Provided(StrEnum):
    MCP = "mcp"
    PYTHON = "python"
    CONTAINER = "container"
    DOCSPACE = "docspace"
    BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class Peg:
    id: ToolId
    text: str
    """The id as text: pegs hang in the order of their toolsets, and then of this."""
    verdict: Verdict | Gone
    state: PegState
    tokens: int
    """What the tool costs a model that is shown it, open or not; nothing where nobody can be."""


@dataclass
class Tally:
    """How many pegs are in each state, and what those that are open cost if all of them are shown."""

    states: Counter[PegState] = field(default_factory=Counter[PegState])
    tokens: int = 0

    def add(self, peg: Peg) -> None:
        self.states[peg.state] += 1
        if peg.state is PegState.OPEN:
            self.tokens += peg.tokens


@dataclass(frozen=True)
class Wall:
    policy_version: int
    pegs: tuple[Peg, ...]
    places: tuple[Place, ...]
    """Of each peg, for finding the one after another, which may be gone by then."""
    total: Tally
    toolsets: Mapping[ToolsetId, Tally]

    def after(self, id: ToolId | None, limit: int) -> tuple[tuple[Peg, ...], bool]:
        """So many pegs after this one, and whether there are more."""
        start = 0 if id is None else bisect_right(self.places, (id.toolset, str(id)))
        return self.pegs[start : start + limit], start + limit < len(self.pegs)

    def of(self, id: ToolId) -> Peg | None:
        start = bisect_left(self.places, (id.toolset, str(id)))
        return self.pegs[start] if start < len(self.pegs) and self.pegs[start].id == id else None


def wall(catalogue: Catalogue, policy: Policy, resolution: Resolution, cost: Cost) -> Wall:
    names = resolution.names
    verdicts: list[tuple[ToolId, Verdict | Gone]] = [*resolution.verdicts.items()]
    verdicts += [(each.tool, each) for each in gone(catalogue, policy, resolution.view)]
    pegs = [
        Peg(
            id,
            str(id),
            verdict,
            state_of(verdict),
            0 if (tool := shown(verdict)) is None else cost(tool, names.get(id, id.name)),
        )
        for id, verdict in verdicts
    ]
    pegs.sort(key=_place)
    total, toolsets = Tally(), dict[ToolsetId, Tally]()
    for peg in pegs:
        total.add(peg)
        toolsets.setdefault(peg.id.toolset, Tally()).add(peg)
    return Wall(resolution.policy_version, tuple(pegs), tuple([_place(peg) for peg in pegs]), total, toolsets)


def kind_of(source: Source, policy: Policy) -> Provided:
    """By what kind of provider a source's tools come; an MCP server in a container is an MCP server."""
    if isinstance(source, BuiltinKey):
        return Provided.BUILTIN
    connection = None if (server := policy.servers.get(source)) is None else server.connection
    match connection:
        case Stdio() | Http() | Container():
            return Provided.MCP
        case DocSpace():
            return Provided.DOCSPACE
        case Own():
            return Provided.CONTAINER if connection.commands and not connection.python else Provided.PYTHON
        case None:
            return Provided.MCP if isinstance(source, ServerKey) else Provided.PYTHON
        case _:
            assert_never(connection)


def _place(peg: Peg) -> Place:
    return peg.id.toolset, peg.text


def shown(verdict: Verdict | Gone) -> Tool | None:
    """The tool as whoever is shown it sees it."""
    match verdict:
        case Open():
            return verdict.shown
        case Locked(tool) | Absent(tool):
            return tool
        case Gone():
            return None


def switch_is_on(verdict: Verdict | Gone, policy: Policy) -> bool:
    """Whether nothing of the tool's own switches it off: neither its switch nor an override that people can pass."""
    match verdict:
        case Open():
            return True
        case Locked(_, reason, more):
            return not any(isinstance(each, SwitchedOff) for each in (reason, *more))
        case Absent(tool):
            return is_switched_on(tool, None, policy) is None
        case Gone(id):
            switch = policy.decided.switches.get(id)
            return switch is None or switch.on
