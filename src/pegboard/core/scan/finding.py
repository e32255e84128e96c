"""What the scanner says: how bad, of which kind, where, and in words for a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]


class Kind(Enum):
    """What a finding is about."""

    HIDDEN = "hidden characters"
    DIRECTION = "direction of the text"
    LOOKALIKE = "lookalike letters"
    INSTRUCTION = "instructions to the model"
    SECRET = "secrets asked for"  # noqa: S105  # a kind of finding, not a secret
    ENCODED = "encoded payload"
    SHADOWING = "shadowing"
    CONTRADICTION = "contradiction"


class Severity(Enum):
    HARD = "hard"
    """No ordinary tool says this. It is never approved by first sight."""
    SOFT = "soft"
    """Worth a look; ordinary tools say such things too."""


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    kind: Kind
    path: Path
    """Where, by the names the protocol uses: `("inputSchema", "properties", "path", "description")`."""
    sentence: str
    excerpt: str = ""
    """What stands there, made harmless: on one line, bounded, with whatever does not show written out."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is wrong with one text, wherever it stands. `what` goes on after the name of the place."""

    hard: bool
    kind: Kind
    what: str
    excerpt: str = ""

    def at(self, place: str, path: Path) -> Finding:
        severity = Severity.HARD if self.hard else Severity.SOFT
        return Finding(severity, self.kind, path, f"{place} {self.what}.", self.excerpt)


def is_poisoned(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.HARD for finding in findings)
