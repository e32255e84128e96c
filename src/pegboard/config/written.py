"""The operator's file as it was read: each value with its line."""

from dataclasses import dataclass

from .tree import MapNode


@dataclass(frozen=True)
class SettingsSource:
    """Without a file, nothing is."""

    file: str | None = None
    root: MapNode | None = None
    digest: str = ""
    """Of its bytes, by SHA-256."""
