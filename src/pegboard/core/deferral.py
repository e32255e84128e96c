"""Deferral: tools that are known to search and shown once they were found, for one conversation.

What was found is a memory and no permission: it is held against a resolution each time, and shows only what that opens.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from .ids import BuiltinKey, ToolId
from .presentations.presenting import MATERIALISED
from .resolve import Open, Resolution


@dataclass(frozen=True, slots=True)
class Materialised:
    """What one conversation has found so far, in the order in which it was first found."""

    ids: tuple[ToolId, ...] = ()

    def with_found(self, found: Iterable[ToolId], most: int = MATERIALISED) -> "Materialised":
        """Those that were just found, the best first, stay whatever happens, as far as there is room; then the oldest
        leave.

        What is kept keeps its place, so that a list of tools grows at its end: whoever has read it up to there need not
        read it anew.
        """
        fresh = dict.fromkeys(islice(dict.fromkeys(found), most))
        older = [id for id in self.ids if id not in fresh]
        stays = {*fresh, *older[len(older) - min(len(older), most - len(fresh)) :]}
        return Materialised(tuple(id for id in dict.fromkeys((*self.ids, *fresh)) if id in stays))


@dataclass(frozen=True, slots=True)
class Shown:
    """What one conversation is shown of the board."""

    tools: tuple[ToolId, ...]
    """Built-ins and those that need not be found, in the order of the board; then what was found."""
    deferred: bool
    """Whether there are tools that only a search tells of, found or not: without any, there is nothing to search."""


def standing(resolution: Resolution, always: Collection[ToolId]) -> tuple[ToolId, ...]:
    """What need not be found: built-ins, and what is to be shown always. The same for every conversation."""
    return tuple([id for id in resolution.open_ids if isinstance(id.source, BuiltinKey) or id in always])


def shown(resolution: Resolution, stands: Sequence[ToolId], found: Materialised) -> Shown:
    """Beside what stands nothing that the resolution does not open, whatever was found before."""
    verdicts = resolution.verdicts
    later = (id for id in found.ids if id not in stands and isinstance(verdicts.get(id), Open))
    return Shown((*stands, *later), len(stands) < len(resolution.open_ids))
