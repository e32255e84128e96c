"""How grave a line of a server's log is. Servers write as they please, so it is told by the word that most of them put
at the beginning of a line; what says nothing goes with the line before it where it is set in, else it is plain news."""

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final


class Level(IntEnum):
    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


_WORDS: Final = {
    "trace": Level.DEBUG,
    "debug": Level.DEBUG,
    "info": Level.INFO,
    "notice": Level.INFO,
    "warn": Level.WARNING,
    "warning": Level.WARNING,
    "error": Level.ERROR,
    "err": Level.ERROR,
    "fatal": Level.ERROR,
    "critical": Level.ERROR,
    "panic": Level.ERROR,
    "exception": Level.ERROR,
}
_LOOKED_AT: Final = 160
"""Characters of a line: beyond them a word is part of what is said."""
_WORD: Final = re.compile(r"(?<![A-Za-z])(" + "|".join(_WORDS) + r")(?=[\]):\s|\"'>-]|$)", re.IGNORECASE)
_RAISED: Final = re.compile(r"(?:[\w.]+(?:Error|Exception)\b|Traceback \(most recent call last\)|thread '.*' panicked)")


def levels(lines: Iterable[str]) -> Iterator[Level]:
    """One for each line, in their order."""
    last = Level.INFO
    for line in lines:
        told = _told(line)
        if told is None:
            # A trace is set in under the line that begins it, and ends with the first that is not.
            told = last if line[:1] in (" ", "\t") else Level.INFO
        yield told
        last = told


def _told(line: str) -> Level | None:
    start = line[:_LOOKED_AT]
    if line[:1] not in (" ", "\t") and _RAISED.match(line):
        return Level.ERROR
    found = _WORD.search(start)
    if found is None:
        return None
    word = found.group(1)
    # Within a sentence such a word is no level: it stands in capitals, in brackets, or before a colon there.
    behind = start[found.end() : found.end() + 1]
    is_marked = word.isupper() or behind in ("]", ")", ":", '"', "|") or start[: found.start()].strip("[( \t") == ""
    return _WORDS[word.lower()] if is_marked else None
