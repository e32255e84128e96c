"""Ways to name tools that are broken on purpose: see the mutants."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pegboard.core.decision.resolve import Resolution, resolve
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.wire_names import assign_wire_names
from pegboard.core.policy.policy import Policy


def ignores_held_names(tools: Sequence[ToolId], held: Mapping[WireName, ToolId]) -> Mapping[ToolId, WireName]:
    return assign_wire_names(tools, {})


def gives_a_clashing_name_to_the_first(
    tools: Sequence[ToolId], held: Mapping[WireName, ToolId]
) -> Mapping[ToolId, WireName]:
    given: dict[ToolId, WireName] = {}
    for id in tools:
        plain = WireName(id.name)
        given[id] = WireName(f"{id.source}__{id.name}") if plain in given.values() else plain
    return given


def names_by_own_name(tools: Sequence[ToolId], held: Mapping[WireName, ToolId]) -> Mapping[ToolId, WireName]:
    return {id: WireName(id.name) for id in tools}


def names_the_locked_with_the_open(catalogue: Catalogue, policy: Policy, view: View) -> Resolution:
    resolution = resolve(catalogue, policy, view)
    return replace(resolution, names=assign_wire_names([*resolution.names], {}))


def forgets_former_names(
    catalogue: Catalogue, policy: Policy, view: View, held: Mapping[WireName, ToolId]
) -> Resolution:
    return replace(resolve(catalogue, policy, view, held=held), reserved_names={})


def gives_former_names_away(
    catalogue: Catalogue, policy: Policy, view: View, held: Mapping[WireName, ToolId]
) -> Resolution:
    return replace(resolve(catalogue, policy, view), reserved_names=held)
