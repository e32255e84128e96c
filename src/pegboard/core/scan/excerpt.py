"""A piece of somebody's text, made harmless to show: short, on one line, with whatever does not show written out."""

import re
from typing import Final

from pegboard.core.characters import hidden_class

UNSEEN: Final = re.compile(f"[{hidden_class(but=chr(13) + chr(0x85) + chr(0x2028) + chr(0x2029))}]")
"""Characters that no screen shows, or that change how others are shown, or of which nobody knows the look. Not those
that end a line: without them words would run together."""

_LONGEST: Final = 24
_AROUND: Final = 40


def visible(text: str) -> str:
    """The text without what does not show, so that nothing is hidden by being interrupted."""
    return text if text.isascii() and text.isprintable() else UNSEEN.sub("", text)


def excerpt(text: str, longest: int = _LONGEST) -> str:
    """Enough to recognise it by."""
    return f"{harmless(text[:longest])!r}…" if len(text) > longest else f"{harmless(text)!r}"


def around(text: str, start: int, end: int) -> str:
    """What stands at a place, with a little of what stands before and behind it."""
    cut = text[max(0, start - _AROUND) : min(end, start + 2 * _AROUND) + _AROUND]
    return f"{'…' * (start > _AROUND)}{harmless(cut)}{'…' * (end + _AROUND < len(text))}"


def harmless(text: str) -> str:
    return "".join(map(_shown, " ".join(text.split())))


def _shown(character: str) -> str:
    if character.isprintable() and not UNSEEN.match(character):
        return character
    return f"\\u{{{ord(character):04x}}}"
