"""Exports a toolset as a bundle: files unchanged, no secrets in the manifest."""

import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from pegboard.core.model.ids import ToolsetId
from pegboard.core.model.server import Container
from pegboard.core.model.tool import OwnTools
from pegboard.core.model.web_api import WebApi
from pegboard.core.policy.policy import Policy
from pegboard.gateway.toolsets.files import FilesUnavailable, ToolsetFiles

if TYPE_CHECKING:
    from pegboard.config.manifest.model import Manifest


_MANIFEST: Final = "toolset.yaml"
_ZIP_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can tell: of the same toolset always the same bytes."""
_MAX_SCANNED_BYTES: Final = 1_000_000
_BINARY_PROBE_BYTES: Final = 8_000
_MAX_LINE_CHARS: Final = 1_000
_PLACEHOLDER: Final = re.compile(r"[{<%$\"'`(\[*]|\.\.\.|…")
"""Not a secret, but the place of one."""


@dataclass(frozen=True)
class ToolsetBundle:
    name: str
    """For a file."""
    content: bytes
    secrets: Mapping[str, tuple[str, ...]]
    """The names that stand in the manifest where something may have been a secret, and where each stands."""
    dropped_parts: tuple[str, ...] = ()
    """Where a default was left out that looked like a secret."""
    possible_secrets: tuple[str, ...] = ()
    """Lines of files that hold what looks like a secret. They are given away as they are."""
    left_out: tuple[str, ...] = ()
    """Files that usually hold secrets."""


async def export_bundle(policy: Policy, files: ToolsetFiles, toolset: ToolsetId) -> ToolsetBundle:
    """Raises `FilesUnavailable`."""
    return await anyio.to_thread.run_sync(_export, policy, files, toolset)


def _export(policy: Policy, files: ToolsetFiles, toolset: ToolsetId) -> ToolsetBundle:
    own = next((each for each in _connections(policy, toolset) if isinstance(each, OwnTools)), None)
    if own is None:
        reached = [*_connections(policy, toolset)]
        apis = [each for each in reached if isinstance(each, WebApi)]
        if reached and len(apis) == len(reached):
            told = "comes with Pegboard, and there is nothing to give away. Write"
            raise FilesUnavailable(f"{toolset} {told} {apis[0].kind} in the other pegboard.yaml.")
        return _make_bundle(manifest_of_servers(policy, toolset), _MANIFEST, None, {}, ())
    folder = Path(own.linked) if own.linked is not None else files.folder(toolset, own.digest)
    found, left_out = _content(policy, toolset, folder)
    name = next((each for each in (_MANIFEST, "toolset.yml") if each in found), None)
    if name is None:
        raise FilesUnavailable(f"{folder} holds no manifest any more. Import the toolset again.")
    original = found.pop(name)
    programs = frozenset(file.path for file in policy.decisions.files.get(toolset, ()) if file.executable)
    return _make_bundle(_parse_manifest(original, folder), name, original, found, left_out, programs)


def _make_bundle(
    manifest: "Manifest",
    name: str,
    original: bytes | None,
    files: Mapping[str, bytes],
    left_out: tuple[str, ...],
    programs: frozenset[str] = frozenset(),
) -> ToolsetBundle:
    from pegboard.config.manifest.write import format_without_secrets

    ours = format_without_secrets(manifest)
    is_theirs = original is not None and _is_original_safe(original, manifest, ours.text)
    text = original if is_theirs and original is not None else ours.text.encode()
    held = ours.placeholders
    return ToolsetBundle(
        _name(manifest),
        pack_zip({**files, name: text}, programs),
        {each: tuple(map(str, places)) for each, places in sorted(held.locations.items())},
        tuple(dict.fromkeys(map(str, held.dropped_locations))),
        tuple(find_possible_secrets({**files, name: text})),
        left_out,
    )


def _is_original_safe(original: bytes, manifest: "Manifest", ours: str) -> bool:
    """Whether its author's own words can be given away, comments and all: what they say is as safe as what we would
    write, nothing in them is passed over, and what they only remark does not look like a secret."""
    from pegboard.config.masked_servers import secrets_in
    from pegboard.core.model.redaction import holds_secret

    if _parse_manifest(ours.encode(), manifest.folder) != manifest or manifest.has_unread_keys:
        return False
    said = (line.partition("#") for line in original.decode("utf-8-sig").splitlines())
    return not any(secrets_in(remark) or holds_secret(remark) for _, mark, remark in said if mark)


def find_possible_secrets(files: Mapping[str, bytes]) -> Iterator[str]:
    """`file:line` of what looks like a well-known kind of secret: what it holds is for a person to judge."""
    from pegboard.config.masked_servers import secrets_in

    for name in sorted(files):
        content = files[name]
        if len(content) > _MAX_SCANNED_BYTES or b"\0" in content[:_BINARY_PROBE_BYTES]:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            # A line of a thousand characters was written by no hand.
            found = secrets_in(line) if len(line) <= _MAX_LINE_CHARS else ()
            if any(not _PLACEHOLDER.match(line[span.start : span.end]) for span in found):
                yield f"{name}:{number}"


def manifest_of_servers(policy: Policy, toolset: ToolsetId) -> "Manifest":
    """A toolset that never had a manifest: one server that somebody added, or what the operator's file declares."""
    from pegboard.config.manifest.model import Manifest

    known = policy.toolsets[toolset]
    servers = tuple(
        server
        for key, server in policy.servers.items()
        if key.toolset == toolset and not isinstance(server.connection, OwnTools | Container | WebApi)
    )
    return Manifest(
        id=toolset,
        name=known.name or toolset,
        version=known.version,
        description=known.description,
        servers=servers,
        overrides=tuple(row for row in policy.declared.overrides if row.toolset == toolset),
    )


def pack_zip(files: Mapping[str, bytes], programs: Collection[str] = ()) -> bytes:
    """The same files give the same bytes. Programs are those that may be run."""
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            archive.writestr(entry, files[name])
    return out.getvalue()


def _content(policy: Policy, toolset: ToolsetId, folder: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """What is given away, and which files are not."""
    from pegboard.config.bundle.source import private_files

    names = [file.path for file in policy.decisions.files.get(toolset, ())]
    try:
        left_out = private_files(folder, names)
        given = {name: folder.joinpath(*name.split("/")).read_bytes() for name in names if name not in left_out}
        return given, tuple(sorted(left_out))
    except OSError as error:
        raise FilesUnavailable(
            f"{folder} cannot be read: {error.strerror or error}. Import the toolset again."
        ) from None


def _parse_manifest(content: bytes, folder: Path) -> "Manifest":
    from pegboard.config.manifest.reader import read_manifest
    from pegboard.config.settings import InvalidFile

    manifest = read_manifest(content, _MANIFEST, folder)
    if isinstance(manifest, InvalidFile):
        raise FilesUnavailable(f"The manifest in {folder} is broken: {manifest.problems[0]}")
    return manifest


def _connections(policy: Policy, toolset: ToolsetId) -> Iterable[object]:
    return (server.connection for key, server in policy.servers.items() if key.toolset == toolset)


def _name(manifest: "Manifest") -> str:
    version = "".join(char if char.isalnum() or char in "._+-" else "-" for char in manifest.version)
    return f"{manifest.id}-{version}.zip" if version else f"{manifest.id}.zip"
