"""Names that others chose, within our own sentences and commands: they neither speak for us nor break a line."""

import re
import shlex
from typing import Final

from .characters import escape_strictly

MAX_NAME_CHARS: Final = 200
_PLAIN: Final = re.compile(r"[\w:~./@-]{1,200}")
_SHELL_SAFE: Final = re.compile(r"\w[\w:~./@-]*", re.ASCII)
"""A tilde is only read by a shell where a word begins."""


def quote_name(name: object) -> str:
    """As it is, if it is one plain word; else cut, in quotation marks, and with everything odd written out."""
    text = str(name)
    if _PLAIN.fullmatch(text) and escape_strictly(text) == text:
        return text
    shown = text if len(text) <= MAX_NAME_CHARS else f"{text[:MAX_NAME_CHARS]}…"
    # What Python takes for a letter may draw nothing, such as a Hangul filler.
    return escape_strictly(repr(shown.encode("utf-8", "backslashreplace").decode()))


def shell_word(text: str) -> str | None:
    """To be copied into a shell, where it means this text. `None` for what nobody would want to."""
    if len(text) > MAX_NAME_CHARS or "\0" in text or not text.isprintable() or escape_strictly(text) != text:
        return None
    return text if _SHELL_SAFE.fullmatch(text) else shlex.quote(text)
