"""Text for a terminal: what others wrote may not move the cursor, change colours or hide what stands there."""

import shlex
from collections.abc import Iterable, Sequence
from unicodedata import combining, east_asian_width

from pegboard.core.characters import escape_json, escape_outer_spaces, escape_prose, escape_strictly


def clean(text: str) -> str:
    """As it is, with every character that does not show written out as `\\x1b`. Lines and tabs stay, and so do emoji
    and scripts that are written with joiners."""
    return escape_prose(text.replace("\r\n", "\n"))


def clean_json(text: str) -> str:
    """The same for JSON text, where such characters stand only inside strings and have an escape of their own."""
    return escape_json(text)


def one_line(text: str) -> str:
    """For names and cells of a table: nothing that does not show is left, and no space but the usual one."""
    line = escape_strictly(text.replace("\r\n", "\n")).replace("\n", " ").replace("\t", " ")
    return escape_outer_spaces(line)


def shell_quote(text: str) -> str:
    """To be copied into a shell. What does not show is written as bash and zsh have it."""
    return shlex.quote(text) if escape_strictly(text) == text else f"$'{''.join(map(_shell_escape, text))}'"


def _shell_escape(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char in "\n\t" or escape_strictly(char) != char:
        return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
    return char


def indent_continuation(text: str) -> str:
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
