"""A piece of somebody's text, made harmless to show: short, on one line, with whatever does not show written out."""

import re
from typing import Final

UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ue000-\uf8ff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
"""Characters that no screen shows, or that change how others are shown, or of which nobody knows the look."""

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
