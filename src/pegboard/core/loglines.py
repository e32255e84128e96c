"""How grave a line of a server's log is. Servers write as they please, so it is told by the word that most of them put
at the beginning of a line; what says nothing goes with the line before it where it is set in, else it is plain news."""

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final


class LogLineLevel(IntEnum):
    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


_LEVEL_WORDS: Final = {
    "trace": LogLineLevel.DEBUG,
    "debug": LogLineLevel.DEBUG,
    "info": LogLineLevel.INFO,
    "notice": LogLineLevel.INFO,
    "warn": LogLineLevel.WARNING,
    "warning": LogLineLevel.WARNING,
    "error": LogLineLevel.ERROR,
    "err": LogLineLevel.ERROR,
    "fatal": LogLineLevel.ERROR,
    "critical": LogLineLevel.ERROR,
    "panic": LogLineLevel.ERROR,
    "exception": LogLineLevel.ERROR,
}
_MAX_SCANNED_CHARS: Final = 160
"""Characters of a line: beyond them a word is part of what is said."""
_LEVEL_WORD: Final = re.compile(r"(?<![A-Za-z])(" + "|".join(_LEVEL_WORDS) + r")(?=[\]):\s|\"'>-]|$)", re.IGNORECASE)
_EXCEPTION: Final = re.compile(
    r"(?:[\w.]+(?:Error|Exception)\b|Traceback \(most recent call last\)|thread '.*' panicked)"
)


def log_levels(lines: Iterable[str]) -> Iterator[LogLineLevel]:
    """One for each line, in their order."""
    last = LogLineLevel.INFO
    for line in lines:
        told = _level_of(line)
        if told is None:
            # A trace is set in under the line that begins it, and ends with the first that is not.
            told = last if line[:1] in (" ", "\t") else LogLineLevel.INFO
        yield told
        last = told


def _level_of(line: str) -> LogLineLevel | None:
    start = line[:_MAX_SCANNED_CHARS]
    if line[:1] not in (" ", "\t") and _EXCEPTION.match(line):
        return LogLineLevel.ERROR
    found = _LEVEL_WORD.search(start)
    if found is None:
        return None
    word = found.group(1)
    # Within a sentence such a word is no level: it stands in capitals, in brackets, or before a colon there.
    behind = start[found.end() : found.end() + 1]
    is_marked = word.isupper() or behind in ("]", ")", ":", '"', "|") or start[: found.start()].strip("[( \t") == ""
    return _LEVEL_WORDS[word.lower()] if is_marked else None
