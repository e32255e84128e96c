"""Ranking by words: how well the names, titles, descriptions and parameters of tools fit a query.

The measure is BM25 over weighted fields. A query is answered among any part of the documents as if no other existed:
whoever may not see a tool cannot notice it by the order of the rest.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from sys import intern
from typing import Final

from pegboard.core.ids import ToolId

from .text import query_terms, terms

SATURATION: Final = 1.2
LENGTH: Final = 0.6
NAME, TITLE, PARAMETERS, SOURCE, DESCRIPTION = 3.0, 2.0, 0.7, 1.5, 1.0
EXACT_NAME: Final = 10.0
PREFIX: Final = 0.5
SHORTEST_PREFIX: Final = 3
MOST_BY_PREFIX: Final = 64
MOST_TERMS: Final = 64
"""Of a query: whoever sends a whole page is answered by its beginning."""

MOST_OF_NAME: Final = 500
MOST_OF_DESCRIPTION: Final = 4_000
"""Characters. What comes after is examples and small print, and a giant text must not cost everybody's memory."""


@dataclass(frozen=True, slots=True)
class Document:
    """What may be known of one tool."""

    key: ToolId
    name: str
    title: str = ""
    description: str = ""
    parameters: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    key: ToolId
    score: float


@dataclass(frozen=True)
class Part:
    """Some documents, taken apart once. An index is made of parts, so that a change costs only its own.

    Postings lie one after the other, by term: a board has hundreds of parts, and an object a term would take ten times
    the room.
    """

    documents: tuple[Document, ...]
    lengths: "array[float]"
    names: tuple[tuple[str, ...], ...]
    vocabulary: tuple[str, ...]
    """Every term, sorted."""
    starts: "array[int]"
    """Where the postings of each term begin, and at last where all of them end."""
    places: "array[int]"
    weights: "array[float]"

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "Part":
        listed = tuple(documents)
        postings: dict[str, list[tuple[int, float]]] = {}
        lengths, names = array("f"), []
        for place, document in enumerate(listed):
            own = tuple(terms(document.name[:MOST_OF_NAME]))
            weighed = _weights(document, own)
            for term, weight in weighed.items():
                postings.setdefault(intern(term), []).append((place, weight))
            lengths.append(sum(weighed.values()))
            names.append(own)
        starts, places, weights = array("I", [0]), array("I"), array("f")
        vocabulary = tuple(sorted(postings))
        for term in vocabulary:
            places.extend(place for place, _ in postings[term])
            weights.extend(weight for _, weight in postings[term])
            starts.append(len(places))
        return cls(listed, lengths, tuple(names), vocabulary, starts, places, weights)

    def beginning_with(self, prefix: str) -> Iterator[tuple[str, "Iterator[tuple[int, float]]"]]:
        """The terms that begin so, the word itself before the others; each with where it is and its weight there."""
        for at in range(bisect_left(self.vocabulary, prefix), len(self.vocabulary)):
            term = self.vocabulary[at]
            if not term.startswith(prefix):
                return
            here = slice(self.starts[at], self.starts[at + 1])
            yield term, zip(self.places[here], self.weights[here], strict=True)


@dataclass(frozen=True)
class Index:
    parts: tuple[Part, ...] = ()

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "Index":
        return cls((Part.of(documents),))

    @cached_property
    def _places(self) -> Mapping[ToolId, tuple[int, int]]:
        return {
            document.key: (number, place)
            for number, part in enumerate(self.parts)
            for place, document in enumerate(part.documents)
        }

    def ranked(self, query: str, among: Collection[ToolId] | None = None) -> list[Hit]:
        """The documents that fit the query, best first, equals in their own order; as if there were no others."""
        asked = query_terms(query)[:MOST_TERMS]
        if not asked:
            return []
        chosen = self._chosen(among)
        count = sum(map(len, chosen))
        if not count:
            return []
        # To the last bit the same in any order: a rounding must not tell what else there is.
        length = math.fsum(
            part.lengths[place] for part, places in zip(self.parts, chosen, strict=True) for place in places
        )
        scores: dict[tuple[int, int], float] = {}
        for term in asked:
            found = self._having(term, chosen)
            rarity = math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
            for at, weight in found.items():
                share = self.parts[at[0]].lengths[at[1]] * count / length
                gain = rarity * weight * (SATURATION + 1) / (weight + SATURATION * (1 - LENGTH + LENGTH * share))
                scores[at] = scores.get(at, 0.0) + gain
        exact = tuple(terms(query))
        hits = [
            (-(score + EXACT_NAME if self.parts[at[0]].names[at[1]] == exact else score), at)
            for at, score in scores.items()
        ]
        return [Hit(self.parts[at[0]].documents[at[1]].key, -score) for score, at in sorted(hits)]

    def _chosen(self, among: Collection[ToolId] | None) -> "list[set[int] | range]":
        """The places in each part that count."""
        if among is None:
            return [range(len(part.documents)) for part in self.parts]
        chosen: list[set[int]] = [set() for _ in self.parts]
        places = self._places
        for key in among:
            if (at := places.get(key)) is not None:
                chosen[at[0]].add(at[1])
        return [*chosen]

    def _having(self, term: str, chosen: "Sequence[set[int] | range]") -> dict[tuple[int, int], float]:
        """Where the term is found, or a longer word that begins with it: as one term, so that no rare word of many
        that begin so outweighs the term itself."""
        found: dict[tuple[int, int], float] = {}
        longer: dict[str, list[tuple[tuple[int, int], float]]] = {}
        for number, (part, places) in enumerate(zip(self.parts, chosen, strict=True)):
            if not places:
                continue
            for word, postings in part.beginning_with(term):
                if word != term and len(term) < SHORTEST_PREFIX:
                    break
                here = [((number, place), weight) for place, weight in postings if place in places]
                if word == term:
                    found.update(here)
                elif here:
                    longer.setdefault(word, []).extend(here)
        for word in sorted(longer, key=lambda word: (len(word), word))[:MOST_BY_PREFIX]:
            part_of = PREFIX * len(term) / len(word)
            for at, weight in longer[word]:
                found[at] = max(found.get(at, 0.0), part_of * weight)
        return found


def _weights(document: Document, name: Iterable[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for term in name:
        weights[term] = weights.get(term, 0.0) + NAME
    for text, weight in (
        (document.title[:MOST_OF_NAME], TITLE),
        (" ".join(document.parameters)[:MOST_OF_DESCRIPTION], PARAMETERS),
        (document.source, SOURCE),
        (document.description[:MOST_OF_DESCRIPTION], DESCRIPTION),
    ):
        for term in terms(text):
            weights[term] = weights.get(term, 0.0) + weight
    return weights
