"""Names that a view was given before: none of them moves to another thing unsaid."""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from pegboard.core.ids import ToolId, WireName

RETIRED_NAMES: Final = 10_000
"""How many names of things that are gone one view keeps from being given to others."""


def held_names(before: Mapping[WireName, ToolId], now: Mapping[WireName, ToolId]) -> Mapping[WireName, ToolId]:
    """A name stays its tool's own after the tool has gone: who still knows the old list must not reach another."""
    retired = {name: id for name, id in before.items() if name not in now}
    if not retired:
        return now
    newest = islice(retired.items(), max(0, len(retired) - RETIRED_NAMES), None)
    return {**dict(newest), **now}
