"""Whom a tool is kept from that somebody else gets: an operator looks at a board on which everything may be open."""

from dataclasses import dataclass
from typing import Final

from .catalogue import Catalogue
from .ids import LOCAL_PRINCIPAL, PrincipalId, ToolId
from .policy import Policy
from .removal import explain_hidden
from .resolve import build_visibility_filter, filter_for_principal
from .view import View

MAX_CALLERS: Final = 21
"""As many callers are told of, in the order of their names: one more than anybody shows, who tells so that there are
more."""


@dataclass(frozen=True, slots=True)
class CallerWithout:
    """A caller who does not get the tool, and why."""

    principal: PrincipalId
    sentence: str


def callers_without(catalogue: Catalogue, policy: Policy, view: View, id: ToolId) -> tuple[CallerWithout, ...]:
    """The callers who would not get it by the same request. What this one is kept from is no news of the others."""
    way = build_visibility_filter(catalogue, policy, view)
    if way.hidden_reason(id) is not None:
        return ()
    found: list[CallerWithout] = []
    for principal in sorted({*policy.callers, LOCAL_PRINCIPAL} - {view.principal}):
        # Callers differ in what they are granted and may ask alone: the steps over all tools are made once.
        removed = filter_for_principal(way, catalogue, principal).hidden_reasons(id)
        if removed:
            found.append(CallerWithout(principal, explain_hidden(removed[0])))
        if len(found) == MAX_CALLERS:
            break
    return tuple(found)
