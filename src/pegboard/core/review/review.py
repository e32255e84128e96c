"""Tools that wait for a review, since when they differ, and findings about them. For operators only: it contains
withheld texts.

A review is for people. Nothing of it may reach an agent: it repeats what is withheld from agents.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from pegboard.core.decision.facts import overridden_tool_of
from pegboard.core.decision.resolve import LockedTool, OpenTool, Resolution, judge_tool
from pegboard.core.decision.status import ChangedSinceApproval, LockStatus, NoApproval, SwitchedOff
from pegboard.core.decision.unknown_names import with_suspects
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import BuiltinKey, ProviderKey, SourceKey, ToolId
from pegboard.core.model.tool import Fingerprint, Tool, ToolSpec, canonical_json
from pegboard.core.overrides.model import NO_OVERRIDES, OverrideIndex, with_manifest_texts
from pegboard.core.policy.policy import Approval, Policy, Switch
from pegboard.core.review.diff import SpecSection, review_cautions, spec_sections
from pegboard.core.scan.findings import ScanFinding, Severity, is_poisoned
from pegboard.core.scan.imitations import OtherTools, other_tools, other_tools_by_source
from pegboard.core.scan.scanner import scan_tool


class ApprovalState(Enum):
    """How a tool stands to its approval."""

    NEW = "new"
    """Nobody has approved it."""
    CHANGED = "changed"
    """It is not what was approved."""
    APPROVED = "approved"
    """Exactly as it is."""


@dataclass(frozen=True)
class Risk:
    """What the scanner found, in short."""

    hard: int = 0
    soft: int = 0

    @property
    def word(self) -> str:
        return Severity.HARD.value if self.hard else Severity.SOFT.value if self.soft else "none"


@dataclass(frozen=True)
class PendingApproval:
    """One tool that waits, as a line of the list tells it."""

    tool: Tool
    approval_state: ApprovalState
    findings: tuple[ScanFinding, ...] = ()

    @property
    def fingerprint(self) -> Fingerprint:
        return self.tool.spec.fingerprint

    @property
    def risk(self) -> Risk:
        hard = sum(finding.severity is Severity.HARD for finding in self.findings)
        return Risk(hard, len(self.findings) - hard)

    @property
    def needs_own_review(self) -> bool:
        """It is never approved with others at once: somebody has to look at it by itself."""
        return is_poisoned(self.findings)


@dataclass(frozen=True)
class ToolReview:
    """One tool, as it is read before it is decided on, whatever holds of it now."""

    tool: Tool
    approval_state: ApprovalState
    approval: Approval | None
    """The last one, be it of this definition or of a former."""
    block: Switch | None
    findings: tuple[ScanFinding, ...]
    difference: tuple[SpecSection, ...]
    """To what was approved; empty where nothing was."""
    cautions: tuple[str, ...] = ()
    """What it says that it may do, and what callers will send otherwise than before."""


def pending_tools(resolution: Resolution) -> tuple[LockedTool, ...]:
    """What nothing but a review keeps locked, as far as the first reason tells."""
    return tuple(verdict for verdict in resolution.locked_tools() if verdict.status is LockStatus.PENDING_APPROVAL)


def blocked_tools(resolution: Resolution) -> Iterator[tuple[ToolId, Switch]]:
    for verdict in resolution.locked_tools():
        for reason in (verdict.reason, *verdict.other_reasons):
            match reason:
                case SwitchedOff(tool, Switch(blocks=True) as switch):
                    yield tool, switch
                case _:
                    pass


def pending_approvals(
    locked: Iterable[LockedTool], everything: Iterable[Tool], said: OverrideIndex = NO_OVERRIDES
) -> tuple[PendingApproval, ...]:
    """With what the scanner says of each. `everything` are the tools of the board, whose names one may be taking, and
    `said` what manifests have models read. It takes about a third of a millisecond a tool that was not read before: not
    for an event loop, when there are many."""
    others = other_tools_by_source(everything)
    return tuple(
        PendingApproval(verdict.tool, _approval_state_of(verdict), _scan_findings(verdict.tool, others, said))
        for verdict in locked
    )


def preview_approvals(
    tools: Iterable[Tool], everything: Iterable[Tool], said: OverrideIndex = NO_OVERRIDES
) -> tuple[PendingApproval, ...]:
    """The same of tools that hang on no board: what a server would bring."""
    brought = tuple(tools)
    others = other_tools_by_source((*everything, *brought))
    return tuple(PendingApproval(tool, ApprovalState.NEW, _scan_findings(tool, others, said)) for tool in brought)


def review_tool(tool: Tool, policy: Policy, everything: Iterable[Tool]) -> ToolReview:
    approval = policy.decisions.approvals.get(tool.id)
    switch = policy.decisions.switches.get(tool.id)
    changed = approval is not None and approval.fingerprint != tool.spec.fingerprint
    return ToolReview(
        tool,
        ApprovalState.NEW if approval is None else ApprovalState.CHANGED if changed else ApprovalState.APPROVED,
        approval,
        switch if switch is not None and switch.blocks else None,
        _scan_texts(tool, other_tools(tool.id.source, everything), OverrideIndex(policy.decisions.manifest_overrides)),
        spec_sections(approval.spec, tool.spec) if approval is not None and changed else (),
        review_cautions(None if approval is None else approval.spec, tool.spec),
    )


def approvable_together(tools: Iterable[PendingApproval]) -> tuple[PendingApproval, ...]:
    """Those of them that may be approved at once, in one order."""
    return tuple(sorted((each for each in tools if not each.needs_own_review), key=lambda each: str(each.tool.id)))


def batch_fingerprint(tools: Iterable[PendingApproval]) -> Fingerprint:
    """One fingerprint for several tools: whoever names it has read exactly these, exactly so."""
    read = sorted([str(each.tool.id), each.fingerprint] for each in tools)
    return Fingerprint(hashlib.sha256(canonical_json(read)).hexdigest())


def group_by_server(tools: Iterable[PendingApproval]) -> Mapping[ProviderKey, tuple[PendingApproval, ...]]:
    found: dict[ProviderKey, list[PendingApproval]] = {}
    for each in tools:
        if not isinstance(each.tool.id.source, BuiltinKey):
            found.setdefault(each.tool.id.source, []).append(each)
    return {key: tuple(found[key]) for key in sorted(found, key=str)}


def sort_oldest_first(tools: Iterable[PendingApproval], since: Mapping[ToolId, datetime]) -> list[PendingApproval]:
    """By what has waited longest; what nobody knows of waits since now. Equals stay in their order."""
    known = {tool: at.timestamp() for tool, at in since.items()}
    return sorted(tools, key=lambda each: known.get(each.tool.id, float("inf")))


def _approval_state_of(verdict: LockedTool) -> ApprovalState:
    for reason in (verdict.reason, *verdict.other_reasons):
        match reason:
            case ChangedSinceApproval():
                return ApprovalState.CHANGED
            case NoApproval():
                return ApprovalState.NEW
            case _:
                pass
    return ApprovalState.APPROVED


def _scan_findings(tool: Tool, others: Mapping[SourceKey, OtherTools], said: OverrideIndex) -> tuple[ScanFinding, ...]:
    return _scan_texts(tool, others[tool.id.source], said)


def _scan_texts(tool: Tool, others: OtherTools, said: OverrideIndex) -> tuple[ScanFinding, ...]:
    """By itself, and in the words of its toolset's manifest."""
    found, shown = scan_tool(tool.spec, others), with_manifest_texts(tool.id, tool.spec, said)
    return found if shown is tool.spec else tuple(dict.fromkeys((*found, *scan_tool(shown, others))))


# One tool twice: as its server offers it, and as a model sees it once overrides have been applied.


@dataclass(frozen=True)
class ToolEditPreview:
    """What an edit makes of one tool."""

    tool: Tool
    before: ToolSpec
    after: ToolSpec
    difference: tuple[SpecSection, ...]
    problems: tuple[str, ...]
    """What the edit says of arguments that cannot be applied to the tool as it is."""
    verdict: OpenTool | LockedTool
    """Before what a view removes: an edit cannot open what a caller may not see."""


def overridden_spec(tool: Tool, policy: Policy) -> ToolSpec:
    """With the title, the description and the arguments that overrides give it. Its fingerprint is nobody's."""
    look, shape = policy.overrides.for_tool(tool.id), overridden_tool_of(tool, policy)
    spec = (tool if shape is None else shape.tool).spec
    title = spec.title if look.name_override is None else look.name_override
    description = spec.description if look.description_override is None else look.description_override
    return replace(spec, title=title, description=description)


def preview_edit(
    catalogue: Catalogue, before: Policy, after: Policy, about: ToolId | None
) -> Iterator[ToolEditPreview]:
    """Of the tool that an edit is about; or of every one to which it says something new, where it is a pattern."""
    named = catalogue.tools.get(about) if about is not None else None
    for tool in tools_changed_by(catalogue, before, after) if named is None else (named,):
        was, now = overridden_spec(tool, before), overridden_spec(tool, after)
        listing = catalogue.listings.get(tool.id.source)
        shape = overridden_tool_of(tool, after)
        unfit = () if shape is None else tuple(f"arguments.{each.parameter}: {each.why}" for each in shape.inapplicable)
        verdict = judge_tool(tool, None if listing is None else listing.health, with_suspects(catalogue, after))
        yield ToolEditPreview(tool, was, now, spec_sections(was, now), unfit, verdict)


def tools_changed_by(catalogue: Catalogue, before: Policy, after: Policy) -> Iterator[Tool]:
    """Those of which overrides say something else."""
    for id, tool in catalogue.tools.items():
        if before.overrides.for_tool(id) != after.overrides.for_tool(id):
            yield tool
