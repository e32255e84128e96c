"""Toolsets as JSON bodies: what one is, what it brings and how it is; no decision in any of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from pegboard.core.addressed import address_user
from pegboard.core.catalogue import (
    Catalogue,
    Health,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.closed import LockedPart
from pegboard.core.ids import ServerKey, ToolsetId, ToolsetKey
from pegboard.core.installing import InstallDifferences, PartDifference, VersionChange
from pegboard.core.own import OwnTools
from pegboard.core.plan import describe_install
from pegboard.core.policy import Policy
from pegboard.core.resolve import Resolution
from pegboard.core.rules import find_owner_off
from pegboard.core.server import Server
from pegboard.core.status import LockStatus
from pegboard.core.toolset import Toolset, ToolsetImport, ToolsetOrigin
from pegboard.core.versions import describe_downgrade
from pegboard.gateway.board import BoardState
from pegboard.gateway.toolsets.exporting import ToolsetBundle
from pegboard.gateway.toolsets.wanted import ImportPreview

from .pages import PageResponse
from .shapes import (
    FlawInfo,
    HealthInfo,
    OriginInfo,
    ServerInfo,
    ToolInfo,
    flaw_infos,
    health_info,
    origin_info,
    server_infos,
    tool_info,
)


class ImportSourceInfo(TypedDict):
    kind: ToolsetOrigin
    path: str | None
    at: str
    commit: NotRequired[str]
    dirty: NotRequired[bool]


class SecretInfo(TypedDict):
    """A secret that is asked for, and whether it is set. Its value is told to nobody."""

    name: str
    set: bool


class ToolsetInfo(TypedDict):
    id: str
    name: str
    version: str
    description: str
    enabled: bool
    userMcp: bool
    origin: OriginInfo
    source: ImportSourceInfo | None
    digest: str | None
    linked: str | None
    servers: list[ServerInfo]
    tools: list[ToolInfo]
    requirements: list[str]
    secrets: list[SecretInfo]
    files: int
    bytes: int
    health: HealthInfo
    flaws: list[FlawInfo]


class ToolsetsResponse(PageResponse):
    toolsets: list[ToolsetInfo]
    policyVersion: int


class ToolDiffInfo(TypedDict):
    id: str
    how: str


class PartDiffInfo(TypedDict):
    id: str
    how: str
    settings: list[str]


class ImportChangesInfo(TypedDict):
    any: bool
    course: VersionChange
    lines: list[str]
    tools: list[ToolDiffInfo]
    servers: list[PartDiffInfo]
    overrides: list[PartDiffInfo]
    files: Mapping[str, int]


class ImportedToolInfo(TypedDict):
    """A tool that waits for a person; `alone` where it must be approved by itself."""

    id: str
    fingerprint: str
    alone: bool


class ClosedToolInfo(TypedDict):
    id: str
    verdict: Literal["locked", "absent"]
    status: NotRequired[LockStatus]
    sentence: str
    remedy: str


class ImportResponse(TypedDict):
    """What was imported, or would be."""

    id: str
    version: str
    digest: str
    linked: str | None
    source: ImportSourceInfo | None
    imported: bool
    downgrade: str | None
    changes: ImportChangesInfo
    unrun: list[str]
    waits: list[ImportedToolInfo]
    requirements: list[str]
    pending: list[str]
    approved: list[str]
    secrets: list[SecretInfo]
    notOpen: list[ClosedToolInfo]
    unconfirmedServers: list[str]
    """Servers of which neither the manifest nor the settings say whether their calls are confirmed."""
    warnings: list[str]
    policyVersion: int


class ImportStepResponse(TypedDict):
    said: str
    done: int
    total: int | None


class ToolsetRemovedResponse(TypedDict):
    removed: str
    warnings: list[str]


class ToolsetSwitchResponse(TypedDict):
    toolsetId: str
    on: bool


class SecretStateResponse(SecretInfo):
    toolsetId: str


class ExportSecretInfo(TypedDict):
    name: str
    at: list[str]


class ExportResponse(TypedDict):
    toolset: str
    name: str
    bytes: int
    secrets: list[ExportSecretInfo]
    dropped: list[str]
    leftOut: list[str]
    doubts: list[str]


_WORST_FIRST = (ProviderNeedsSignIn, ProviderDown, ProviderStart, ProviderOff, ProviderAsleep, ProviderUp)
"""The health of a toolset is the worst of what belongs to it: what a person must look at comes first."""


def toolset_info(
    toolset: Toolset, board: BoardState, resolution: Resolution, secrets: Mapping[str, bool]
) -> ToolsetInfo:
    """`secrets` are those it asks for, and whether each is set."""
    policy = board.policy
    servers = [server for key, server in policy.servers.items() if key.toolset == toolset.id]
    own, own_key = own_connection(policy, toolset.id), ToolsetKey(toolset.id)
    files = policy.decisions.files.get(toolset.id, ())
    return {
        "id": toolset.id,
        "name": toolset.name or toolset.id,
        "version": toolset.version,
        "description": toolset.description,
        "enabled": is_enabled(policy, toolset.id),
        "userMcp": toolset.user_mcp,
        "origin": origin_info(toolset.origin),
        "source": import_source_info(toolset.imported_from),
        "digest": None if own is None else own.digest,
        "linked": None if own is None else own.linked,
        "servers": server_infos([each for each in servers if isinstance(each.key, ServerKey)], board, resolution),
        "tools": [tool_info(id, resolution) for id in resolution.verdicts if id.toolset == toolset.id],
        "requirements": [] if own is None else list(own.requirements),
        "secrets": [{"name": name, "set": is_set} for name, is_set in secrets.items()],
        "files": len(files),
        "bytes": sum(file.size for file in files),
        "health": health_info(
            worst_health(healths(servers, board.catalogue)) if is_enabled(policy, toolset.id) else ProviderOff()
        ),
        "flaws": flaw_infos(() if (listing := board.catalogue.listings.get(own_key)) is None else listing.problems),
    }


def import_source_info(brought: ToolsetImport | None) -> ImportSourceInfo | None:
    """Where it was last imported from. Only a checkout has a commit."""
    if brought is None:
        return None
    shape: ImportSourceInfo = {"kind": brought.kind, "path": brought.path or None, "at": brought.at.isoformat()}
    if brought.commit:
        shape["commit"], shape["dirty"] = brought.commit, brought.is_dirty
    return shape


def import_response(
    looked: ImportPreview, policy: Policy, is_set: Callable[[str], bool], *, done: bool
) -> ImportResponse:
    """What was imported, or would be. Values of settings are in none of it."""
    found, own, toolset = looked.differences, looked.own, looked.install.toolset
    specs = looked.install.specs
    return {
        "id": toolset.id,
        "version": toolset.version,
        "digest": own.digest,
        "linked": own.linked,
        "source": import_source_info(toolset.imported_from),
        "imported": done,
        "downgrade": _downgrade_text(found),
        "changes": {
            "any": not found.is_empty,
            "course": found.version_change,
            "lines": list(describe_install(found, looked.notes)),
            "tools": [{"id": str(each.tool), "how": each.change.value} for each in found.tools],
            "servers": [_part_diff_info(each) for each in found.servers],
            "overrides": [_part_diff_info(each) for each in found.overrides],
            "files": dict(Counter(each.change.value for each in found.files)),
        },
        "unrun": list(looked.modules),
        "waits": [
            {"id": str(tool), "fingerprint": specs[tool].fingerprint, "alone": tool in looked.needs_own_review}
            for tool in looked.waiting_tools
        ],
        "requirements": list(own.requirements),
        "pending": [str(tool) for tool in looked.pending_tools],
        "approved": [str(tool) for tool in looked.approved_tools],
        "secrets": [{"name": name, "set": is_set(name)} for name in own.secrets],
        "notOpen": [_closed_tool_info(each) for each in looked.closed_tools],
        "unconfirmedServers": [str(key) for key in looked.unconfirmed_servers(policy)],
        "warnings": list(looked.warnings),
        "policyVersion": policy.version,
    }


def _closed_tool_info(each: LockedPart) -> ClosedToolInfo:
    """In the words of a tool's verdict; an absent one has no status."""
    shape: ClosedToolInfo = {
        "id": str(each.about),
        "verdict": "absent",
        "sentence": each.sentence,
        "remedy": address_user(each.remedy),
    }
    if each.status is not None:
        shape["verdict"], shape["status"] = "locked", each.status
    return shape


def export_response(id: ToolsetId, bundle: ToolsetBundle) -> ExportResponse:
    """What of a toolset is not given away as it is, by names and places. No value is in it."""
    return {
        "toolset": id,
        "name": bundle.name,
        "bytes": len(bundle.content),
        "secrets": [{"name": name, "at": list(places)} for name, places in bundle.secrets.items()],
        "dropped": list(bundle.dropped_parts),
        "leftOut": list(bundle.left_out),
        "doubts": list(bundle.possible_secrets),
    }


def _part_diff_info(each: PartDifference) -> PartDiffInfo:
    return {"id": each.name, "how": each.change.value, "settings": list(each.settings)}


def _downgrade_text(found: InstallDifferences) -> str | None:
    if found.version_change is not VersionChange.DOWNGRADE:
        return None
    return describe_downgrade(found.toolset, found.before, found.after)


def own_connection(policy: Policy, toolset: ToolsetId) -> OwnTools | None:
    server = policy.servers.get(ToolsetKey(toolset))
    return server.connection if server is not None and isinstance(server.connection, OwnTools) else None


def is_enabled(policy: Policy, toolset: ToolsetId) -> bool:
    off = find_owner_off(ToolsetKey(toolset), policy)
    return off is None or off.owner != toolset


def worst_health(healths: Iterable[Health]) -> Health | None:
    return min(healths, key=lambda health: _WORST_FIRST.index(type(health)), default=None)


def healths(servers: list[Server], catalogue: Catalogue) -> Iterable[Health]:
    for server in servers:
        if isinstance(server.connection, OwnTools) and not server.connection.specs:
            continue
        listing = catalogue.listings.get(server.key)
        if listing is not None:
            yield listing.health
