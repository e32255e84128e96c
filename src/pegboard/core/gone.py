"""Tools that people decided about and that their source no longer offers: nobody can call them, and the wall tells."""

from collections.abc import Iterable
from dataclasses import dataclass

from .catalogue import Catalogue, has_listed
from .ids import ServerKey, ToolId
from .launch import find_launch_block
from .policy import Policy
from .reference import ToolDirectory
from .said import quote_name
from .selection import select_tools
from .view import View


@dataclass(frozen=True, slots=True)
class MissingTool:
    tool: ToolId
    has_approval: bool = False
    has_switch: bool = False
    has_override: bool = False


def missing_tools(catalogue: Catalogue, policy: Policy, view: View) -> tuple[MissingTool, ...]:
    """Of sources that have listed what they have: what another one once had may still be there. Those that this view
    would leave out are left out."""
    decided = policy.decisions
    # Of a server that is trusted openly, what was approved once says nothing.
    approved = _missing_from_list(policy.approved_tools.ids, catalogue)
    switched = _missing_from_list((id for id in decided.switches if isinstance(id, ToolId)), catalogue)
    overridden = _missing_from_list(
        (row.target for row in decided.overrides if isinstance(row.target, ToolId)), catalogue
    )
    found = _visible_to(approved | switched | overridden, catalogue, policy, view)
    return tuple([MissingTool(id, id in approved, id in switched, id in overridden) for id in sorted(found)])


def describe_missing(left: MissingTool) -> str:
    words = ("an approval", left.has_approval), ("a switch", left.has_switch), ("an override", left.has_override)
    kept = ", ".join(word for word, is_so in words if is_so)
    return f"{left.tool.source} no longer offers {quote_name(left.tool.name)}. Kept for it: {kept}."


def missing_remedy(left: MissingTool) -> str:
    is_plain = left.has_approval and not (left.has_switch or left.has_override)
    held = "as it was approved, it is open again" if is_plain else "what was decided holds"
    return f"There is nothing to do. Should it come back, {held}."


def _missing_from_list(ids: Iterable[ToolId], catalogue: Catalogue) -> set[ToolId]:
    tools, listings = catalogue.tools, catalogue.listings
    return {
        id for id in ids if id not in tools and (listing := listings.get(id.source)) is not None and has_listed(listing)
    }


def _visible_to(found: set[ToolId], catalogue: Catalogue, policy: Policy, view: View) -> Iterable[ToolId]:
    granted = policy.granted_toolsets(view.principal)
    within = tuple([id for id in found if granted is None or id.toolset in granted])
    if not within:
        return ()
    toolsets = frozenset({*policy.toolsets, *(source.toolset for source in catalogue.listings)})
    servers = frozenset(source for source in catalogue.listings if isinstance(source, ServerKey))
    everyone = ToolDirectory(within, toolsets, servers)
    kept = frozenset(within)
    for selection in (policy.declared.selection, *view.narrowings):
        kept &= select_tools(selection, everyone).tools
    return [id for id in kept if find_launch_block(view.filters, id) is None]
