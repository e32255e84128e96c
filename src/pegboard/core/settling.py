"""A tool's own switch, and people's overrides with `enabled`: which of them holds, and what is left of the others.

One rule: what is nearest to the tool wins. That is its own switch, or its own override, whichever was set last; where
there is neither, the most specific pattern.
"""

from dataclasses import replace
from functools import partial

from .editing import without
from .ids import ToolId
from .override import Override, OverrideIndex
from .policy import Decided, Switch, Switchable


def switched(decided: Decided, what: Switchable, switch: Switch) -> Decided:
    """Who switches on a tool that nothing but its switch keeps off takes that back: no switch is left behind that would
    hold, unseen, against an override that comes later."""
    overrides = tuple(row for row in map(partial(_without_switch, what), decided.overrides) if row is not None)
    switches = {**decided.switches, what: switch}
    every = OverrideIndex((*decided.manifest_overrides, *overrides))
    if switch.on and isinstance(what, ToolId) and not every.hides(what):
        del switches[what]
    return replace(decided, switches=switches, overrides=overrides)


def overridden(decided: Decided, override: Override, *, settles: Override) -> Decided:
    rest = tuple(row for row in decided.overrides if place(row) != place(override))
    return replace(
        decided,
        overrides=(*rest, override) if override.says else rest,
        switches={what: switch for what, switch in decided.switches.items() if not _settles(settles, what)},
    )


def place(override: Override) -> tuple[object, object]:
    return override.toolset, override.target


def row_at(decided: Decided, said: Override) -> Override | None:
    return next((row for row in decided.overrides if place(row) == place(said)), None)


def _settles(override: Override, what: Switchable) -> bool:
    """One tool has one switch: whichever of its switch and its own override was set last."""
    return override.enabled is not None and override.target == what


def _without_switch(what: Switchable, row: Override) -> Override | None:
    if not _settles(row, what):
        return row
    rest = without(row, frozenset({"enabled"}))
    return rest if rest.says else None
