"""Toolsets on their way in: archives and folders that nobody vouches for, looked at before anything is written."""

from .archive import Archive, BundleLimits, open_archive
from .checkout import Checkout, IgnoredFiles, find_checkout
from .private import is_private, private_files
from .staging import (
    MANIFESTS,
    SKIPPED_NAMES,
    BadBundleError,
    Progress,
    StagedBundle,
    inspect_in_place,
    is_executable,
    remove_leftovers,
    stage_archive,
    stage_folder,
)

__all__ = [
    "MANIFESTS",
    "SKIPPED_NAMES",
    "Archive",
    "BadBundleError",
    "BundleLimits",
    "Checkout",
    "IgnoredFiles",
    "Progress",
    "StagedBundle",
    "find_checkout",
    "inspect_in_place",
    "is_executable",
    "is_private",
    "open_archive",
    "private_files",
    "remove_leftovers",
    "stage_archive",
    "stage_folder",
]
