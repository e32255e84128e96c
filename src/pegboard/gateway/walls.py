"""The wall as views see it: worked out beside the event loop once after a change, and what tools cost once at all."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from anyio import to_thread

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import ToolId
from pegboard.core.passage import Passage
from pegboard.core.policy import Policy
from pegboard.core.presentations.costs import as_told
from pegboard.core.presentations.listing import Listing, listing
from pegboard.core.resolve import Resolution, passage
from pegboard.core.tokens import rough_cost
from pegboard.core.tool import Tool, ToolSpec
from pegboard.core.view import View
from pegboard.core.wall import Wall, wall
from pegboard.memory import undisturbed

from .board import Board

_KEPT: Final = 8
"""Views whose wall is kept: each page of a large one is asked for by itself."""


@dataclass(frozen=True, eq=False)
class Hung:
    """A wall, and all that it follows from. The same one for as long as nothing changes."""

    wall: Wall
    resolution: Resolution
    catalogue: Catalogue
    policy: Policy

    @cached_property
    def way(self) -> Passage:
        return passage(self.catalogue, self.policy, self.resolution.view)

    @cached_property
    def listing(self) -> Listing | None:
        return listing(self.resolution, self.policy)


class Walls:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._kept: OrderedDict[View, Hung] = OrderedDict()
        self._costs: dict[ToolId, tuple[ToolSpec, str, str | None, int]] = {}

    async def seen(self, view: View) -> Hung:
        resolution = await self._board.worked_out(view)
        known = self._kept.get(view)
        if known is not None and known.resolution is resolution:
            self._kept.move_to_end(view)
            return known
        catalogue, policy = self._board.catalogue, self._board.policy
        hung = await to_thread.run_sync(partial(self._hung, catalogue, policy, resolution))
        self._kept[view] = hung
        self._kept.move_to_end(view)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return hung

    def _hung(self, catalogue: Catalogue, policy: Policy, resolution: Resolution) -> Hung:
        with undisturbed():
            if len(self._costs) > 2 * len(catalogue.tools):
                self._costs = {id: known for id, known in self._costs.items() if id in catalogue.tools}
            return Hung(wall(catalogue, policy, resolution, partial(self._cost, policy)), resolution, catalogue, policy)

    def _cost(self, policy: Policy, tool: Tool, name: str) -> int:
        """By what a model is told of it. Schemas are looked at once, however often something else changes."""
        written = policy.overrides.for_tool(tool.id).description_override
        known = self._costs.get(tool.id)
        if known is None or known[0] is not tool.spec or known[1:3] != (name, written):
            known = tool.spec, name, written, rough_cost(as_told(tool, name, policy))
            self._costs[tool.id] = known
        return known[3]
