"""Toolsets as JSON bodies: what one is, what it brings and how it is; no decision in any of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from pegboard.core.addressed import to_you
from pegboard.core.catalogue import Asleep, Catalogue, Down, Health, NeedsSignIn, Off, Starting, Up
from pegboard.core.closed import Closed
from pegboard.core.ids import ServerKey, ToolsetId, ToolsetKey
from pegboard.core.installing import Course, Differences, PartDifference
from pegboard.core.own import Own
from pegboard.core.plan import words
from pegboard.core.policy import Policy
from pegboard.core.resolve import Resolution
from pegboard.core.rules import owner_off
from pegboard.core.server import Server
from pegboard.core.status import Status
from pegboard.core.toolset import Brought, SourceKind, Toolset
from pegboard.core.versions import told_downgrade
from pegboard.gateway.board import Board
from pegboard.gateway.toolsets.exporting import Bundle
from pegboard.gateway.toolsets.wanted import Looked

from .pages import Following
from .shapes import (
    FlawShape,
    HealthShape,
    OriginShape,
    ServerShape,
    ToolShape,
    flaws_shape,
    health_shape,
    origin_shape,
    server_shapes,
    tool_shape,
)


class BroughtFrom(TypedDict):
    kind: SourceKind
    path: str | None
    at: str
    commit: NotRequired[str]
    dirty: NotRequired[bool]


class SecretShape(TypedDict):
    """A secret that is asked for, and whether it is set. Its value is told to nobody."""

    name: str
    set: bool


class ToolsetShape(TypedDict):
    id: str
    name: str
    version: str
    description: str
    enabled: bool
    userMcp: bool
    origin: OriginShape
    source: BroughtFrom | None
    digest: str | None
    linked: str | None
    servers: list[ServerShape]
    tools: list[ToolShape]
    requirements: list[str]
    secrets: list[SecretShape]
    files: int
    bytes: int
    health: HealthShape
    flaws: list[FlawShape]


class ToolsetsShape(Following):
    toolsets: list[ToolsetShape]
    policyVersion: int


class ToolDifferenceShape(TypedDict):
    id: str
    how: str


class PartDifferenceShape(TypedDict):
    id: str
    how: str
    settings: list[str]


class ChangesShape(TypedDict):
    any: bool
    course: Course
    lines: list[str]
    tools: list[ToolDifferenceShape]
    servers: list[PartDifferenceShape]
    overrides: list[PartDifferenceShape]
    files: Mapping[str, int]


class ImportedToolShape(TypedDict):
    """A tool that waits for a person; `alone` where it must be approved by itself."""

    id: str
    fingerprint: str
    alone: bool


class ClosedShape(TypedDict):
    id: str
    verdict: Literal["locked", "absent"]
    status: NotRequired[Status]
    sentence: str
    remedy: str


class ImportShape(TypedDict):
    """What was imported, or would be."""

    id: str
    version: str
    digest: str
    linked: str | None
    source: BroughtFrom | None
    imported: bool
    downgrade: str | None
    changes: ChangesShape
    unrun: list[str]
    waits: list[ImportedToolShape]
    requirements: list[str]
    pending: list[str]
    approved: list[str]
    secrets: list[SecretShape]
    notOpen: list[ClosedShape]
    unconfirmedServers: list[str]
    """Servers of which neither the manifest nor the settings say whether their calls are confirmed."""
    warnings: list[str]
    policyVersion: int


class ImportStepShape(TypedDict):
    said: str
    done: int
    total: int | None


class RemovedToolsetShape(TypedDict):
    removed: str
    warnings: list[str]


class SwitchedToolsetShape(TypedDict):
    toolsetId: str
    on: bool


class KeptSecretShape(SecretShape):
    toolsetId: str


class ExportedSecretShape(TypedDict):
    name: str
    at: list[str]


class ExportShape(TypedDict):
    toolset: str
    name: str
    bytes: int
    secrets: list[ExportedSecretShape]
    dropped: list[str]
    leftOut: list[str]
    doubts: list[str]


_WORST = (NeedsSignIn, Down, Starting, Off, Asleep, Up)
"""The health of a toolset is the worst of what belongs to it: what a person must look at comes first."""


def toolset_shape(toolset: Toolset, board: Board, resolution: Resolution, secrets: Mapping[str, bool]) -> ToolsetShape:
    """`secrets` are those it asks for, and whether each is set."""
    policy = board.policy
    servers = [server for key, server in policy.servers.items() if key.toolset == toolset.id]
    own, own_key = own_of(policy, toolset.id), ToolsetKey(toolset.id)
    files = policy.decided.files.get(toolset.id, ())
    return {
        "id": toolset.id,
        "name": toolset.name or toolset.id,
        "version": toolset.version,
        "description": toolset.description,
        "enabled": is_on(policy, toolset.id),
        "userMcp": toolset.user_mcp,
        "origin": origin_shape(toolset.origin),
        "source": brought_shape(toolset.brought),
        "digest": None if own is None else own.digest,
        "linked": None if own is None else own.linked,
        "servers": server_shapes([each for each in servers if isinstance(each.key, ServerKey)], board, resolution),
        "tools": [tool_shape(id, resolution) for id in resolution.verdicts if id.toolset == toolset.id],
        "requirements": [] if own is None else list(own.requirements),
        "secrets": [{"name": name, "set": is_set} for name, is_set in secrets.items()],
        "files": len(files),
        "bytes": sum(file.size for file in files),
        "health": health_shape(worst(healths(servers, board.catalogue)) if is_on(policy, toolset.id) else Off()),
        "flaws": flaws_shape(() if (listing := board.catalogue.listings.get(own_key)) is None else listing.flaws),
    }


def brought_shape(brought: Brought | None) -> BroughtFrom | None:
    """Where it was last imported from. Only a checkout has a commit."""
    if brought is None:
        return None
    shape: BroughtFrom = {"kind": brought.kind, "path": brought.path or None, "at": brought.at.isoformat()}
    if brought.commit:
        shape["commit"], shape["dirty"] = brought.commit, brought.dirty
    return shape


def import_shape(looked: Looked, policy: Policy, is_set: Callable[[str], bool], *, done: bool) -> ImportShape:
    """What was imported, or would be. Values of settings are in none of it."""
    found, own, toolset = looked.differences, looked.own, looked.install.toolset
    specs = looked.install.specs
    return {
        "id": toolset.id,
        "version": toolset.version,
        "digest": own.digest,
        "linked": own.linked,
        "source": brought_shape(toolset.brought),
        "imported": done,
        "downgrade": _downgrade(found),
        "changes": {
            "any": not found.is_nothing,
            "course": found.course,
            "lines": list(words(found, looked.notes)),
            "tools": [{"id": str(each.tool), "how": each.how.value} for each in found.tools],
            "servers": [_part(each) for each in found.servers],
            "overrides": [_part(each) for each in found.overrides],
            "files": dict(Counter(each.how.value for each in found.files)),
        },
        "unrun": list(looked.modules),
        "waits": [
            {"id": str(tool), "fingerprint": specs[tool].fingerprint, "alone": tool in looked.alone}
            for tool in looked.waits
        ],
        "requirements": list(own.requirements),
        "pending": [str(tool) for tool in looked.pending],
        "approved": [str(tool) for tool in looked.approved],
        "secrets": [{"name": name, "set": is_set(name)} for name in own.secrets],
        "notOpen": [_closed(each) for each in looked.closed],
        "unconfirmedServers": [str(key) for key in looked.unconfirmed_servers(policy)],
        "warnings": list(looked.warnings),
        "policyVersion": policy.version,
    }


def _closed(each: Closed) -> ClosedShape:
    """In the words of a tool's verdict; an absent one has no status."""
    shape: ClosedShape = {
        "id": str(each.about),
        "verdict": "absent",
        "sentence": each.sentence,
        "remedy": to_you(each.remedy),
    }
    if each.status is not None:
        shape["verdict"], shape["status"] = "locked", each.status
    return shape


def export_shape(id: ToolsetId, bundle: Bundle) -> ExportShape:
    """What of a toolset is not given away as it is, by names and places. No value is in it."""
    return {
        "toolset": id,
        "name": bundle.name,
        "bytes": len(bundle.content),
        "secrets": [{"name": name, "at": list(places)} for name, places in bundle.secrets.items()],
        "dropped": list(bundle.dropped),
        "leftOut": list(bundle.left_out),
        "doubts": list(bundle.doubts),
    }


def _part(each: PartDifference) -> PartDifferenceShape:
    return {"id": each.name, "how": each.how.value, "settings": list(each.settings)}


def _downgrade(found: Differences) -> str | None:
    if found.course is not Course.DOWNGRADE:
        return None
    return told_downgrade(found.toolset, found.before, found.after)


def own_of(policy: Policy, toolset: ToolsetId) -> Own | None:
    server = policy.servers.get(ToolsetKey(toolset))
    return server.connection if server is not None and isinstance(server.connection, Own) else None


def is_on(policy: Policy, toolset: ToolsetId) -> bool:
    off = owner_off(ToolsetKey(toolset), policy)
    return off is None or off.owner != toolset


def worst(healths: Iterable[Health]) -> Health | None:
    return min(healths, key=lambda health: _WORST.index(type(health)), default=None)


def healths(servers: list[Server], catalogue: Catalogue) -> Iterable[Health]:
    for server in servers:
        if isinstance(server.connection, Own) and not server.connection.specs:
            continue
        listing = catalogue.listings.get(server.key)
        if listing is not None:
            yield listing.health
