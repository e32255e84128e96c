"""What the scanner says: how bad, of which kind, where, and in words for a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

FindingPath: TypeAlias = tuple[str | int, ...]


class ScanFindingKind(Enum):
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
class ScanFinding:
    severity: Severity
    kind: ScanFindingKind
    path: FindingPath
    """Where, by the names the protocol uses: `("inputSchema", "properties", "path", "description")`."""
    sentence: str
    excerpt: str = ""
    """What stands there, made harmless: on one line, bounded, with whatever does not show written out."""


@dataclass(frozen=True, slots=True)
class TextMark:
    """What is wrong with one text, wherever it stands. `what` goes on after the name of the place."""

    is_hard: bool
    kind: ScanFindingKind
    description: str
    excerpt: str = ""

    def to_finding(self, place: str, path: FindingPath) -> ScanFinding:
        severity = Severity.HARD if self.is_hard else Severity.SOFT
        return ScanFinding(severity, self.kind, path, f"{place} {self.description}.", self.excerpt)


def is_poisoned(findings: Iterable[ScanFinding]) -> bool:
    return any(finding.severity is Severity.HARD for finding in findings)
