"""Toolsets on their way in: archives and folders that nobody vouches for, looked at before anything is written."""

from .archive import Archive, Limits, opened
from .staging import BadBundleError, Progress, Staged, found_in_place, staged_archive, staged_folder, sweep

__all__ = [
    "Archive",
    "BadBundleError",
    "Limits",
    "Progress",
    "Staged",
    "found_in_place",
    "opened",
    "staged_archive",
    "staged_folder",
    "sweep",
]
