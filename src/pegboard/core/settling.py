"""A tool's own switch, and people's overrides with `enabled`: which of them holds, and what is left of the others.

One rule: what is nearest to the tool wins. That is its own switch, or its own override, whichever was set last; where
there is neither, the most specific pattern.
"""

from dataclasses import dataclass, replace

from .editing import without
from .ids import ToolId
from .override import Override, OverrideIndex
from .policy import Decided, Switch, Switchable


@dataclass(frozen=True)
class ThrowSeveral:
    """All of them or none: who switches many at once has looked at them as one list."""

    tools: tuple[ToolId, ...]
    on: bool
    note: str = ""


def switched(decided: Decided, switch: Switch, *whats: Switchable) -> Decided:
    """Who switches on a tool that nothing but its switch keeps off takes that back: no switch is left behind that would
    hold, unseen, against an override that comes later."""
    thrown = frozenset(whats)
    overrides = tuple(kept for row in decided.overrides if (kept := _without_switch(thrown, row)) is not None)
    every = OverrideIndex((*decided.manifest_overrides, *overrides))
    needless = {what for what in thrown if switch.on and isinstance(what, ToolId) and not every.hides(what)}
    switches = {**decided.switches, **dict.fromkeys(whats, switch)}
    return replace(
        decided,
        switches={what: kept for what, kept in switches.items() if what not in needless},
        overrides=overrides,
    )


def overridden(decided: Decided, override: Override, *, settles: Override) -> Decided:
    rest = tuple(row for row in decided.overrides if place(row) != place(override))
    return replace(
        decided,
        overrides=(*rest, override) if override.says else rest,
        switches={
            what: switch for what, switch in decided.switches.items() if not _settles(settles, frozenset({what}))
        },
    )


def place(override: Override) -> tuple[object, object]:
    return override.toolset, override.target


def row_at(decided: Decided, said: Override) -> Override | None:
    return next((row for row in decided.overrides if place(row) == place(said)), None)


def _settles(override: Override, thrown: frozenset[Switchable]) -> bool:
    """One tool has one switch: whichever of its switch and its own override was set last."""
    return override.enabled is not None and override.target in thrown


def _without_switch(thrown: frozenset[Switchable], row: Override) -> Override | None:
    if not _settles(row, thrown):
        return row
    rest = without(row, frozenset({"enabled"}))
    return rest if rest.says else None
