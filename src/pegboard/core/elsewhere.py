"""Whom a tool is kept from that somebody else gets: an operator looks at a board on which everything may be open."""

from dataclasses import dataclass
from typing import Final

from .catalogue import Catalogue
from .ids import LOCAL, PrincipalId, ToolId
from .policy import Policy
from .removal import removal_sentence
from .resolve import for_another, passage
from .view import View

MOST: Final = 21
"""As many callers are told of, in the order of their names: one more than anybody shows, who tells so that there are
more."""


@dataclass(frozen=True, slots=True)
class Without:
    """A caller who does not get the tool, and why."""

    principal: PrincipalId
    sentence: str


def without(catalogue: Catalogue, policy: Policy, view: View, id: ToolId) -> tuple[Without, ...]:
    """The callers who would not get it by the same request. What this one is kept from is no news of the others."""
    way = passage(catalogue, policy, view)
    if way.removal(id) is not None:
        return ()
    found: list[Without] = []
    for principal in sorted({*policy.callers, LOCAL} - {view.principal}):
        # Callers differ in what they are granted and may ask alone: the steps over all tools are made once.
        removed = for_another(way, catalogue, principal).removals(id)
        if removed:
            found.append(Without(principal, removal_sentence(removed[0])))
        if len(found) == MOST:
            break
    return tuple(found)
