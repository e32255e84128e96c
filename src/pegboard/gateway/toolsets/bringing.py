"""Where a toolset comes from, for whoever wants to know later: the kind of source, its place and its commit."""

from datetime import datetime

from pegboard.core.toolset import Brought, SourceKind

from .reading import is_archive
from .wanted import Wanted


def brought_from(wanted: Wanted, at: datetime) -> Brought:
    """Raises `OSError`. Of a checkout no remote is kept: its address may hold a password."""
    from pegboard.config.bundle import MANIFESTS, checkout_of

    source = wanted.source
    if wanted.is_upload:
        return Brought(SourceKind.UPLOAD, at)
    if not source.is_dir():
        return Brought(SourceKind.ZIP if is_archive(source) else SourceKind.MANIFEST, at, str(source))
    checkout = checkout_of(source, MANIFESTS)
    if checkout is None:
        return Brought(SourceKind.FOLDER, at, str(source))
    return Brought(SourceKind.GIT, at, str(source), checkout.commit, checkout.is_dirty)
