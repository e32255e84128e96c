"""Which tools of a toolset are in it, by two lists of what to include and to exclude: people's `enabled` overrides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from .catalogue import Catalogue
from .editing import without
from .ids import ToolId, ToolsetId
from .override import Override
from .pattern import Pattern
from .policy import Decided, Policy
from .rejected import Rejected
from .resolve import Locked, Open, verdict_on
from .server import InstalledBy
from .settling import row_at
from .status import DeniedByLimit, DeniedByOverride, DeniedByPattern, SwitchedOff
from .tool import Tool
from .unknown_names import with_suspects

Target: TypeAlias = ToolId | Pattern

ENABLED: Final = frozenset({"enabled"})


@dataclass(frozen=True)
class ChooseTools:
    """From now on people include and exclude exactly these of the toolset; what their overrides say besides stays."""

    toolset: ToolsetId
    includes: tuple[Target, ...]
    excludes: tuple[Target, ...]


@dataclass(frozen=True)
class Chosen:
    """One tool before a choice and after it."""

    tool: Tool
    was: bool
    now: bool
    verdict: Open | Locked
    """After it, and before what a view removes."""
    by: Override | None
    """The override that decides, if one does."""


@dataclass(frozen=True)
class Entry:
    """One override by which tools are in or out: a person's, the operator's or the toolset's own."""

    row: Override
    includes: bool
    fits: int
    """Tools of the toolset, now."""
    decides: int
    """Those of them that are in or out because of it."""


def entries(policy: Policy, toolset: ToolsetId, made: Sequence[Chosen]) -> tuple[Entry, ...]:
    """Of everybody, as far as they are about this toolset."""
    return tuple(
        Entry(
            row,
            row.enabled,
            sum(row.fits(each.tool.id) for each in made),
            sum(each.by is row and each.now is row.enabled for each in made),
        )
        for row in policy.overrides.rows
        if row.toolset == toolset and row.enabled is not None
    )


def choice_of(decided: Decided, toolset: ToolsetId) -> tuple[Override, ...]:
    """What people include and exclude there now."""
    return tuple(row for row in decided.overrides if row.toolset == toolset and row.enabled is not None)


def chosen(decided: Decided, command: ChooseTools, by: InstalledBy) -> Decided | Rejected:
    """The rows of both lists come last, the excluding ones after the including ones: among patterns that are equally
    specific the later wins, so that the same two lists mean the same whatever was there before."""
    if both := [str(each) for each in command.includes if each in command.excludes]:
        return Rejected(f"{', '.join(both)} is among what to include and what to exclude. Name it once.")
    wanted = {**dict.fromkeys(command.includes, True), **dict.fromkeys(command.excludes, False)}
    if foreign := [str(each) for each in wanted if isinstance(each, ToolId) and each.toolset != command.toolset]:
        return Rejected(f"{', '.join(foreign)} is not in toolset {command.toolset!r}. Choose it there.")
    rows = tuple(_row(decided, command.toolset, target, on, by) for target, on in wanted.items())
    new = {row.target for row in rows if row.origins["enabled"] is by}
    return replace(
        decided,
        overrides=(*_rest(decided.overrides, command.toolset, wanted), *rows),
        # One tool has one switch: whichever of its switch and its own override was set last.
        switches={what: switch for what, switch in decided.switches.items() if what not in new},
    )


def _row(decided: Decided, toolset: ToolsetId, target: Target, on: bool, by: InstalledBy) -> Override:
    known = row_at(decided, Override(toolset, target)) or Override(toolset, target)
    origin = known.origins.get("enabled", by) if known.enabled is on else by
    return replace(known, enabled=on, origins={**known.origins, "enabled": origin})


def _rest(rows: Iterable[Override], toolset: ToolsetId, wanted: Mapping[Target, bool]) -> Iterator[Override]:
    for row in rows:
        if row.toolset != toolset or (row.enabled is None and row.target not in wanted):
            yield row
        elif row.target not in wanted and (left := without(row, ENABLED)).says:
            yield left


def chosen_tools(catalogue: Catalogue, before: Policy, after: Policy, toolset: ToolsetId) -> Iterator[Chosen]:
    """Every tool of the toolset, in the order of the catalogue."""
    before, after = with_suspects(catalogue, before), with_suspects(catalogue, after)
    for id, tool in catalogue.tools.items():
        if id.toolset != toolset:
            continue
        health = catalogue.health(id.source)
        was, now = verdict_on(tool, health, before), verdict_on(tool, health, after)
        by = after.overrides.for_tool(id).origin.get("enabled")
        yield Chosen(tool, is_chosen(was), is_chosen(now), now, by)


def is_chosen(verdict: Open | Locked) -> bool:
    """Whether nobody's choice keeps it out. What waits for a person, or for its server, is in all the same."""
    if isinstance(verdict, Open):
        return True
    return not any(isinstance(reason, _CHOICES) for reason in (verdict.reason, *verdict.more))


_CHOICES: Final = (SwitchedOff, DeniedByLimit, DeniedByPattern, DeniedByOverride)
