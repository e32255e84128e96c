"""The index of what databases hold, kept up to date: a table that changed is taken apart again, and no other."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np

from pegboard.core.database import Schema, SourceId, TableName
from pegboard.core.ids import Source, ToolId

from .abbreviations import is_bare, short_for
from .index import Chosen, Index
from .part import Part, Whole
from .rank import EXACT, Dense, Ranked, Ranker, ranked
from .tables import TableTelling, source_key, table_key
from .text import pieces
from .upkeep import part_anew

_JOINED: Final = re.compile(r"\w[_.]\w|[a-z][A-Z]")
"""What nobody writes within a word, unless it is the name of a thing."""
_AROUND: Final = "\"'`.,;:!?()[]"
_MOST_CHOICES: Final = 64
REFERRED: Final = 0.25
"""How much of the score of what it refers to a table has too."""

Samples = Mapping[TableName, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Held:
    """The part of one database, and what it was made of."""

    schema: Schema
    samples: Samples
    tellings: tuple[TableTelling, ...]
    part: Part
    bare: frozenset[str]
    """Parts of its names that are words without their vowels."""

    @classmethod
    def of(cls, source: SourceId, schema: Schema, samples: Samples, former: "Held | None" = None) -> "Held":
        tellings = tuple(
            [
                TableTelling(table_key(source, name), table, tuple(schema.relations_from(name)), samples.get(name))
                for name, table in schema.by_name.items()
            ]
        )
        if former is None:
            part = Part.of(telling.document for telling in tellings)
        else:
            part = part_anew(former.part, former.tellings, tellings)
        bare = former.bare if former is not None and part is former.part else _bare(tellings)
        return cls(schema, samples, tellings, part, bare)

    def called_in(self, query: str) -> list[TableName]:
        """The tables whose own name the query is, or has in it as only names are written."""
        whole = query.strip().casefold()
        written = (word.strip(_AROUND).casefold() for word in query.split() if _JOINED.search(word))
        return [name for word in dict.fromkeys((whole, *written)) for name in self._called.get(word, ())]

    @cached_property
    def _called(self) -> Mapping[str, Sequence[TableName]]:
        called: dict[str, list[TableName]] = {}
        for name in self.schema.by_name:
            for each in {name.table.casefold(), str(name).casefold()}:
                called.setdefault(each, []).append(name)
        return called


class Schemas:
    """Not to be asked by two at once."""

    def __init__(self) -> None:
        self._held: Mapping[SourceId, Held] = {}
        self._index = Index()
        self._is_stale = False
        self._names: Mapping[ToolId, tuple[SourceId, TableName]] = {}
        self._choices: dict[frozenset[SourceId], Choice] = {}

    @property
    def held(self) -> Mapping[SourceId, Held]:
        return self._held

    @property
    def listed(self) -> Mapping[Source, Held]:
        """For whoever reads tables for their meaning."""
        return {source_key(source): held for source, held in self._held.items()}

    def take(self, source: SourceId, held: Held) -> None:
        former = self._held.get(source)
        self._held = {**self._held, source: held}
        self._is_stale |= former is None or former.part is not held.part

    def drop(self, source: SourceId) -> None:
        self._is_stale |= source in self._held
        self._held = {known: held for known, held in self._held.items() if known != source}

    def found(self, query: str, sources: Iterable[SourceId], dense: Dense | None = None) -> "Found":
        """Among these databases, as if there were no others."""
        self._bring_up_to_date()
        among = frozenset(source for source in sources if source in self._held)
        choice = self._among(among)
        hits = choice.lifted(ranked(self._widened(query, among), choice.chosen, dense))
        names = self._names
        called = [(source, name) for source in sorted(among) for name in self._held[source].called_in(query)]
        rest = (found for key in hits if (found := names[key]) not in called)
        return Found(hits.ranker, chain(called, rest), len(hits.matches.chosen))

    def _bring_up_to_date(self) -> None:
        if not self._is_stale:
            return
        self._index = Index.made_of([held.part for held in self._held.values()], self._index)
        self._names = {
            telling.key: (source, telling.table.name)
            for source, held in self._held.items()
            for telling in held.tellings
        }
        self._choices.clear()
        self._is_stale = False

    def _among(self, sources: frozenset[SourceId]) -> "Choice":
        known = self._choices.get(sources)
        if known is None:
            known = Choice.of(self._index, {source: self._held[source] for source in sorted(sources)})
            while len(self._choices) >= _MOST_CHOICES:
                del self._choices[next(iter(self._choices))]
            self._choices[sources] = known
        return known

    def _widened(self, query: str, sources: Collection[SourceId]) -> str:
        """With the short forms of its words that names here have."""
        bare = sorted({short for source in sources for short in self._held[source].bare})
        more = dict.fromkeys(short for word in pieces(query) for short in short_for(word, bare))
        return " ".join((query, *more)) if more else query


@dataclass(frozen=True)
class Choice:
    """The tables of some databases, and which of them refer to which."""

    chosen: Chosen
    referring: Whole
    """Positions."""
    to: Whole

    @classmethod
    def of(cls, index: Index, held: Mapping[SourceId, Held]) -> "Choice":
        tellings = [telling for each in held.values() for telling in each.tellings]
        chosen = index.chosen([telling.key for telling in tellings])
        place = {key: int(chosen.positions[index.places[key]]) for key in (telling.key for telling in tellings)}
        pairs = [
            (place[telling.key], place[table_key(source, relation.to)])
            for source, each in held.items()
            for telling in each.tellings
            for relation in telling.refers_to
            if relation.to != telling.table.name
        ]
        both = np.array(pairs, np.int32).reshape(-1, 2)
        return cls(chosen, both[:, 0], both[:, 1])

    def lifted(self, hits: Ranked) -> Ranked:
        """A table is about what it refers to: orders of customers are in neither name."""
        own = hits.scores.copy()
        own[[*hits.exact]] -= EXACT
        best = np.zeros(len(own))
        np.maximum.at(best, self.referring, own[self.to])
        return replace(hits, scores=hits.scores + REFERRED * best)


@dataclass(frozen=True)
class Found:
    ranker: Ranker
    tables: Iterator[tuple[SourceId, TableName]]
    """The best first."""
    searched: int
    """How many tables there are."""


def _bare(tellings: Iterable[TableTelling]) -> frozenset[str]:
    names = (name for each in tellings for name in (each.table.name.table, *(c.name for c in each.table.columns)))
    return frozenset(part.casefold() for name in dict.fromkeys(names) for part in pieces(name) if is_bare(part))
