"""Texts within our own: names that others chose, requests to a reader, and how grave a line of a server's log is."""

import re
import shlex
from collections.abc import Iterable, Iterator
from enum import Enum, IntEnum
from typing import Final

from pegboard.core.model.characters import escape_strictly

# Names that others chose, within our own sentences and commands: they neither speak for us nor break a line.

MAX_NAME_CHARS: Final = 200
_PLAIN: Final = re.compile(r"[\w:~./@-]{1,200}")
_SHELL_SAFE: Final = re.compile(r"\w[\w:~./@-]*", re.ASCII)
"""A tilde is only read by a shell where a word begins."""


def quote_name(name: object) -> str:
    """As it is, if it is one plain word; else cut, in quotation marks, and with everything odd written out."""
    text = str(name)
    if _PLAIN.fullmatch(text) and escape_strictly(text) == text:
        return text
    shown = truncate(text, MAX_NAME_CHARS)
    # What Python takes for a letter may draw nothing, such as a Hangul filler.
    return escape_strictly(repr(shown.encode("utf-8", "backslashreplace").decode()))


def truncate(text: str, max_chars: int, *, total: bool = False) -> str:
    """So many of its characters and "…", if it has more; in `total` no more than so many with that one."""
    if len(text) <= max_chars:
        return text
    return f"{text[: max_chars - total]}…"


def shell_word(text: str) -> str | None:
    """To be copied into a shell, where it means this text. `None` for what nobody would want to."""
    if len(text) > MAX_NAME_CHARS or "\0" in text or not text.isprintable() or escape_strictly(text) != text:
        return None
    return text if _SHELL_SAFE.fullmatch(text) else shlex.quote(text)


class Audience(Enum):
    """Who reads what to do about something. A text is made for one of them, and is not reworded afterwards."""

    AGENT = "agent"
    """A model, which passes it on to its user."""
    OPERATOR = "operator"
    """The person who can do it: on the command line, in the web UI, and by the REST API below both."""

    def request(self, action: str) -> str:
        """A sentence that asks for an action, such as `enable the server first`."""
        return f"Ask the user to {action}" if self is Audience.AGENT else f"{action[:1].upper()}{action[1:]}"

    def inline_request(self, action: str) -> str:
        """The same within a sentence."""
        return f"ask the user to {action}" if self is Audience.AGENT else action


# Servers write as they please, so how grave a line is is told by the word that most of them put at the beginning; what
# says nothing goes with the line before it where it is set in, else it is plain news.


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
