"""What each view is given beside tools, arranged once and remembered for as long as it stays the same."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import Source, ToolId, WireName
from pegboard.core.offer import Offers
from pegboard.core.offers import Offered, Opening, arranged, openings
from pegboard.core.policy import Denial, Policy
from pegboard.core.view import View

from .held import Arrivals, held_names

REMEMBERED_VIEWS: Final = 1024
REMEMBERED_OFFERS: Final = 500_000
"""Summed over all views: a few views of a large shelf weigh as much as a thousand of a small one."""

Ingredients: TypeAlias = tuple[tuple[Denial, ...], tuple[tuple[Source, type[Opening], Offers], ...]]
"""All that an arrangement is made from. A server that went down and came back with the same is no news."""


@dataclass(frozen=True)
class _Arranged:
    ingredients: Ingredients
    offered: Offered
    held: Mapping[WireName, ToolId]

    @property
    def weight(self) -> int:
        return len(self.held) + len(self.offered.resources) + len(self.offered.templates) + len(self.offered.forms)


class Shelf:
    def __init__(self) -> None:
        self._views: OrderedDict[View, _Arranged] = OrderedDict()
        self._weight = 0
        self._arrivals = Arrivals()

    def offered(self, catalogue: Catalogue, policy: Policy, view: View) -> Offered:
        opened = openings(catalogue, policy, view)
        ingredients = _ingredients(catalogue, policy, opened)
        known = self._views.get(view)
        if known is not None and _same(known.ingredients, ingredients):
            self._views.move_to_end(view)
            return known.offered
        held: Mapping[WireName, ToolId] = {} if known is None else known.held
        since = self._arrivals.since(catalogue.listings.values())
        fresh = arranged(catalogue, policy, opened, held=held, since=since)
        names = {name: id for id, name in fresh.names.items()}
        self._remember(view, _Arranged(ingredients, fresh, held_names(held, names, fresh.names)))
        return fresh

    def _remember(self, view: View, fresh: _Arranged) -> None:
        former = self._views.pop(view, None)
        self._views[view] = fresh
        self._weight += fresh.weight - (0 if former is None else former.weight)
        while len(self._views) > 1 and (len(self._views) > REMEMBERED_VIEWS or self._weight > REMEMBERED_OFFERS):
            _, forgotten = self._views.popitem(last=False)
            self._weight -= forgotten.weight


def _ingredients(catalogue: Catalogue, policy: Policy, opened: Mapping[Source, Opening]) -> Ingredients:
    return policy.declared.denials, tuple(
        (source, type(opening), catalogue.listings[source].offers) for source, opening in opened.items()
    )


def _same(one: Ingredients, other: Ingredients) -> bool:
    """By identity of what was offered: the board keeps a listing for as long as its server says the same."""
    return (
        one[0] == other[0]
        and len(one[1]) == len(other[1])
        and all(a[:2] == b[:2] and a[2] is b[2] for a, b in zip(one[1], other[1], strict=True))
    )
