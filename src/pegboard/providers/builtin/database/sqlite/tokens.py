"""SQL as SQLite cuts it into tokens: enough to know a statement's kind, and where a name stands. It judges nothing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Kind(Enum):
    WORD = "word"
    """A keyword or a bare name."""
    QUOTED = "quoted"
    """A name in quotes of any kind, or a string: SQLite takes one for the other where only one makes sense."""
    PARAMETER = "parameter"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    value: str
    """Without quotes."""
    start: int
    end: int

    def says(self, *words: str) -> bool:
        return self.kind is Kind.WORD and self.value.upper() in words

    def names(self, name: str) -> bool:
        return self.kind in (Kind.WORD, Kind.QUOTED) and self.value.casefold() == name.casefold()


_TOKEN: Final = re.compile(
    r"""
      (?P<blank>[ \t\n\f\r\ufeff]+|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    | (?P<quoted>'(?:[^']|'')*+(?:'|\Z)|"(?:[^"]|"")*+(?:"|\Z)|`(?:[^`]|``)*+(?:`|\Z)|\[[^\]]*+(?:\]|\Z))
    | (?P<parameter>\?\d*+|[:@$\#][A-Za-z0-9_$\x80-\U0010ffff:]++(?:\([^)\s]*+\))?)
    | (?P<number>\d[\w.]*+)
    | (?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = {"quoted": Kind.QUOTED, "parameter": Kind.PARAMETER, "word": Kind.WORD}


def tokens(statement: str) -> Sequence[Token]:
    return tuple(_tokens(statement))


def _tokens(statement: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(statement):
        group, text = found.lastgroup, found.group()
        if group == "blank":
            continue
        kind = _KINDS.get(group or "", Kind.OTHER)
        yield Token(kind, _bare(text) if kind is Kind.QUOTED else text, found.start(), found.end())


def _bare(text: str) -> str:
    quote = text[0]
    closing = "]" if quote == "[" else quote
    inner = text[1:-1] if len(text) > 1 and text.endswith(closing) else text[1:]
    return inner if quote == "[" else inner.replace(quote * 2, quote)


def strictly(statement: str, given: Sequence[Token]) -> str | None:
    """The same with its names in quotes that nothing but a name can have; `None` where there are no others.

    SQLite takes a word in double quotes that no column has for a text, and would answer with that.
    """
    if not any(statement[token.start] == '"' for token in given):
        return None
    parts, end = list[str](), 0
    for token in given:
        if statement[token.start] == '"':
            parts += (statement[end : token.start], "`", token.value.replace("`", "``"), "`")
            end = token.end
    return "".join((*parts, statement[end:]))


def uncommented(statement: str) -> str:
    """The same statement without comments."""
    return " ".join(statement[token.start : token.end] for token in _joined(tokens(statement)))


def _joined(given: Sequence[Token]) -> Iterator[Token]:
    """Tokens that touch stay together: a blank between them might change what they mean."""
    run: Token | None = None
    for token in given:
        if run is not None and run.end == token.start:
            run = Token(Kind.OTHER, "", run.start, token.end)
            continue
        if run is not None:
            yield run
        run = token
    if run is not None:
        yield run


def place(given: Sequence[Token], name: str) -> int | None:
    """Where a name stands that SQLite complains of, by its last part; nowhere when it stands in several places."""
    last = name.rpartition(".")[2]
    found = [token.start for token in given if token.names(last) or (token.kind is Kind.OTHER and token.value == last)]
    return found[0] if len(found) == 1 else None


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
