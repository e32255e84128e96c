"""Include and exclude lists of a toolset, as `enabled` overrides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from pegboard.core.commands.base import (
    MAX_NAMED,
    Command,
    DecisionSummary,
    and_more,
    find_override,
    reject_if_missing,
)
from pegboard.core.decision.resolve import LockedTool, OpenTool, judge_tool
from pegboard.core.decision.status import DeniedByOverride, DeniedByPattern, DeniedByToolFilter, SwitchedOff
from pegboard.core.decision.unknown_names import with_suspects
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import PrincipalId, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import InstalledBy
from pegboard.core.model.tool import Tool
from pegboard.core.overrides.model import Override, without_fields
from pegboard.core.policy.policy import Policy, PolicyDecisions

ChoiceTarget: TypeAlias = ToolId | Pattern

ENABLED_FIELD: Final = frozenset({"enabled"})


@dataclass(frozen=True)
class SetToolsetChoice(Command):
    """From now on people include and exclude exactly these of the toolset; what their overrides say besides stays.

    The rows of both lists come last, the excluding ones after the including ones: among patterns that are equally
    specific the later wins, so that the same two lists mean the same whatever was there before."""

    toolset: ToolsetId
    includes: tuple[ChoiceTarget, ...]
    excludes: tuple[ChoiceTarget, ...]

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        decided, origin = policy.decisions, InstalledBy(by, at)
        if (missing := reject_if_missing(policy, self.toolset)) is not None:
            return missing
        if both := [str(each) for each in self.includes if each in self.excludes]:
            return CommandRejection(f"{', '.join(both)} is among what to include and what to exclude. Name it once.")
        wanted = {**dict.fromkeys(self.includes, True), **dict.fromkeys(self.excludes, False)}
        if foreign := [str(each) for each in wanted if isinstance(each, ToolId) and each.toolset != self.toolset]:
            return CommandRejection(f"{', '.join(foreign)} is not in toolset {self.toolset!r}. Choose it there.")
        rows = tuple(_choice_override(decided, self.toolset, target, on, origin) for target, on in wanted.items())
        new = {row.target for row in rows if row.origins["enabled"] is origin}
        return replace(
            decided,
            overrides=(*_other_overrides(decided.overrides, self.toolset, wanted), *rows),
            # One tool has one switch: whichever of its switch and its own override was set last.
            switches={what: switch for what, switch in decided.switches.items() if what not in new},
        )

    def describe(self) -> DecisionSummary:
        lists = ("includes", self.includes), ("excludes", self.excludes)
        said = [f"{word} {', '.join(map(str, each[:MAX_NAMED]))}{and_more(each)}" for word, each in lists if each]
        return DecisionSummary("override", self.toolset, "; ".join(said) or "includes and excludes nothing any more")


@dataclass(frozen=True)
class ToolChoice:
    """One tool before a choice and after it."""

    tool: Tool
    before: bool
    after: bool
    verdict: OpenTool | LockedTool
    """After it, and before what a view removes."""
    by: Override | None
    """The override that decides, if one does."""


@dataclass(frozen=True)
class ChoiceEntry:
    """One override by which tools are in or out: a person's, the operator's or the toolset's own."""

    row: Override
    includes: bool
    matched_count: int
    """Tools of the toolset, now."""
    decided_count: int
    """Those of them that are in or out because of it."""


def choice_entries(policy: Policy, toolset: ToolsetId, made: Sequence[ToolChoice]) -> tuple[ChoiceEntry, ...]:
    """Of everybody, as far as they are about this toolset."""
    return tuple(
        ChoiceEntry(
            row,
            row.enabled,
            sum(row.matches(each.tool.id) for each in made),
            sum(each.by is row and each.after is row.enabled for each in made),
        )
        for row in policy.overrides.rows
        if row.toolset == toolset and row.enabled is not None
    )


def choice_overrides(decided: PolicyDecisions, toolset: ToolsetId) -> tuple[Override, ...]:
    """What people include and exclude there now."""
    return tuple(row for row in decided.overrides if row.toolset == toolset and row.enabled is not None)


def _choice_override(
    decided: PolicyDecisions, toolset: ToolsetId, target: ChoiceTarget, on: bool, by: InstalledBy
) -> Override:
    known = find_override(decided, Override(toolset, target)) or Override(toolset, target)
    origin = known.origins.get("enabled", by) if known.enabled is on else by
    return replace(known, enabled=on, origins={**known.origins, "enabled": origin})


def _other_overrides(
    rows: Iterable[Override], toolset: ToolsetId, wanted: Mapping[ChoiceTarget, bool]
) -> Iterator[Override]:
    for row in rows:
        if row.toolset != toolset or (row.enabled is None and row.target not in wanted):
            yield row
        elif row.target not in wanted and (left := without_fields(row, ENABLED_FIELD)).fields_set:
            yield left


def tool_choices(catalogue: Catalogue, before: Policy, after: Policy, toolset: ToolsetId) -> Iterator[ToolChoice]:
    """Every tool of the toolset, in the order of the catalogue."""
    before, after = with_suspects(catalogue, before), with_suspects(catalogue, after)
    for id, tool in catalogue.tools.items():
        if id.toolset != toolset:
            continue
        health = catalogue.health(id.source)
        was, now = judge_tool(tool, health, before), judge_tool(tool, health, after)
        by = after.overrides.for_tool(id).origin.get("enabled")
        yield ToolChoice(tool, is_chosen(was), is_chosen(now), now, by)


def is_chosen(verdict: OpenTool | LockedTool) -> bool:
    """Whether nobody's choice keeps it out. What waits for a person, or for its server, is in all the same."""
    if isinstance(verdict, OpenTool):
        return True
    return not any(isinstance(reason, _CHOICE_REASONS) for reason in (verdict.reason, *verdict.other_reasons))


_CHOICE_REASONS: Final = (SwitchedOff, DeniedByToolFilter, DeniedByPattern, DeniedByOverride)
