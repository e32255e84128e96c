"""Text for a terminal: what others wrote may not move the cursor, change colours or hide what stands there."""

import re
from collections.abc import Iterable, Sequence
from typing import Final
from unicodedata import combining, east_asian_width

# Control characters, halves of characters, and marks that reorder or hide text. Joiners are left alone: ordinary
# Persian, Hindi and many emoji are written with them.
_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def clean(text: str) -> str:
    """As it is, with every unsafe character written out as `\\x1b`. Lines and tabs stay."""
    return _UNSAFE.sub(lambda found: _written_out(found.group()), text.replace("\r\n", "\n"))


def clean_json(text: str) -> str:
    """The same for JSON text, where such characters stand only inside strings and have an escape of their own."""
    return _UNSAFE.sub(lambda found: _json_escape(found.group()), text)


def one_line(text: str) -> str:
    return clean(text).replace("\n", " ").replace("\t", " ")


def hanging(text: str) -> str:
    """What follows a mark of one character: its further lines stand under its first."""
    return text.replace("\n", "\n  ")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as they need to be; the last one runs on."""
    lines = [tuple(head), *(tuple(one_line(cell) for cell in row) for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def is_unicode(text: str) -> bool:
    """False for what was given as bytes that are no UTF-8, or holds half a character."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _width(text: str) -> int:
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _written_out(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
