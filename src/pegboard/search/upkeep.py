"""The index of a board, kept up to date: what one provider lists anew costs its own tools and no others'."""

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import SourceKey, ToolId
from pegboard.core.policy import Policy
from pegboard.core.tool import Tool

from .documents import SearchDocument, ToolDocumentSource
from .index import ChosenDocuments, SearchIndex
from .part import IndexedDocuments

MAX_CACHED_CHOICES: Final = 64
MAX_CACHED_TOOLS: Final = 300_000
"""Summed over all choices that are kept, because on a large board each of them weighs."""


class DocumentSource(Protocol):
    """All that a document is made of, cheap to compare."""

    @property
    def key(self) -> ToolId: ...

    @property
    def document(self) -> SearchDocument: ...


class AnalyzedDocuments(Protocol):
    """Documents of one source in the index, and what they were made of."""

    @property
    def document_sources(self) -> Sequence[DocumentSource]: ...

    @property
    def part(self) -> IndexedDocuments: ...


class ComparableSource(DocumentSource, Protocol):
    def is_same(self: "T", other: "T", /) -> bool: ...


T = TypeVar("T", bound=ComparableSource)


@dataclass(frozen=True)
class IndexedTools:
    """The part of one source, and what it was made of."""

    tools: tuple[Tool, ...]
    policy: Policy
    document_sources: tuple[ToolDocumentSource, ...]
    part: IndexedDocuments


class IncrementalIndex:
    """Not to be asked by two at once."""

    def __init__(self) -> None:
        self._listings: dict[SourceKey, IndexedTools] = {}
        self._index = SearchIndex()
        self._indexed_state: tuple[Catalogue, Policy] | None = None
        self._choices: OrderedDict[int, tuple[Collection[ToolId], ChosenDocuments]] = OrderedDict()

    @property
    def listings(self) -> Mapping[SourceKey, IndexedTools]:
        return self._listings

    def is_for(self, catalogue: Catalogue, policy: Policy) -> bool:
        """Whether the index is of just these."""
        return (
            self._indexed_state is not None and self._indexed_state[0] is catalogue and self._indexed_state[1] is policy
        )

    def index(self, catalogue: Catalogue, policy: Policy) -> SearchIndex:
        """Of everything that is there now."""
        if self.is_for(catalogue, policy):
            return self._index
        listed = {
            source: self._update_listing(source, listing.tools, policy)
            for source, listing in catalogue.listings.items()
        }
        if not self._is_made_of(listed):
            self._index = SearchIndex.from_parts([each.part for each in listed.values()], self._index)
            self._choices.clear()
        self._listings, self._indexed_state = listed, (catalogue, policy)
        return self._index

    def choose(self, among: Collection[ToolId]) -> ChosenDocuments:
        """In the index that was last asked for. One value for one collection, while nothing changes."""
        known = self._choices.get(id(among))
        if known is None:
            # The collection is kept with what follows from it, so no other can come to be at its address.
            known = among, self._index.choose(among)
            self._choices[id(among)] = known
        self._choices.move_to_end(id(among))
        while len(self._choices) > 1 and self._is_over_limit():
            self._choices.popitem(last=False)
        return known[1]

    def _is_over_limit(self) -> bool:
        kept = sum(len(among) for among, _ in self._choices.values())
        return len(self._choices) > MAX_CACHED_CHOICES or kept > MAX_CACHED_TOOLS

    def _update_listing(self, source: SourceKey, tools: tuple[Tool, ...], policy: Policy) -> IndexedTools:
        known = self._listings.get(source)
        if known is not None and known.tools is tools and known.policy is policy:
            return known
        tellings = tuple([ToolDocumentSource.of(tool, policy) for tool in tools])
        if known is None:
            return IndexedTools(tools, policy, tellings, IndexedDocuments.of(telling.document for telling in tellings))
        return IndexedTools(tools, policy, tellings, update_part(known.part, known.document_sources, tellings))

    def _is_made_of(self, listed: Mapping[SourceKey, IndexedTools]) -> bool:
        parts = self._index.parts
        filled = [each.part for each in listed.values() if len(each.part)]
        return len(parts) == len(filled) and all(map(_is_identical, parts, filled))


def update_part(former: IndexedDocuments, said: Sequence[T], tellings: Sequence[T]) -> IndexedDocuments:
    """Only those of which something else may be told are taken apart again. `said` is what the former was made of."""
    places = {telling.key: place for place, telling in enumerate(said)}
    kept = {
        place: at
        for place, telling in enumerate(tellings)
        if (at := places.get(telling.key)) is not None and telling.is_same(said[at])
    }
    if len(kept) == len(tellings) == len(said) and all(place == at for place, at in kept.items()):
        return former
    fresh = [telling.document for place, telling in enumerate(tellings) if place not in kept]
    return former.with_changes(kept, IndexedDocuments.of(fresh), len(tellings)) if kept else IndexedDocuments.of(fresh)


def _is_identical(one: IndexedDocuments, other: IndexedDocuments) -> bool:
    return one is other
