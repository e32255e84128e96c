"""Names and URIs that were given before: none of them moves to another thing unsaid."""

from collections.abc import Container, Iterable, Mapping
from typing import Final

from pegboard.core.catalogue import Listing
from pegboard.core.ids import SourceKey, ToolId, WireName
from pegboard.core.offer import NO_RESOURCES, ProviderResources
from pegboard.core.offers import FirstSeen

MAX_RETIRED_NAMES: Final = 10_000
"""How many names of things that are gone one view keeps from being given to others; and how many URIs, a source."""

MAX_RETIRED_SOURCES: Final = 100


def reserve_names(
    before: Mapping[WireName, ToolId], now: Mapping[WireName, ToolId], there: Container[ToolId]
) -> Mapping[WireName, ToolId]:
    """A name stays its tool's own, whatever becomes of the tool: who still knows the old list must not reach another.

    What is still `there` keeps each of its names; of what has gone, as many are kept as were given last.
    """
    former = {name: id for name, id in before.items() if name not in now}
    if not former:
        return now
    gone = [name for name, id in former.items() if id not in there] if len(former) > MAX_RETIRED_NAMES else []
    surplus = gone[: max(0, len(gone) - MAX_RETIRED_NAMES)]
    if not surplus and len(former) + len(now) == len(before):
        # No name moves, so as many as there were are the same ones, and one mapping does for them all.
        return before
    for name in surplus:
        del former[name]
    return {**former, **now}


class NameHistory:
    """Since when each source has had its URIs and templates, counted in the times that somebody was told of new ones.

    What a source no longer lists, or one that is away, keeps its place: whoever takes the URI meanwhile gives it back.
    """

    def __init__(self) -> None:
        self._since: dict[SourceKey, dict[str, int]] = {}
        self._offers: dict[SourceKey, ProviderResources] = {}
        self._round = 0

    def since(self, listings: Iterable[Listing]) -> FirstSeen:
        there = tuple(listings)
        fresh = [each for each in there if self._offers.get(each.source, NO_RESOURCES) is not each.resources]
        self._round += bool(fresh)
        for current in fresh:
            offers = self._offers[current.source] = current.resources
            known = self._since.setdefault(current.source, {})
            now = [*(each.uri for each in offers.resources), *(each.pattern for each in offers.templates)]
            for key in now:
                known.setdefault(key, self._round)
            if len(known) > len(now) + MAX_RETIRED_NAMES:
                listed = set(now)
                gone = [key for key in known if key not in listed]
                for key in gone[: len(gone) - MAX_RETIRED_NAMES]:
                    del known[key]
        if len(self._since) > len(there) + MAX_RETIRED_SOURCES:
            self._forget({each.source for each in there})
        return self._since

    def _forget(self, there: Container[SourceKey]) -> None:
        gone = [source for source in self._since if source not in there]
        for source in gone[: len(gone) - MAX_RETIRED_SOURCES]:
            del self._since[source]
            self._offers.pop(source, None)
