"""What the operator says about showing tools."""

from dataclasses import dataclass
from enum import StrEnum

from pegboard.core.server import DeclaredAt


class Presented(StrEnum):
    """By the words that people write."""

    DIRECT = "direct"
    """Every tool as itself."""
    META = "meta"
    SEARCH = "search"
    AUTO = "auto"
    """Each as itself, or, of more than the threshold, through search."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool's id, or a pattern: what it fits stays listed beside the tools of any presentation."""

    text: str
    at: DeclaredAt


@dataclass(frozen=True)
class Presenting:
    presentation: Presented = Presented.DIRECT
    """What a client gets that does not say. Read when the gateway starts."""
    threshold: int = 100
    """Tools above which showing each as itself is thought to be too much."""
    always_visible: tuple[Listed, ...] = ()
