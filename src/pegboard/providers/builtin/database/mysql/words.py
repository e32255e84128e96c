"""The words of a statement as MySQL and MariaDB take them apart: where strings end, what is a comment, what is not.

A parser for many dialects and a server may differ on these, and a difference is a way in. So comments are blanked
out before
either sees them, and what is read differently from one server to the next is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.providers.builtin.database.unreadable import Unreadable as Unreadable

LONGEST: Final = 100_000


@dataclass(frozen=True)
class Word:
    kind: str
    """name, quoted, string, number, place (`?`) or mark."""
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """As a keyword; empty where it cannot be one."""
        return self.text.upper() if self.kind == "name" else ""

    @property
    def name(self) -> str:
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text


@dataclass(frozen=True)
class Words:
    text: str
    """The statement with blanks in place of comments and of the last semicolon."""
    words: tuple[Word, ...]


_TOKEN: Final = re.compile(
    r"""
    (?P<blank>[\x00-\x20]+)
  | (?P<comment>\#[^\n]*|--(?=[\x00-\x20]|\Z)[^\n]*|/\*(?!!|M!)(?:[^*]|\*(?!/))*\*/)
  | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<quoted>`(?:[^`]|``)+`)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![0-9A-Za-z_$\x80-\U0010ffff]))
  | (?P<name>[0-9A-Za-z_$\x80-\U0010ffff]+)
  | (?P<place>\?)
  | (?P<mark><=>|->>|->|<<|>>|<>|!=|<=|>=|\|\||&&|:=|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_PLAIN: Final = "Write the statement without it."


def words(statement: str) -> Words | Unreadable:
    if len(statement) > LONGEST:
        return Unreadable(
            f"The statement has {len(statement):,} characters; {LONGEST:,} are taken.",
            "Bind long values as parameters, and ask in several statements.",
        )
    if "\0" in statement or any("\ud800" <= character <= "\udfff" for character in statement):
        return Unreadable(
            "The statement holds a character that no database takes (NUL or half a surrogate).", "Leave it out."
        )
    found: list[Word] = []
    clean: list[str] = []
    for token in _TOKEN.finditer(statement):
        kind, text = str(token.lastgroup), token.group()
        if kind == "blank":
            clean.append(text)
        elif kind == "comment":
            clean.append(re.sub(r"[^\n]", " ", text))
        else:
            clean.append(text)
            found.append(Word(kind, text, token.start(), token.end()))
    if found and found[-1].text == ";":
        last = found.pop()
        clean = ["".join(clean)[: last.start], " "]
    if fault := _strange(found):
        return fault
    return Words("".join(clean), tuple(found))


_TOLD: Final = frozenset({"version", "version_comment", "sql_mode", "time_zone", "system_time_zone", "autocommit"})
"""Variables of the server that tell how to write a query."""


def _told_of_all(found: Sequence[Word], place: int) -> bool:
    """Whether the sign is part of `@@name`, for a name on the list."""
    start = place - 1 if place and found[place - 1].text == "@" else place
    written = [word.text.lower() for word in found[start : start + 3]]
    behind = found[start + 3].text if len(found) > start + 3 else ""
    return written[:2] == ["@", "@"] and written[2:] != [] and written[2] in _TOLD and behind not in {".", "(", ":="}


def _strange(found: Sequence[Word]) -> Unreadable | None:
    for place, (word, following) in enumerate(zip(found, (*found[1:], None), strict=False)):
        if word.kind == "name" and not word.text.isascii() and any(map(str.isspace, word.text)):
            # One reader takes it for a blank, and the other for a part of the name.
            return Unreadable("A blank of another alphabet stands between words.", "Write an ordinary blank there.")
        if word.kind != "mark":
            continue
        next_to = following is not None and following.start == word.end
        match word.text:
            case ";":
                return Unreadable("The text holds more than one statement.", "Send one statement at a time.")
            case "@" if not _told_of_all(found, place):
                return Unreadable(
                    "Variables (@name, @@name) keep and tell the state of a session.", "Bind parameters with ?."
                )
            case ":=":
                return Unreadable("The statement holds an assignment (:=).", _PLAIN)
            case "'" | '"' | "`":
                return Unreadable(f"A quotation that begins with {word.text} has no end.", "Close it.")
            case "/" if next_to and following is not None and following.text == "*":
                return Unreadable("A comment that the server would run (/*! … */), or that has no end.", _PLAIN)
            case "-" if next_to and following is not None and following.text == "-":
                return Unreadable(
                    "Two minus signs without a blank behind them.", "Write a blank between or behind them."
                )
            case "\\":
                return Unreadable("A backslash outside of quotation marks.", _PLAIN)
    return None
