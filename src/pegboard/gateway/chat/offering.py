"""Which tools the model is shown: the client's own, those of the board, and how others are found.

A client's tool keeps its name, whatever the board has: of two that would share one, ours has another or is left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.policy import Policy
from pegboard.core.presentations.deferred import SEARCH, TOOLS
from pegboard.core.presentations.entries import described_as, readable
from pegboard.core.presentations.kept import free_name
from pegboard.core.resolve import Open, Resolution
from pegboard.core.ticket import TICKET, TICKET_TOOL
from pegboard.core.tool import JsonObject, Tool

from .asked import ClientTool
from .speech import Offer

OTHERWISE: Final = "pegboard_{}"
"""How a tool of the gateway's own is called where the client has one of its name."""
SEARCH_TOOL: Final = TOOLS[SEARCH]
_BEFORE: Final = frozenset({"handle"})
"""Arguments of the search that mean nothing in a chat, which knows itself what was found."""


@dataclass(frozen=True, slots=True)
class Clash:
    """A tool of ours whose name the client's own has."""

    name: str
    called: str | None
    """What it is called here; `None` where it is left out."""

    def __str__(self) -> str:
        what = f"is called {self.called!r} here" if self.called is not None else "is left out"
        return f"{self.name!r} {what}, because a tool of the client's own has that name."


@dataclass(frozen=True)
class Offering:
    offers: tuple[Offer, ...]
    clashes: tuple[Clash, ...] = ()
    client: frozenset[str] = frozenset()
    ours: dict[str, ToolId] = field(default_factory=dict[str, ToolId])
    """Tools of the board and of the gateway's own, by the names that the model sees."""

    @property
    def taken(self) -> frozenset[str]:
        """Names that no tool of the board has here: the client's, and those of the gateway's own tools."""
        return self.client | {name for name, id in self.ours.items() if isinstance(id.source, BuiltinKey)}

    def named(self, id: ToolId) -> str | None:
        return next((name for name, each in self.ours.items() if each == id), None)


def offering(
    client: Sequence[ClientTool],
    ids: Iterable[tuple[ToolId, str]],
    resolution: Resolution,
    policy: Policy,
    *,
    searches: bool,
    waits: bool,
) -> Offering:
    """`ids` are tools of the board, each with why it is shown; those that are not open are passed over."""
    taken = {tool.name for tool in client}
    clashes: list[Clash] = []
    offers = [*_own_first(client)]
    ours: dict[str, ToolId] = {}
    for tool, why in _of_gateway(searches=searches, waits=waits):
        name = tool.id.name if tool.id.name not in taken else OTHERWISE.format(tool.id.name)
        if name != tool.id.name:
            clashes.append(Clash(tool.id.name, name if name not in taken else None))
        if name not in taken:
            offers.append(_offer(name, tool.spec.description, _schema(tool), tool.id, why))
            ours[name] = tool.id
    taken |= ours.keys()
    for id, why in ids:
        verdict = resolution.verdicts.get(id)
        if not isinstance(verdict, Open):
            continue
        shown = resolution.names[id]
        free = free_name(id, resolution, taken)
        if free != shown:
            clashes.append(Clash(shown, free))
        if free is not None:
            told = described_as(verdict.shown, resolution, policy)
            schema = readable(verdict.shown.spec.input_schema)
            offers.append(_offer(free, str(told["description"]), schema, id, why))
            ours[free] = id
    return Offering(tuple(offers), tuple(clashes), frozenset(tool.name for tool in client), ours)


def _own_first(client: Sequence[ClientTool]) -> Iterator[Offer]:
    for tool in client:
        yield Offer(tool.name, tool.description, tool.parameters, None, "the client brought it", tool.document)


def _of_gateway(*, searches: bool, waits: bool) -> Iterator[tuple[Tool, str]]:
    if searches:
        yield SEARCH_TOOL, "there are more tools than are shown"
    if waits:
        yield TICKET, "a call waits for a person's decision"


def _schema(tool: Tool) -> JsonObject:
    schema = dict(tool.spec.input_schema)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        schema["properties"] = {name: value for name, value in properties.items() if name not in _BEFORE}
    return schema


def _offer(name: str, description: str, parameters: JsonObject, id: ToolId, why: str) -> Offer:
    function: JsonObject = {"name": name, "description": description, "parameters": parameters}
    return Offer(name, description, parameters, id, why, {"type": "function", "function": function})


def is_search(id: ToolId | None) -> bool:
    return id == SEARCH_TOOL.id


def is_waiting(id: ToolId | None) -> bool:
    return id is not None and id.name == TICKET_TOOL and id == TICKET.id
