"""Tools that people approved, as the store tells: known by name and definition, whether they are listed or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .ids import SourceKey, ToolId, WireName


@dataclass(frozen=True)
class ApprovedTools:
    ids: tuple[ToolId, ...] = ()

    @cached_property
    def names(self) -> Mapping[WireName, ToolId]:
        """Own names that one of them alone has: each is its tool's, from the start and whatever else is listed."""
        owners: dict[WireName, ToolId | None] = {}
        for id in self.ids:
            name = WireName(id.name)
            owners[name] = None if name in owners else id
        return {name: id for name, id in owners.items() if id is not None}

    @cached_property
    def by_source(self) -> Mapping[SourceKey, tuple[ToolId, ...]]:
        """In one order, whatever order the store keeps them in."""
        found: dict[SourceKey, list[ToolId]] = {}
        for id in self.ids:
            found.setdefault(id.source, []).append(id)
        return {source: tuple(sorted(ids)) for source, ids in found.items()}


NO_APPROVED_TOOLS: Final = ApprovedTools()
