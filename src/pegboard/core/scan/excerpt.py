"""A piece of somebody's text, made harmless to show: short, on one line, with whatever does not show written out."""

import re
from typing import Final

from pegboard.core.characters import hidden_class

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
