"""What a person wants on the board, and what came of looking at it: what it changes, what waits, what is not open."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard.core.closed import LockedPart
from pegboard.core.ids import ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.imported import InstallToolset
from pegboard.core.installing import InstallDifferences
from pegboard.core.override import Override
from pegboard.core.own import OwnTools
from pegboard.core.pattern import Pattern
from pegboard.core.policy import Policy
from pegboard.core.said import quote_name
from pegboard.core.server import Trust
from pegboard.core.tool import Fingerprint
from pegboard.core.worded import override_texts

if TYPE_CHECKING:
    from pegboard.core.scan import ScanFinding


@dataclass(frozen=True)
class ImportRequest:
    """What a person wants on the board, and what they have agreed to."""

    source: Path
    """A folder, a ZIP archive or a toolset.yaml."""
    display_path: str | None = None
    """How the person named it, if not by this path."""
    is_upload: bool = False
    """Whether it came over the wire: the path is of no interest then."""
    link: bool = False
    """Run it from the folder itself, and follow what its author changes there."""
    allow_downgrade: bool = False
    digest: str | None = None
    """The content that was looked at before; any other is refused."""
    reviewed: Mapping[str, Fingerprint] = field(default_factory=dict[str, Fingerprint])
    """Tools that were read, by their ids: they are approved as they were read."""
    approve_all: bool = False
    """The differences were read, all of them: what they tell of is approved."""
    version: int | None = None
    """Of the policy that was looked at; on any other nothing is done."""


@dataclass(frozen=True)
class ImportPreview:
    """What would be installed, and what that would change."""

    install: InstallToolset
    differences: InstallDifferences
    waiting_tools: tuple[ToolId, ...]
    """Tools of its own that a person has not read as they are: they are locked until one has."""
    warnings: tuple[str, ...]
    pending_tools: tuple[ToolId, ...] = ()
    """Tools of its own that are as they were, and have waited since before."""
    approved_tools: tuple[ToolId, ...] = ()
    """Tools that were approved with this import because somebody said so."""
    closed_tools: tuple[LockedPart, ...] = ()
    """What of it is not open, or would not be."""
    notes: Mapping[ToolId, tuple["ScanFinding", ...]] = field(default_factory=dict[ToolId, tuple["ScanFinding", ...]])
    """What the scanner says of its own tools that are new or changed."""
    needs_own_review: frozenset[ToolId] = frozenset()
    """Those that have to be read by themselves: something speaks against them, or not all of their words are told."""
    modules: tuple[str, ...] = ()
    """What was not run, so that it is not known what its functions are; empty once they were described."""

    def unconfirmed_servers(self, policy: Policy) -> tuple[ServerKey, ...]:
        """Servers whose calls run without a person's yes, because neither its manifest nor the settings say a word."""
        if policy.declared.confirm_manifest_servers is not None:
            return ()
        said = {row.target for row in self.install.overrides if row.requires_confirmation is not None}
        servers = (server.key for server in self.install.servers if isinstance(server.key, ServerKey))
        return tuple(key for key in servers if Pattern(str(key), "*") not in said)

    @property
    def own(self) -> OwnTools:
        own = self.install.own
        assert own is not None
        return own


class ImportRefusedError(Exception):
    """It is sound, and not installed all the same: the message says why, and what to do."""


class ImportConflictError(ImportRefusedError):
    """Somebody decided something else since the policy was looked at."""

    def __init__(self, current_version: int) -> None:
        super().__init__(f"The policy is at version {current_version} now. Look at it again before you decide.")
        self.current_version = current_version


def approved_ids(wanted: ImportRequest, looked: ImportPreview) -> frozenset[ToolId]:
    """Those that were read, as they were read. Raises `Refused` for what is not what was read."""
    ids = {ToolId(ToolsetKey(looked.install.toolset.id), spec.name): spec for spec in looked.own.specs}
    if wanted.approve_all:
        # What has waited since before is in none of the differences that were read.
        return frozenset(looked.differences.reviewed_tools) - looked.needs_own_review
    named = {str(id): id for id in ids}
    for text, fingerprint in wanted.reviewed.items():
        if text not in named:
            raise ImportRefusedError(
                f"{text} is no tool that {looked.install.toolset.id} brings itself. Nothing was changed."
            )
        if ids[named[text]].fingerprint != fingerprint:
            raise ImportRefusedError(
                f"{text} is not what you read. Nothing was changed. Look at the differences again."
            )
    return frozenset(named[text] for text in wanted.reviewed)


def installed_state(policy: Policy, toolset: ToolsetId) -> object:
    """What of a toolset an import would replace: equal as long as nobody else has imported or removed it."""
    own = policy.decisions.servers.get(ToolsetKey(toolset))
    return policy.decisions.toolsets.get(toolset), None if own is None else own.connection


def still_pending(policy: Policy, install: InstallToolset, changes: InstallDifferences) -> tuple[ToolId, ...]:
    key, decided = ToolsetKey(install.toolset.id), policy.decisions
    if key not in policy.servers or decided.trust.get(key, policy.servers[key].trust) is Trust.OPEN:
        return ()
    told = {*changes.reviewed_tools}
    held = {tool: given.fingerprint for tool, given in decided.approvals.items()}
    return tuple(
        tool
        for tool, spec in sorted(install.specs.items(), key=lambda each: each[0])
        if key in decided.first_seen and tool not in told and held.get(tool) != spec.fingerprint
    )


def poisoned_overrides(rows: Iterable[Override]) -> tuple[str, ...]:
    """What an override has models read is the manifest's word for tools whose own words may be sound."""
    from pegboard.core.scan import is_poisoned, scan_tool

    found = ((row, scan_tool(override_texts(row))) for row in rows)
    return tuple(
        f"The override of {quote_name(row.target)} says what no ordinary tool says: {findings[0].sentence} "
        f"The tools that it fits wait until somebody has read them."
        for row, findings in found
        if is_poisoned(findings)
    )
