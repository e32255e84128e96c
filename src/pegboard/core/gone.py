"""Tools that people decided about and that their source no longer offers: nobody can call them, and the wall tells."""

from collections.abc import Iterable
from dataclasses import dataclass

from .catalogue import Catalogue, has_listed
from .ids import ServerKey, ToolId
from .launch import barring
from .policy import Policy
from .reference import Directory
from .said import plainly
from .selection import select
from .view import View


@dataclass(frozen=True, slots=True)
class Gone:
    tool: ToolId
    approved: bool = False
    switched: bool = False
    overridden: bool = False


def gone(catalogue: Catalogue, policy: Policy, view: View) -> tuple[Gone, ...]:
    """Of sources that have listed what they have: what another one once had may still be there. Those that this view
    would leave out are left out."""
    decided = policy.decided
    # Of a server that is trusted openly, what was approved once says nothing.
    approved = _missing(policy.vouched.ids, catalogue)
    switched = _missing((id for id in decided.switches if isinstance(id, ToolId)), catalogue)
    overridden = _missing((row.target for row in decided.overrides if isinstance(row.target, ToolId)), catalogue)
    found = _within(approved | switched | overridden, catalogue, policy, view)
    return tuple([Gone(id, id in approved, id in switched, id in overridden) for id in sorted(found)])


def gone_sentence(left: Gone) -> str:
    words = ("an approval", left.approved), ("a switch", left.switched), ("an override", left.overridden)
    kept = ", ".join(word for word, is_so in words if is_so)
    return f"{left.tool.source} no longer offers {plainly(left.tool.name)}. Kept for it: {kept}."


def gone_remedy(left: Gone) -> str:
    is_plain = left.approved and not (left.switched or left.overridden)
    held = "as it was approved, it is open again" if is_plain else "what was decided holds"
    return f"There is nothing to do. Should it come back, {held}."


def _missing(ids: Iterable[ToolId], catalogue: Catalogue) -> set[ToolId]:
    tools, listings = catalogue.tools, catalogue.listings
    return {
        id for id in ids if id not in tools and (listing := listings.get(id.source)) is not None and has_listed(listing)
    }


def _within(found: set[ToolId], catalogue: Catalogue, policy: Policy, view: View) -> Iterable[ToolId]:
    granted = policy.granted(view.principal)
    within = tuple([id for id in found if granted is None or id.toolset in granted])
    if not within:
        return ()
    toolsets = frozenset({*policy.toolsets, *(source.toolset for source in catalogue.listings)})
    servers = frozenset(source for source in catalogue.listings if isinstance(source, ServerKey))
    everyone = Directory(within, toolsets, servers)
    kept = frozenset(within)
    for selection in (policy.declared.selection, *view.narrowings):
        kept &= select(selection, everyone).tools
    return [id for id in kept if barring(view.filters, id) is None]
