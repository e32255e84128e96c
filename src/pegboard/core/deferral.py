"""Deferral: tools that are known to search and shown once they were found, for one conversation.

What was found is a memory and no permission: it is held against a resolution each time, and shows only what that opens.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from .ids import BuiltinKey, ToolId
from .presentations.presenting import DEFAULT_MATERIALIZED
from .resolve import OpenTool, Resolution


@dataclass(frozen=True, slots=True)
class MaterializedTools:
    """What one conversation has found so far."""

    searches: tuple[tuple[ToolId, ...], ...] = ()
    """What is kept of each search, in the order of the searches, the best of each first. A tool is in the first search
    that found it, and in no other; no search is empty."""

    @property
    def ids(self) -> tuple[ToolId, ...]:
        """In the order in which they were first found."""
        return tuple(id for search in self.searches for id in search)

    def with_found(self, found: Iterable[ToolId], most: int = DEFAULT_MATERIALIZED) -> "MaterializedTools":
        """After one more search, `found` the best first. Built-ins are shown without it, and take no place.

        Where there is no room for all, the better half of the places is for the best of this search; the others go to
        what earlier searches found, rank by rank, and of one rank first to the first search, which is the user's own.

        What is kept keeps its place, so that a list of tools grows at its end: whoever has read it up to there need not
        read it anew.
        """
        fresh = [*islice(dict.fromkeys(id for id in found if not isinstance(id.source, BuiltinKey)), most)]
        known = {*self.ids}
        grown = (*self.searches, tuple(id for id in fresh if id not in known))
        best = fresh[: (most + 1) // 2]
        stays = {*islice(dict.fromkeys((*best, *self._by_rank(), *fresh)), most)}
        kept = (tuple(id for id in search if id in stays) for search in grown)
        return MaterializedTools(tuple(search for search in kept if search))

    def with_searches(self, other: "MaterializedTools", most: int = DEFAULT_MATERIALIZED) -> "MaterializedTools":
        """After the searches of another conversation, one by one."""
        joined = self
        for search in other.searches:
            joined = joined.with_found(search, most)
        return joined

    def _by_rank(self) -> Iterator[ToolId]:
        """The best of each search, then the second of each, and so on: of the first search, then from the last back."""
        order = (*self.searches[:1], *reversed(self.searches[1:]))
        for rank in range(max(map(len, order), default=0)):
            yield from (search[rank] for search in order if rank < len(search))


@dataclass(frozen=True, slots=True)
class ConversationTools:
    """What one conversation is shown of the board."""

    tools: tuple[ToolId, ...]
    """Built-ins and those that need not be found, in the order of the board; then what was found."""
    has_deferred: bool
    """Whether there are tools that only a search tells of, found or not: without any, there is nothing to search."""


def always_shown_tools(resolution: Resolution, always: Collection[ToolId]) -> tuple[ToolId, ...]:
    """What need not be found: built-ins, and what is to be shown always. The same for every conversation."""
    return tuple([id for id in resolution.open_ids if isinstance(id.source, BuiltinKey) or id in always])


def has_deferred(resolution: Resolution, always: Collection[ToolId]) -> bool:
    """Whether there are tools that only a search tells of."""
    return len(always_shown_tools(resolution, {*always})) < len(resolution.open_ids)


def conversation_tools(resolution: Resolution, stands: Sequence[ToolId], found: MaterializedTools) -> ConversationTools:
    """Beside what stands nothing that the resolution does not open, whatever was found before."""
    verdicts = resolution.verdicts
    later = (id for id in found.ids if id not in stands and isinstance(verdicts.get(id), OpenTool))
    return ConversationTools((*stands, *later), len(stands) < len(resolution.open_ids))
