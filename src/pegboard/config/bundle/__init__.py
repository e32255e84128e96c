"""Toolsets on their way in: archives and folders that nobody vouches for, looked at before anything is written."""

from .archive import Archive, Limits, opened
from .checkout import Checkout, Ignored, checkout_of
from .private import is_private, private_files
from .staging import (
    LEFT_OUT,
    MANIFESTS,
    BadBundleError,
    Progress,
    Staged,
    found_in_place,
    is_executable,
    staged_archive,
    staged_folder,
    sweep,
)

__all__ = [
    "LEFT_OUT",
    "MANIFESTS",
    "Archive",
    "BadBundleError",
    "Checkout",
    "Ignored",
    "Limits",
    "Progress",
    "Staged",
    "checkout_of",
    "found_in_place",
    "is_executable",
    "is_private",
    "opened",
    "private_files",
    "staged_archive",
    "staged_folder",
    "sweep",
]
