"""What the operator says about showing tools."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pegboard.core.server import DeclaredAt

DEFAULT_MATERIALIZED: Final = 20
"""How many found tools one conversation keeps when nobody says."""
MAX_MATERIALIZED: Final = 100


class PresentationMode(StrEnum):
    """By the words that people write."""

    DIRECT = "direct"
    """Every tool as itself."""
    META = "meta"
    SEARCH = "search"
    DEFERRED = "deferred"
    """Found by search, and each as itself from then on."""
    CODE = "code"
    """As functions of a program: found by search, called by what is run."""
    AUTO = "auto"
    """Each as itself, or, of more than the threshold, through search."""


@dataclass(frozen=True, slots=True)
class PinnedEntry:
    """A tool's id, or a pattern: what it fits stays listed beside the tools of any presentation."""

    text: str
    at: DeclaredAt
    optional: bool = False
    """Whether it may name no tool at all."""


@dataclass(frozen=True)
class PresentationSettings:
    presentation: PresentationMode = PresentationMode.DIRECT
    """What a client gets that does not say. Read when the gateway starts."""
    threshold: int = 100
    """Tools above which showing each as itself is thought to be too much."""
    always_visible: tuple[PinnedEntry, ...] = ()
    max_materialized: int = DEFAULT_MATERIALIZED
    """How many tools a conversation keeps that it found, where they are deferred."""
