"""Where a toolset comes from, for whoever wants to know later: the kind of source, its place and its commit."""

from datetime import datetime

from pegboard.core.toolset import ToolsetImport, ToolsetOrigin

from .reading import is_archive
from .wanted import ImportRequest


def import_origin(wanted: ImportRequest, at: datetime) -> ToolsetImport:
    """Raises `OSError`. Of a checkout no remote is kept: its address may hold a password."""
    from pegboard.config.bundle import MANIFESTS, find_checkout

    source = wanted.source
    if wanted.is_upload:
        return ToolsetImport(ToolsetOrigin.UPLOAD, at)
    if not source.is_dir():
        return ToolsetImport(ToolsetOrigin.ZIP if is_archive(source) else ToolsetOrigin.MANIFEST, at, str(source))
    checkout = find_checkout(source, MANIFESTS)
    if checkout is None:
        return ToolsetImport(ToolsetOrigin.FOLDER, at, str(source))
    return ToolsetImport(ToolsetOrigin.GIT, at, str(source), checkout.commit, checkout.is_dirty)
