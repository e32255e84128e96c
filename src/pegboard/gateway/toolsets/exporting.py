"""A toolset of the board as a bundle that others can import: its files as they are, and no secret in its manifest."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from pegboard.core.ids import ToolsetId
from pegboard.core.own import Own
from pegboard.core.policy import Policy
from pegboard.core.server import Container

from .files import Files, FilesAway

if TYPE_CHECKING:
    from pegboard.config.manifest import Manifest

_MANIFEST: Final = "toolset.yaml"
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can tell: of the same toolset always the same bytes."""
_FIRST: Final = "1.0.0"


@dataclass(frozen=True)
class Bundle:
    name: str
    """For a file."""
    content: bytes
    secrets: tuple[str, ...]
    """The names that stand in the manifest where a secret stood."""


async def exported(policy: Policy, files: Files, toolset: ToolsetId) -> Bundle:
    """Raises `FilesAway`."""
    return await anyio.to_thread.run_sync(_exported, policy, files, toolset)


def _exported(policy: Policy, files: Files, toolset: ToolsetId) -> Bundle:
    own = next((each for each in _connections(policy, toolset) if isinstance(each, Own)), None)
    if own is None:
        manifest = of_servers(policy, toolset)
        text, secrets = _safe(manifest, None)
        return Bundle(_name(manifest), packed({_MANIFEST: text}), secrets)
    folder = Path(own.linked) if own.linked is not None else files.folder(toolset, own.digest)
    found = _content(policy, toolset, folder)
    name = next((each for each in (_MANIFEST, "toolset.yml") if each in found), None)
    if name is None:
        raise FilesAway(f"{folder} holds no manifest any more. Import the toolset again.")
    original = found.pop(name)
    manifest = _read(original, folder)
    text, secrets = _safe(manifest, original)
    return Bundle(_name(manifest), packed({**found, name: text}), secrets)


def _safe(manifest: "Manifest", original: bytes | None) -> tuple[bytes, tuple[str, ...]]:
    """Its author's own words, comments and all, where nothing in them may be a secret; else the same in ours, with a
    reference in the place of each, and the names that those refer to."""
    from pegboard.config.manifest import written
    from pegboard.config.masking import secrets_in
    from pegboard.core.redact import holds_secret

    text = written(manifest).encode()
    again = _read(text, manifest.folder)
    known = {secret.name for secret in manifest.secrets}
    fresh = tuple(secret.name for secret in again.secrets if secret.name not in known)
    if original is not None and again == manifest:
        # What it says is as safe as what we would write; what it only remarks may hold anything.
        said = (line.partition("#") for line in original.decode("utf-8-sig").splitlines())
        if not any(secrets_in(remark) or holds_secret(remark) for _, mark, remark in said if mark):
            return original, ()
    return text, fresh


def of_servers(policy: Policy, toolset: ToolsetId) -> "Manifest":
    """A toolset that never had a manifest: one server that somebody added, or what the operator's file declares."""
    from pegboard.config.manifest import Manifest

    known = policy.toolsets[toolset]
    servers = tuple(
        server
        for key, server in policy.servers.items()
        if key.toolset == toolset and not isinstance(server.connection, Own | Container)
    )
    return Manifest(
        id=toolset,
        name=known.name or toolset,
        version=known.version or _FIRST,
        description=known.description,
        servers=servers,
        overrides=tuple(row for row in policy.declared.overrides if row.toolset == toolset),
    )


def packed(files: Mapping[str, bytes]) -> bytes:
    """The same files give the same bytes."""
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[name])
    return out.getvalue()


def _content(policy: Policy, toolset: ToolsetId, folder: Path) -> dict[str, bytes]:
    names = [file.path for file in policy.decided.files.get(toolset, ())]
    try:
        return {name: folder.joinpath(*name.split("/")).read_bytes() for name in names}
    except OSError as error:
        raise FilesAway(f"{folder} cannot be read: {error.strerror or error}. Import the toolset again.") from None


def _read(content: bytes, folder: Path) -> "Manifest":
    from pegboard.config.manifest import read_manifest
    from pegboard.config.settings import Broken

    manifest = read_manifest(content, _MANIFEST, folder)
    if isinstance(manifest, Broken):
        raise FilesAway(f"The manifest in {folder} is broken: {manifest.problems[0]}")
    return manifest


def _connections(policy: Policy, toolset: ToolsetId) -> Iterable[object]:
    return (server.connection for key, server in policy.servers.items() if key.toolset == toolset)


def _name(manifest: "Manifest") -> str:
    version = "".join(char if char.isalnum() or char in "._+-" else "-" for char in manifest.version)
    return f"{manifest.id}-{version}.zip" if version else f"{manifest.id}.zip"
