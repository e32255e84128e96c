"""Findings of the scanner: severity, kind, place and message."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from pegboard.core.model.characters import hidden_class

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


# A piece of somebody's text, made harmless to show: short, on one line, with whatever does not show written out.

INVISIBLE: Final = re.compile(f"[{hidden_class(but=chr(13) + chr(0x85) + chr(0x2028) + chr(0x2029))}]")
"""Characters that no screen shows, or that change how others are shown, or of which nobody knows the look. Not those
that end a line: without them words would run together."""

_MAX_CHARS: Final = 24
_CONTEXT_CHARS: Final = 40


def remove_invisible(text: str) -> str:
    """The text without what does not show, so that nothing is hidden by being interrupted."""
    return text if text.isascii() and text.isprintable() else INVISIBLE.sub("", text)


def make_excerpt(text: str, longest: int = _MAX_CHARS) -> str:
    """Enough to recognise it by."""
    return f"{harmless_line(text[:longest])!r}…" if len(text) > longest else f"{harmless_line(text)!r}"


def excerpt_around(text: str, start: int, end: int) -> str:
    """What stands at a place, with a little of what stands before and behind it."""
    cut = text[max(0, start - _CONTEXT_CHARS) : min(end, start + 2 * _CONTEXT_CHARS) + _CONTEXT_CHARS]
    return f"{'…' * (start > _CONTEXT_CHARS)}{harmless_line(cut)}{'…' * (end + _CONTEXT_CHARS < len(text))}"


def harmless_line(text: str) -> str:
    return "".join(map(_escape_character, " ".join(text.split())))


def _escape_character(character: str) -> str:
    if character.isprintable() and not INVISIBLE.match(character):
        return character
    return f"\\u{{{ord(character):04x}}}"
