"""Names that a view was given before: none of them moves to another thing unsaid."""

from collections.abc import Container, Mapping
from typing import Final

from pegboard.core.ids import ToolId, WireName

RETIRED_NAMES: Final = 10_000
"""How many names of things that are gone one view keeps from being given to others."""


def held_names(
    before: Mapping[WireName, ToolId], now: Mapping[WireName, ToolId], there: Container[ToolId]
) -> Mapping[WireName, ToolId]:
    """A name stays its tool's own, whatever becomes of the tool: who still knows the old list must not reach another.

    What is still `there` keeps each of its names; of what has gone, as many are kept as were given last.
    """
    former = {name: id for name, id in before.items() if name not in now}
    if not former:
        return now
    gone = [name for name, id in former.items() if id not in there] if len(former) > RETIRED_NAMES else []
    surplus = gone[: max(0, len(gone) - RETIRED_NAMES)]
    if not surplus and len(former) + len(now) == len(before):
        # No name moves, so as many as there were are the same ones, and one mapping does for them all.
        return before
    for name in surplus:
        del former[name]
    return {**former, **now}
