"""What is known of sources that have not listed anything since the gateway started: the board shows it, locked."""

from dataclasses import replace

from pegboard.core.catalogue import Catalogue, Listing, ProviderAsleep, ProviderUp, build_catalogue
from pegboard.core.ids import SourceKey
from pegboard.core.policy import Policy
from pegboard.core.tool import Tool


class ApprovedToolPlaceholders:
    """From a look at a server in quarantine, else from what was approved. The first list of the source replaces it."""

    def __init__(self) -> None:
        self._listed_sources: set[SourceKey] = set()
        self._previews: dict[SourceKey, tuple[Tool, ...]] = {}

    def record_preview(self, listing: Listing) -> None:
        if listing.tools and listing.source not in self._listed_sources:
            self._previews[listing.source] = listing.tools

    def forget(self, source: SourceKey) -> None:
        self._listed_sources.discard(source)
        self._previews.pop(source, None)

    def with_placeholders(self, listing: Listing, policy: Policy) -> Listing:
        """With the tools that are remembered, if the source has never said what it has."""
        source = listing.source
        if not listing.is_remembered and (listing.tools or isinstance(listing.health, ProviderUp | ProviderAsleep)):
            self._listed_sources.add(source)
            self._previews.pop(source, None)
        if source in self._listed_sources:
            return listing
        tools = self._tools(source, policy)
        return (
            replace(listing, tools=tools, is_remembered=True)
            if tools
            else replace(listing, tools=(), is_remembered=False)
        )

    def refresh(self, known: Catalogue, policy: Policy) -> Catalogue:
        """The same after a decision: what was approved may be another."""
        silent = [word for source, word in known.listings.items() if source not in self._listed_sources]
        again = {word.source: self.with_placeholders(word, policy) for word in silent}
        if all(map(_is_same, silent, again.values())):
            return known
        return build_catalogue(again.get(source, word) for source, word in known.listings.items())

    def _tools(self, source: SourceKey, policy: Policy) -> tuple[Tool, ...]:
        if source in self._previews:
            return self._previews[source]
        approvals = policy.decisions.approvals
        return tuple(Tool(id, approvals[id].spec) for id in policy.approved_tools.by_source.get(source, ()))


def _is_same(former: Listing, latest: Listing) -> bool:
    """By identity of the definitions: to compare thousands would take longer than to show them anew."""
    pairs = zip(former.tools, latest.tools, strict=False)
    return len(former.tools) == len(latest.tools) and all(a.id == b.id and a.spec is b.spec for a, b in pairs)
