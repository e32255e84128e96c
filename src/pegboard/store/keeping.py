"""Arguments and results as they are kept: redacted by rule, and cut. Whatever a tool sent, this ends soon."""

import json
import re
from typing import Final

from pegboard.core.redact import DisplayLimits, Redaction, hidden_placeholder, redact_line
from pegboard.core.tool import Json

from .text import storable_text

MAX_KEPT_CHARS: Final = 2_000
"""Characters of arguments and of a result that are kept."""
REDACTION_BOUNDS: Final = DisplayLimits(text=1_000, total=MAX_KEPT_CHARS, members=40, levels=8)

_MAX_NESTED_TEXTS: Final = 3
"""A text within a result is often JSON again, seldom JSON of JSON of JSON."""

_MEMBER_PATTERNS: Final = (
    re.compile(r'("([^"\\]{1,100})"\s{0,8}:\s{0,8})(?:"(?:[^"\\]|\\.)*"?|[^,}\]\s"]+)', re.DOTALL),
    re.compile(
        r'(\\"([^"\\]{1,100})\\"\s{0,8}:\s{0,8})(?:\\"(?:[^"\\]|\\\\\\"|\\[^"])*(?:\\")?|[^,}\]\s"\\]+)', re.DOTALL
    ),
)
"""A member of JSON text, and of JSON within a text of JSON; it may break off."""


def redact_content(head: bytes | None, size: int, redaction: Redaction) -> str | None:
    """`head` is the beginning of JSON text of `size` bytes, or all of it. What is not read as JSON is kept as a text,
    without the values of members that have the name of a secret."""
    if head is None or not size:
        return None
    text = head.decode("utf-8", "replace")
    if len(head) == size:
        try:
            return _shorten(
                redaction.redact_to_text(_parse_nested(json.loads(text), redaction, 0), REDACTION_BOUNDS), size
            )
        except (ValueError, RecursionError):
            pass
    shown = redact_line(_redact_members(text, redaction), MAX_KEPT_CHARS)
    return _shorten(shown if len(head) == size else f"{shown}… ({size} bytes)", size)


def _redact_members(text: str, redaction: Redaction) -> str:
    for member in _MEMBER_PATTERNS:
        text = member.sub(
            lambda found: (
                f"{found[1]}{hidden_placeholder(found[0][len(found[1]) :])}"
                if redaction.hides(found[2], found[2])
                else found[0]
            ),
            text,
        )
    return text


def _parse_nested(value: Json, redaction: Redaction, level: int) -> Json:
    """Servers send JSON as the text of their results: read as what it is, its members have names."""
    match value:
        case str() if level < _MAX_NESTED_TEXTS and value.lstrip()[:1] in ("{", "["):
            try:
                return _parse_nested(json.loads(value), redaction, level + 1)
            except (ValueError, RecursionError):
                return _redact_members(value, redaction)
        case list():
            return [_parse_nested(item, redaction, level) for item in value]
        case dict():
            return {name: _parse_nested(item, redaction, level) for name, item in value.items()}
        case _:
            return value


def _shorten(text: str, size: int) -> str:
    most = 2 * MAX_KEPT_CHARS
    return storable_text(text if len(text) <= most else f"{text[:most]}… ({size} bytes)")
