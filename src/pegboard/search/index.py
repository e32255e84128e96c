"""All documents, word by word, and the choice among them that a query is answered from.

A query is answered among the chosen documents as if no other existed: whoever may not see a tool cannot notice it by
the order of the rest, nor by a score.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import SourceKey, ToolId
from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import Policy
from pegboard.search.documents import (
    FIELD_WEIGHTS,
    LENGTH_NORMALIZATION,
    DocumentField,
    FieldCounts,
    FloatArray,
    IndexedDocuments,
    IntArray,
    SearchDocument,
    SingleArray,
    ToolDocumentSource,
    join_parts,
)

SEGMENT_DOCUMENTS: Final = 8_192
"""Documents of a segment. Larger ones are asked more quickly, smaller ones are made anew more quickly."""

_MIN_CACHED_ENTRIES: Final = 10_000
_MAX_CACHED_PER_DOCUMENT: Final = 64
"""Entries of terms that were looked for before, for each document."""

_LAST_CHARACTER: Final = "\U0010ffff"


@dataclass(frozen=True)
class IndexSegment:
    """Some parts together, by term: what one query term asks for lies in one piece."""

    parts: tuple[IndexedDocuments, ...]
    vocabulary: tuple[str, ...]
    starts: IntArray
    """Where each term begins, and at last where all of them end."""
    places: IntArray
    """Of documents, within the segment."""
    field_counts: FieldCounts

    @classmethod
    def of(cls, parts: Sequence[IndexedDocuments]) -> "IndexSegment":
        whole = join_parts(parts)
        order = np.argsort(whole.terms, kind="stable")
        counts = np.bincount(whole.terms, minlength=len(whole.vocabulary))
        places = np.repeat(np.arange(len(whole), dtype=np.int32), np.diff(whole.starts))
        return cls(
            tuple(parts),
            whole.vocabulary,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            places[order],
            whole.field_counts[order],
        )

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def beginning_with(self, term: str) -> range:
        """The terms that begin so; the term itself is the first, if it is there."""
        first = bisect_left(self.vocabulary, term)
        if first == len(self.vocabulary) or not self.vocabulary[first].startswith(term):
            return range(0)
        return range(first, bisect_left(self.vocabulary, term + _LAST_CHARACTER, first))


@dataclass(frozen=True)
class SearchIndex:
    segments: tuple[IndexSegment, ...] = ()

    @classmethod
    def of(cls, documents: Collection[SearchDocument]) -> "SearchIndex":
        return cls.from_parts((IndexedDocuments.of(documents),))

    @classmethod
    def from_parts(cls, parts: Sequence[IndexedDocuments], former: "SearchIndex | None" = None) -> "SearchIndex":
        """The parts in their order. A segment of the former index of which no part has changed is taken over."""
        known = {segment.parts[0].keys[0].source: segment for segment in former.segments} if former else {}
        filled = [part for part in parts if len(part)]
        groups = _group_parts(filled, frozenset(known))
        return cls(tuple(_build_segment(group, known.get(group[0].keys[0].source)) for group in groups))

    def __len__(self) -> int:
        return self._bases[-1]

    @cached_property
    def _bases(self) -> tuple[int, ...]:
        """Where the places of each segment begin, and at last how many there are."""
        return (0, *accumulate(map(len, self.segments)))

    @property
    def parts(self) -> tuple[IndexedDocuments, ...]:
        return tuple([part for segment in self.segments for part in segment.parts])

    @cached_property
    def keys(self) -> tuple[ToolId, ...]:
        """By place."""
        return tuple([key for part in self.parts for key in part.keys])

    @cached_property
    def places(self) -> Mapping[ToolId, int]:
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def lengths(self) -> IntArray:
        return np.concatenate([np.empty((0, len(DocumentField)), np.int32), *(part.lengths for part in self.parts)])

    @cached_property
    def name_sizes(self) -> IntArray:
        return np.concatenate([np.empty(0, np.int32), *(part.name_sizes for part in self.parts)])

    @cached_property
    def servers(self) -> IntArray:
        """The number of the part that each document is in: one part holds what one server lists."""
        numbers: dict[SourceKey, int] = {}
        own = [numbers.setdefault(key.source, len(numbers)) for key in self.keys]
        return np.array(own, np.int32)

    def segments_with_base(self) -> Iterator[tuple[int, IndexSegment]]:
        """Each segment with the place of its first document."""
        return zip(self._bases, self.segments, strict=False)

    def document(self, place: int) -> tuple[IndexedDocuments, int]:
        """The part that a document is in, and its place there."""
        for part in self.parts:
            if place < len(part):
                return part, place
            place -= len(part)
        raise IndexError(place)

    def choose(self, among: Collection[ToolId] | None = None) -> "ChosenDocuments":
        if among is None:
            return ChosenDocuments(self, np.arange(len(self)))
        known = self.places
        places = np.array([known[key] for key in among if key in known], np.int64)
        return ChosenDocuments(self, np.unique(places))


@dataclass(frozen=True, slots=True)
class TermMatch:
    """Where one term is among the chosen, and what it adds there."""

    count: int
    """How many have it."""
    positions: IntArray | None
    """Ascending. Nothing, where so many have it that it takes less room to tell of each whether it does."""
    gains: SingleArray
    """At each of the positions, or of all."""
    name_positions: IntArray
    """The positions where it is in the name."""

    def add_to(self, scores: FloatArray, weight: float) -> None:
        if self.positions is None:
            scores += self.gains * weight
        else:
            scores[self.positions] += self.gains * weight

    def gain(self, position: int) -> float:
        if self.positions is None:
            return float(self.gains[position])
        at = int(np.searchsorted(self.positions, position))
        return float(self.gains[at]) if at < len(self.positions) and self.positions[at] == position else 0.0


@dataclass(frozen=True)
class ChosenDocuments:
    """The documents that a query is answered from, and all that follows from the choice alone. Kept while it holds."""

    index: SearchIndex
    places: NDArray[np.int64]
    """In the index, ascending. Whatever is told of one of the chosen is told at its position among these."""
    _matches_by_term: dict[str, TermMatch] = field(default_factory=dict[str, TermMatch], repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def positions(self) -> IntArray:
        """By place in the index; less than nothing where a document is not chosen."""
        positions = np.full(len(self.index), -1, np.int32)
        positions[self.places] = np.arange(len(self.places), dtype=np.int32)
        return positions

    @cached_property
    def field_weights(self) -> SingleArray:
        """What a word is worth, by position and field: less in a field that is longer than it mostly is."""
        # Whole numbers are added without rounding, so the averages tell nothing of what else there is.
        lengths = self.index.lengths[self.places]
        having = np.maximum(np.count_nonzero(lengths, axis=0), 1)
        average = np.maximum(lengths.sum(axis=0, dtype=np.int64) / having, 1.0)
        share = np.array(LENGTH_NORMALIZATION)
        worths: NDArray[np.float64] = np.array(FIELD_WEIGHTS) / (1 - share + share * lengths / average)
        return worths.astype(np.float32)

    @cached_property
    def name_sizes(self) -> FloatArray:
        return np.maximum(self.index.name_sizes[self.places], 1).astype(np.float64)

    @cached_property
    def servers(self) -> NDArray[np.int64]:
        """The number of each document's server, counted among the chosen."""
        numbers: NDArray[np.int64] = np.unique(self.index.servers[self.places], return_inverse=True)[1]
        return numbers

    @cached_property
    def server_sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.servers)

    def match_term(self, term: str, meet: Callable[[str, "ChosenDocuments"], TermMatch]) -> TermMatch:
        """Where a term is: worked out once, because requests share their most frequent words, which cost most."""
        known = self._matches_by_term.get(term)
        if known is None:
            known = meet(term, self)
            self._matches_by_term[term] = known
            self._evict()
        return known

    def _evict(self) -> None:
        """What was asked for first, once it is too much."""
        kept = {term: len(met.gains) for term, met in tuple(self._matches_by_term.items())}
        surplus = sum(kept.values()) - (_MIN_CACHED_ENTRIES + _MAX_CACHED_PER_DOCUMENT * len(self))
        for term, size in kept.items():
            if surplus <= 0:
                return
            self._matches_by_term.pop(term, None)
            surplus -= size

    def key(self, position: int) -> ToolId:
        return self.index.keys[int(self.places[position])]


def _group_parts(parts: Sequence[IndexedDocuments], firsts: frozenset[SourceKey]) -> list[list[IndexedDocuments]]:
    """Neighbours together, up to what a segment holds. A group begins where one began before, so that a server which
    comes, grows or goes moves no other from group to group."""
    groups: list[list[IndexedDocuments]] = []
    size = 0
    for part in parts:
        begins = part.keys[0].source in firsts and size + len(part) > SEGMENT_DOCUMENTS // 2
        if (
            not groups
            or begins
            or size + len(part) > SEGMENT_DOCUMENTS * 2
            or (not firsts and size + len(part) > SEGMENT_DOCUMENTS)
        ):
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += len(part)
    return groups


def _build_segment(parts: Sequence[IndexedDocuments], former: IndexSegment | None) -> IndexSegment:
    if former is not None and len(former.parts) == len(parts) and all(map(_is_identical, former.parts, parts)):
        return former
    return IndexSegment.of(parts)


def _is_identical(one: IndexedDocuments, other: IndexedDocuments) -> bool:
    return one is other


# The index of a board, kept up to date: what one provider lists anew costs its own tools and no others'.

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
