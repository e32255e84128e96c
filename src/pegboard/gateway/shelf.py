"""What each view is given beside tools, arranged once and remembered for as long as it stays the same."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import SourceKey, ToolId, WireName
from pegboard.core.offer import ProviderResources
from pegboard.core.offers import ResourceView, ResourceVisibility, build_resource_view, resource_visibility
from pegboard.core.policy import Denial, Policy
from pegboard.core.view import View

from .held import NameHistory, reserve_names

MAX_CACHED_VIEWS: Final = 1024
MAX_CACHED_OFFERS: Final = 500_000
"""Summed over all views: a few views of a large shelf weigh as much as a thousand of a small one."""

ViewInputs: TypeAlias = tuple[
    tuple[Denial, ...], tuple[tuple[SourceKey, type[ResourceVisibility], ProviderResources], ...]
]
"""All that an arrangement is made from. A server that went down and came back with the same is no news."""


@dataclass(frozen=True)
class _CachedView:
    inputs: ViewInputs
    view: ResourceView
    reserved_names: Mapping[WireName, ToolId]

    @property
    def weight(self) -> int:
        return len(self.reserved_names) + len(self.view.resources) + len(self.view.templates) + len(self.view.patterns)


class ResourceViewCache:
    def __init__(self) -> None:
        self._views: OrderedDict[View, _CachedView] = OrderedDict()
        self._weight = 0
        self._name_history = NameHistory()

    def resource_view(self, catalogue: Catalogue, policy: Policy, view: View) -> ResourceView:
        opened = resource_visibility(catalogue, policy, view)
        ingredients = _view_inputs(catalogue, policy, opened)
        known = self._views.get(view)
        if known is not None and _is_same(known.inputs, ingredients):
            self._views.move_to_end(view)
            return known.view
        held: Mapping[WireName, ToolId] = {} if known is None else known.reserved_names
        since = self._name_history.since(catalogue.listings.values())
        fresh = build_resource_view(catalogue, policy, opened, held=held, since=since)
        names = {name: id for id, name in fresh.names.items()}
        self._cache(view, _CachedView(ingredients, fresh, reserve_names(held, names, fresh.names)))
        return fresh

    def _cache(self, view: View, fresh: _CachedView) -> None:
        former = self._views.pop(view, None)
        self._views[view] = fresh
        self._weight += fresh.weight - (0 if former is None else former.weight)
        while len(self._views) > 1 and (len(self._views) > MAX_CACHED_VIEWS or self._weight > MAX_CACHED_OFFERS):
            _, forgotten = self._views.popitem(last=False)
            self._weight -= forgotten.weight


def _view_inputs(catalogue: Catalogue, policy: Policy, opened: Mapping[SourceKey, ResourceVisibility]) -> ViewInputs:
    return policy.declared.denials, tuple(
        (source, type(opening), catalogue.listings[source].resources) for source, opening in opened.items()
    )


def _is_same(one: ViewInputs, other: ViewInputs) -> bool:
    """By identity of what was offered: the board keeps a listing for as long as its server says the same."""
    return (
        one[0] == other[0]
        and len(one[1]) == len(other[1])
        and all(a[:2] == b[:2] and a[2] is b[2] for a, b in zip(one[1], other[1], strict=True))
    )
