"""Toolsets on their way in: archives and folders that nobody vouches for, looked at before anything is written."""

from .archive import Archive, Limits, opened
from .private import is_private, private_files
from .staging import BadBundleError, Progress, Staged, found_in_place, staged_archive, staged_folder, sweep

__all__ = [
    "Archive",
    "BadBundleError",
    "Limits",
    "Progress",
    "Staged",
    "found_in_place",
    "is_private",
    "opened",
    "private_files",
    "staged_archive",
    "staged_folder",
    "sweep",
]
