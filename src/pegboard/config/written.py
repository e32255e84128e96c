"""The operator's file as it was read: each value with its line."""

from dataclasses import dataclass

from .tree import Table


@dataclass(frozen=True)
class Written:
    """Without a file, nothing is."""

    file: str | None = None
    root: Table | None = None
    digest: str = ""
    """Of its bytes, by SHA-256."""
