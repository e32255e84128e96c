"""What waits for a person, and what they should know before they decide: since when it differs, and what looks wrong.

A review is for people. Nothing of it may reach an agent: it repeats what is withheld from agents.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from .cautions import cautions
from .ids import BuiltinKey, ProviderKey, Source, ToolId
from .override import OverrideIndex
from .policy import Approval, Policy, Switch
from .resolve import Locked, Resolution
from .scan import Finding, Severity, Strangers, is_poisoned, scan, strangers, strangers_of_each
from .sections import Section, sections
from .status import ChangedSinceApproval, NeverApproved, Status, SwitchedOff
from .tool import Fingerprint, Tool, canonical
from .worded import UNSAID, worded


class Standing(Enum):
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
class Waiting:
    """One tool that waits, as a line of the list tells it."""

    tool: Tool
    standing: Standing
    findings: tuple[Finding, ...] = ()

    @property
    def fingerprint(self) -> Fingerprint:
        return self.tool.spec.fingerprint

    @property
    def risk(self) -> Risk:
        hard = sum(finding.severity is Severity.HARD for finding in self.findings)
        return Risk(hard, len(self.findings) - hard)

    @property
    def needs_reading(self) -> bool:
        """It is never approved with others at once: somebody has to look at it by itself."""
        return is_poisoned(self.findings)


@dataclass(frozen=True)
class Review:
    """One tool, as it is read before it is decided on, whatever holds of it now."""

    tool: Tool
    standing: Standing
    approval: Approval | None
    """The last one, be it of this definition or of a former."""
    block: Switch | None
    findings: tuple[Finding, ...]
    difference: tuple[Section, ...]
    """To what was approved; empty where nothing was."""
    cautions: tuple[str, ...] = ()
    """What it says that it may do, and what callers will send otherwise than before."""


def pending(resolution: Resolution) -> tuple[Locked, ...]:
    """What nothing but a review keeps locked, as far as the first reason tells."""
    return tuple(verdict for verdict in resolution.locked() if verdict.status is Status.PENDING_APPROVAL)


def blocked(resolution: Resolution) -> Iterator[tuple[ToolId, Switch]]:
    for verdict in resolution.locked():
        for reason in (verdict.reason, *verdict.more):
            match reason:
                case SwitchedOff(tool, Switch(blocks=True) as switch):
                    yield tool, switch
                case _:
                    pass


def waiting(locked: Iterable[Locked], everything: Iterable[Tool], said: OverrideIndex = UNSAID) -> tuple[Waiting, ...]:
    """With what the scanner says of each. `everything` are the tools of the board, whose names one may be taking, and
    `said` what manifests have models read. It takes about a third of a millisecond a tool that was not read before: not
    for an event loop, when there are many."""
    others = strangers_of_each(everything)
    return tuple(
        Waiting(verdict.tool, _standing_of(verdict), _scanned(verdict.tool, others, said)) for verdict in locked
    )


def noted(tools: Iterable[Tool], everything: Iterable[Tool], said: OverrideIndex = UNSAID) -> tuple[Waiting, ...]:
    """The same of tools that hang on no board: what a server would bring."""
    brought = tuple(tools)
    others = strangers_of_each((*everything, *brought))
    return tuple(Waiting(tool, Standing.NEW, _scanned(tool, others, said)) for tool in brought)


def review(tool: Tool, policy: Policy, everything: Iterable[Tool]) -> Review:
    approval = policy.decided.approvals.get(tool.id)
    switch = policy.decided.switches.get(tool.id)
    changed = approval is not None and approval.fingerprint != tool.spec.fingerprint
    return Review(
        tool,
        Standing.NEW if approval is None else Standing.CHANGED if changed else Standing.APPROVED,
        approval,
        switch if switch is not None and switch.blocks else None,
        _read(tool, strangers(tool.id.source, everything), OverrideIndex(policy.decided.manifest_overrides)),
        sections(approval.spec, tool.spec) if approval is not None and changed else (),
        cautions(None if approval is None else approval.spec, tool.spec),
    )


def together(tools: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Those of them that may be approved at once, in one order."""
    return tuple(sorted((each for each in tools if not each.needs_reading), key=lambda each: str(each.tool.id)))


def batch(tools: Iterable[Waiting]) -> Fingerprint:
    """One fingerprint for several tools: whoever names it has read exactly these, exactly so."""
    read = sorted([str(each.tool.id), each.fingerprint] for each in tools)
    return Fingerprint(hashlib.sha256(canonical(read)).hexdigest())


def by_server(tools: Iterable[Waiting]) -> Mapping[ProviderKey, tuple[Waiting, ...]]:
    found: dict[ProviderKey, list[Waiting]] = {}
    for each in tools:
        if not isinstance(each.tool.id.source, BuiltinKey):
            found.setdefault(each.tool.id.source, []).append(each)
    return {key: tuple(found[key]) for key in sorted(found, key=str)}


def oldest_first(tools: Iterable[Waiting], since: Mapping[ToolId, datetime]) -> list[Waiting]:
    """By what has waited longest; what nobody knows of waits since now. Equals stay in their order."""
    known = {tool: at.timestamp() for tool, at in since.items()}
    return sorted(tools, key=lambda each: known.get(each.tool.id, float("inf")))


def _standing_of(verdict: Locked) -> Standing:
    for reason in (verdict.reason, *verdict.more):
        match reason:
            case ChangedSinceApproval():
                return Standing.CHANGED
            case NeverApproved():
                return Standing.NEW
            case _:
                pass
    return Standing.APPROVED


def _scanned(tool: Tool, others: Mapping[Source, Strangers], said: OverrideIndex) -> tuple[Finding, ...]:
    return _read(tool, others[tool.id.source], said)


def _read(tool: Tool, others: Strangers, said: OverrideIndex) -> tuple[Finding, ...]:
    """By itself, and in the words of its toolset's manifest."""
    found, shown = scan(tool.spec, others), worded(tool.id, tool.spec, said)
    return found if shown is tool.spec else tuple(dict.fromkeys((*found, *scan(shown, others))))
