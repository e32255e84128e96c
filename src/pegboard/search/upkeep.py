"""The index of a board, kept up to date: what one provider lists anew costs its own tools and no others'."""

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from pegboard.core.catalogue import Catalogue
from pegboard.core.ids import Source, ToolId
from pegboard.core.policy import Policy
from pegboard.core.tool import Tool

from .documents import Document, Telling
from .index import Chosen, Index
from .part import Part

REMEMBERED: Final = 64
REMEMBERED_TOOLS: Final = 300_000
"""Summed over all choices that are kept, because on a large board each of them weighs."""


class Said(Protocol):
    """All that a document is made of, cheap to compare."""

    @property
    def key(self) -> ToolId: ...

    @property
    def document(self) -> Document: ...


class TakenApart(Protocol):
    """Documents of one source in the index, and what they were made of."""

    @property
    def tellings(self) -> Sequence[Said]: ...

    @property
    def part(self) -> Part: ...


class Comparable(Said, Protocol):
    def is_same(self: "T", other: "T", /) -> bool: ...


T = TypeVar("T", bound=Comparable)


@dataclass(frozen=True)
class Listed:
    """The part of one source, and what it was made of."""

    tools: tuple[Tool, ...]
    policy: Policy
    tellings: tuple[Telling, ...]
    part: Part


class Upkeep:
    """Not to be asked by two at once."""

    def __init__(self) -> None:
        self._listed: dict[Source, Listed] = {}
        self._index = Index()
        self._of: tuple[Catalogue, Policy] | None = None
        self._chosen: OrderedDict[int, tuple[Collection[ToolId], Chosen]] = OrderedDict()

    @property
    def listed(self) -> Mapping[Source, Listed]:
        return self._listed

    def is_of(self, catalogue: Catalogue, policy: Policy) -> bool:
        """Whether the index is of just these."""
        return self._of is not None and self._of[0] is catalogue and self._of[1] is policy

    def index(self, catalogue: Catalogue, policy: Policy) -> Index:
        """Of everything that is there now."""
        if self.is_of(catalogue, policy):
            return self._index
        listed = {
            source: self._listed_anew(source, listing.tools, policy) for source, listing in catalogue.listings.items()
        }
        if not self._is_made_of(listed):
            self._index = Index.made_of([each.part for each in listed.values()], self._index)
            self._chosen.clear()
        self._listed, self._of = listed, (catalogue, policy)
        return self._index

    def chosen(self, among: Collection[ToolId]) -> Chosen:
        """In the index that was last asked for. One value for one collection, while nothing changes."""
        known = self._chosen.get(id(among))
        if known is None:
            # The collection is kept with what follows from it, so no other can come to be at its address.
            known = among, self._index.chosen(among)
            self._chosen[id(among)] = known
        self._chosen.move_to_end(id(among))
        while len(self._chosen) > 1 and self._is_too_much():
            self._chosen.popitem(last=False)
        return known[1]

    def _is_too_much(self) -> bool:
        kept = sum(len(among) for among, _ in self._chosen.values())
        return len(self._chosen) > REMEMBERED or kept > REMEMBERED_TOOLS

    def _listed_anew(self, source: Source, tools: tuple[Tool, ...], policy: Policy) -> Listed:
        known = self._listed.get(source)
        if known is not None and known.tools is tools and known.policy is policy:
            return known
        tellings = tuple([Telling.of(tool, policy) for tool in tools])
        if known is None:
            return Listed(tools, policy, tellings, Part.of(telling.document for telling in tellings))
        return Listed(tools, policy, tellings, part_anew(known.part, known.tellings, tellings))

    def _is_made_of(self, listed: Mapping[Source, Listed]) -> bool:
        parts = self._index.parts
        filled = [each.part for each in listed.values() if len(each.part)]
        return len(parts) == len(filled) and all(map(_is, parts, filled))


def part_anew(former: Part, said: Sequence[T], tellings: Sequence[T]) -> Part:
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
    return former.changed(kept, Part.of(fresh), len(tellings)) if kept else Part.of(fresh)


def _is(one: Part, other: Part) -> bool:
    return one is other
