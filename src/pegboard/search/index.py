"""All documents, word by word, and the choice among them that a query is answered from.

A query is answered among the chosen documents as if no other existed: whoever may not see a tool cannot notice it by
the order of the rest, nor by a score.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pegboard.core.ids import Source, ToolId

from .documents import Document
from .fields import LENGTH, WORTH, Field
from .part import Floats, Marks, Part, Singles, Whole, joined

LARGE: Final = 8_192
"""Documents of a segment. Larger ones are asked more quickly, smaller ones are made anew more quickly."""

_FEWEST_KEPT: Final = 10_000
_MOST_KEPT: Final = 64
"""Entries of terms that were looked for before, for each document."""

_LAST: Final = "\U0010ffff"


@dataclass(frozen=True)
class Segment:
    """Some parts together, by term: what one query term asks for lies in one piece."""

    parts: tuple[Part, ...]
    vocabulary: tuple[str, ...]
    starts: Whole
    """Where each term begins, and at last where all of them end."""
    places: Whole
    """Of documents, within the segment."""
    marks: Marks

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "Segment":
        whole = joined(parts)
        order = np.argsort(whole.terms, kind="stable")
        counts = np.bincount(whole.terms, minlength=len(whole.vocabulary))
        places = np.repeat(np.arange(len(whole), dtype=np.int32), np.diff(whole.starts))
        return cls(
            tuple(parts),
            whole.vocabulary,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            places[order],
            whole.marks[order],
        )

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def beginning_with(self, term: str) -> range:
        """The terms that begin so; the term itself is the first, if it is there."""
        first = bisect_left(self.vocabulary, term)
        if first == len(self.vocabulary) or not self.vocabulary[first].startswith(term):
            return range(0)
        return range(first, bisect_left(self.vocabulary, term + _LAST, first))


@dataclass(frozen=True)
class Index:
    segments: tuple[Segment, ...] = ()

    @classmethod
    def of(cls, documents: Collection[Document]) -> "Index":
        return cls.made_of((Part.of(documents),))

    @classmethod
    def made_of(cls, parts: Sequence[Part], former: "Index | None" = None) -> "Index":
        """The parts in their order. A segment of the former index of which no part has changed is taken over."""
        known = {segment.parts[0].keys[0].source: segment for segment in former.segments} if former else {}
        filled = [part for part in parts if len(part)]
        groups = _grouped(filled, frozenset(known))
        return cls(tuple(_segment(group, known.get(group[0].keys[0].source)) for group in groups))

    def __len__(self) -> int:
        return self._bases[-1]

    @cached_property
    def _bases(self) -> tuple[int, ...]:
        """Where the places of each segment begin, and at last how many there are."""
        return (0, *accumulate(map(len, self.segments)))

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple([part for segment in self.segments for part in segment.parts])

    @cached_property
    def keys(self) -> tuple[ToolId, ...]:
        """By place."""
        return tuple([key for part in self.parts for key in part.keys])

    @cached_property
    def places(self) -> Mapping[ToolId, int]:
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def lengths(self) -> Whole:
        return np.concatenate([np.empty((0, len(Field)), np.int32), *(part.lengths for part in self.parts)])

    @cached_property
    def name_sizes(self) -> Whole:
        return np.concatenate([np.empty(0, np.int32), *(part.name_sizes for part in self.parts)])

    @cached_property
    def servers(self) -> Whole:
        """The number of the part that each document is in: one part holds what one server lists."""
        numbers: dict[Source, int] = {}
        own = [numbers.setdefault(key.source, len(numbers)) for key in self.keys]
        return np.array(own, np.int32)

    def asked(self) -> Iterator[tuple[int, Segment]]:
        """Each segment with the place of its first document."""
        return zip(self._bases, self.segments, strict=False)

    def document(self, place: int) -> tuple[Part, int]:
        """The part that a document is in, and its place there."""
        for part in self.parts:
            if place < len(part):
                return part, place
            place -= len(part)
        raise IndexError(place)

    def chosen(self, among: Collection[ToolId] | None = None) -> "Chosen":
        if among is None:
            return Chosen(self, np.arange(len(self)))
        known = self.places
        places = np.array([known[key] for key in among if key in known], np.int64)
        return Chosen(self, np.unique(places))


@dataclass(frozen=True, slots=True)
class Met:
    """Where one term is among the chosen, and what it adds there."""

    count: int
    """How many have it."""
    positions: Whole | None
    """Ascending. Nothing, where so many have it that it takes less room to tell of each whether it does."""
    gains: Singles
    """At each of the positions, or of all."""
    named: Whole
    """The positions where it is in the name."""

    def add_to(self, scores: Floats, weight: float) -> None:
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
class Chosen:
    """The documents that a query is answered from, and all that follows from the choice alone. Kept while it holds."""

    index: Index
    places: NDArray[np.int64]
    """In the index, ascending. Whatever is told of one of the chosen is told at its position among these."""
    _met: dict[str, Met] = field(default_factory=dict[str, Met], repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def positions(self) -> Whole:
        """By place in the index; less than nothing where a document is not chosen."""
        positions = np.full(len(self.index), -1, np.int32)
        positions[self.places] = np.arange(len(self.places), dtype=np.int32)
        return positions

    @cached_property
    def worths(self) -> Singles:
        """What a word is worth, by position and field: less in a field that is longer than it mostly is."""
        # Whole numbers are added without rounding, so the averages tell nothing of what else there is.
        lengths = self.index.lengths[self.places]
        having = np.maximum(np.count_nonzero(lengths, axis=0), 1)
        average = np.maximum(lengths.sum(axis=0, dtype=np.int64) / having, 1.0)
        share = np.array(LENGTH)
        worths: NDArray[np.float64] = np.array(WORTH) / (1 - share + share * lengths / average)
        return worths.astype(np.float32)

    @cached_property
    def name_sizes(self) -> Floats:
        return np.maximum(self.index.name_sizes[self.places], 1).astype(np.float64)

    @cached_property
    def servers(self) -> NDArray[np.int64]:
        """The number of each document's server, counted among the chosen."""
        numbers: NDArray[np.int64] = np.unique(self.index.servers[self.places], return_inverse=True)[1]
        return numbers

    @cached_property
    def server_sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.servers)

    def met(self, term: str, meet: Callable[[str, "Chosen"], Met]) -> Met:
        """Where a term is: worked out once, because requests share their most frequent words, which cost most."""
        known = self._met.get(term)
        if known is None:
            known = meet(term, self)
            self._met[term] = known
            self._forget()
        return known

    def _forget(self) -> None:
        """What was asked for first, once it is too much."""
        kept = {term: len(met.gains) for term, met in tuple(self._met.items())}
        surplus = sum(kept.values()) - (_FEWEST_KEPT + _MOST_KEPT * len(self))
        for term, size in kept.items():
            if surplus <= 0:
                return
            self._met.pop(term, None)
            surplus -= size

    def key(self, position: int) -> ToolId:
        return self.index.keys[int(self.places[position])]


def _grouped(parts: Sequence[Part], firsts: frozenset[Source]) -> list[list[Part]]:
    """Neighbours together, up to what a segment holds. A group begins where one began before, so that a server which
    comes, grows or goes moves no other from group to group."""
    groups: list[list[Part]] = []
    size = 0
    for part in parts:
        begins = part.keys[0].source in firsts and size + len(part) > LARGE // 2
        if not groups or begins or size + len(part) > LARGE * 2 or (not firsts and size + len(part) > LARGE):
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += len(part)
    return groups


def _segment(parts: Sequence[Part], former: Segment | None) -> Segment:
    if former is not None and len(former.parts) == len(parts) and all(map(_is, former.parts, parts)):
        return former
    return Segment.of(parts)


def _is(one: Part, other: Part) -> bool:
    return one is other
