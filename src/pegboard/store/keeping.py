"""Arguments and results as they are kept: redacted by rule, and cut. Whatever a tool sent, this ends soon."""

import json
import re
from typing import Final

from pegboard.core.redact import Bounds, Redaction, hidden, safe_text
from pegboard.core.tool import Json

from .text import holdable

MOST: Final = 2_000
"""Characters of arguments and of a result that are kept."""
BOUNDS: Final = Bounds(text=1_000, whole=MOST, members=40, levels=8)

_NESTED: Final = 3
"""A text within a result is often JSON again, seldom JSON of JSON of JSON."""

_MEMBERS: Final = (
    re.compile(r'("([^"\\]{1,100})"\s{0,8}:\s{0,8})(?:"(?:[^"\\]|\\.)*"?|[^,}\]\s"]+)', re.DOTALL),
    re.compile(
        r'(\\"([^"\\]{1,100})\\"\s{0,8}:\s{0,8})(?:\\"(?:[^"\\]|\\\\\\"|\\[^"])*(?:\\")?|[^,}\]\s"\\]+)', re.DOTALL
    ),
)
"""A member of JSON text, and of JSON within a text of JSON; it may break off."""


def kept(head: bytes | None, size: int, redaction: Redaction) -> str | None:
    """`head` is the beginning of JSON text of `size` bytes, or all of it. What is not read as JSON is kept as a text,
    without the values of members that have the name of a secret."""
    if head is None or not size:
        return None
    text = head.decode("utf-8", "replace")
    if len(head) == size:
        try:
            return _cut(redaction.text(_opened(json.loads(text), redaction, 0), BOUNDS), size)
        except (ValueError, RecursionError):
            pass
    shown = safe_text(_masked(text, redaction), MOST)
    return _cut(shown if len(head) == size else f"{shown}… ({size} bytes)", size)


def _masked(text: str, redaction: Redaction) -> str:
    for member in _MEMBERS:
        text = member.sub(
            lambda found: (
                f"{found[1]}{hidden(found[0][len(found[1]) :])}" if redaction.hides(found[2], found[2]) else found[0]
            ),
            text,
        )
    return text


def _opened(value: Json, redaction: Redaction, level: int) -> Json:
    """Servers send JSON as the text of their results: read as what it is, its members have names."""
    match value:
        case str() if level < _NESTED and value.lstrip()[:1] in ("{", "["):
            try:
                return _opened(json.loads(value), redaction, level + 1)
            except (ValueError, RecursionError):
                return _masked(value, redaction)
        case list():
            return [_opened(item, redaction, level) for item in value]
        case dict():
            return {name: _opened(item, redaction, level) for name, item in value.items()}
        case _:
            return value


def _cut(text: str, size: int) -> str:
    most = 2 * MOST
    return holdable(text if len(text) <= most else f"{text[:most]}… ({size} bytes)")
