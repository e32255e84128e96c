"""What is known of sources that have not listed anything since the gateway started: the board shows it, locked."""

from dataclasses import replace

from pegboard.core.catalogue import Asleep, Catalogue, Listing, Up, catalogue
from pegboard.core.ids import Source
from pegboard.core.policy import Policy
from pegboard.core.tool import Tool


class Memory:
    """From a look at a server in quarantine, else from what was approved. The first list of the source replaces it."""

    def __init__(self) -> None:
        self._listed: set[Source] = set()
        self._seen: dict[Source, tuple[Tool, ...]] = {}

    def look(self, listing: Listing) -> None:
        if listing.tools and listing.source not in self._listed:
            self._seen[listing.source] = listing.tools

    def forget(self, source: Source) -> None:
        self._listed.discard(source)
        self._seen.pop(source, None)

    def completed(self, listing: Listing, policy: Policy) -> Listing:
        """With the tools that are remembered, if the source has never said what it has."""
        source = listing.source
        if not listing.remembered and (listing.tools or isinstance(listing.health, Up | Asleep)):
            self._listed.add(source)
            self._seen.pop(source, None)
        if source in self._listed:
            return listing
        tools = self._tools(source, policy)
        return replace(listing, tools=tools, remembered=True) if tools else replace(listing, tools=(), remembered=False)

    def revised(self, known: Catalogue, policy: Policy) -> Catalogue:
        """The same after a decision: what was approved may be another."""
        silent = [word for source, word in known.listings.items() if source not in self._listed]
        again = {word.source: self.completed(word, policy) for word in silent}
        if all(map(_same, silent, again.values())):
            return known
        return catalogue(again.get(source, word) for source, word in known.listings.items())

    def _tools(self, source: Source, policy: Policy) -> tuple[Tool, ...]:
        if source in self._seen:
            return self._seen[source]
        approvals = policy.decided.approvals
        return tuple(Tool(id, approvals[id].spec) for id in policy.vouched.by_source.get(source, ()))


def _same(former: Listing, latest: Listing) -> bool:
    """By identity of the definitions: to compare thousands would take longer than to show them anew."""
    pairs = zip(former.tools, latest.tools, strict=False)
    return len(former.tools) == len(latest.tools) and all(a.id == b.id and a.spec is b.spec for a, b in pairs)
