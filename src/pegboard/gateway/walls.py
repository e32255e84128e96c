"""The wall as views see it: worked out beside the event loop once after a change, and what tools cost once at all."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from anyio import to_thread

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import ToolId
from pegboard.core.passage import VisibilityFilter
from pegboard.core.policy import Policy
from pegboard.core.presentations.costs import spec_as_shown
from pegboard.core.presentations.listing import EndpointToolList, endpoint_tool_list
from pegboard.core.resolve import Resolution, build_visibility_filter
from pegboard.core.tokens import rough_tool_cost
from pegboard.core.tool import Tool, ToolSpec
from pegboard.core.view import View
from pegboard.core.wall import Dashboard, build_dashboard
from pegboard.memory import pause_garbage_collection

from .board import BoardState

_MAX_CACHED_VIEWS: Final = 8
"""Views whose wall is kept: each page of a large one is asked for by itself."""


@dataclass(frozen=True, eq=False)
class DashboardSnapshot:
    """A wall, and all that it follows from. The same one for as long as nothing changes."""

    dashboard: Dashboard
    resolution: Resolution
    catalogue: Catalogue
    policy: Policy

    @cached_property
    def visibility(self) -> VisibilityFilter:
        return build_visibility_filter(self.catalogue, self.policy, self.resolution.view)

    @cached_property
    def listing(self) -> EndpointToolList | None:
        return endpoint_tool_list(self.resolution, self.policy)


class DashboardCache:
    def __init__(self, board: BoardState) -> None:
        self._board = board
        self._snapshots: OrderedDict[View, DashboardSnapshot] = OrderedDict()
        self._costs: dict[ToolId, tuple[ToolSpec, str, str | None, int]] = {}

    async def snapshot(self, view: View) -> DashboardSnapshot:
        resolution = await self._board.resolve_off_loop(view)
        known = self._snapshots.get(view)
        if known is not None and known.resolution is resolution:
            self._snapshots.move_to_end(view)
            return known
        catalogue, policy = self._board.catalogue, self._board.policy
        hung = await to_thread.run_sync(partial(self._build, catalogue, policy, resolution))
        self._snapshots[view] = hung
        self._snapshots.move_to_end(view)
        while len(self._snapshots) > _MAX_CACHED_VIEWS:
            self._snapshots.popitem(last=False)
        return hung

    def _build(self, catalogue: Catalogue, policy: Policy, resolution: Resolution) -> DashboardSnapshot:
        with pause_garbage_collection():
            if len(self._costs) > 2 * len(catalogue.tools):
                self._costs = {id: known for id, known in self._costs.items() if id in catalogue.tools}
            return DashboardSnapshot(
                build_dashboard(catalogue, policy, resolution, partial(self._cost, policy)),
                resolution,
                catalogue,
                policy,
            )

    def _cost(self, policy: Policy, tool: Tool, name: str) -> int:
        """By what a model is told of it. Schemas are looked at once, however often something else changes."""
        written = policy.overrides.for_tool(tool.id).description_override
        known = self._costs.get(tool.id)
        if known is None or known[0] is not tool.spec or known[1:3] != (name, written):
            known = tool.spec, name, written, rough_tool_cost(spec_as_shown(tool, name, policy))
            self._costs[tool.id] = known
        return known[3]
