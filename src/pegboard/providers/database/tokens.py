"""SQL text of SQLite and DuckDB split into tokens, and what follows from where names stand in it.

Nothing here decides what a statement may read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final

from pegboard.core.databases.schema import DatabaseTable
from pegboard.core.model.databases import DatabaseAccess


class TokenKind(Enum):
    WORD = "word"
    """A keyword or an unquoted name."""
    QUOTED = "quoted"
    """A name in quotes of any kind, or a string: SQLite takes one for the other where only one makes sense."""
    PARAMETER = "parameter"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    value: str
    """Without quotes."""
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        return self.kind in (TokenKind.WORD, TokenKind.QUOTED)

    def is_keyword(self, word: str) -> bool:
        return self.kind is TokenKind.WORD and self.value.upper() == word


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
_KINDS: Final = {kind.value: kind for kind in TokenKind}


def tokenize(statement: str) -> Sequence[Token]:
    """Without blanks and comments."""
    return tuple(
        Token(
            kind := _KINDS.get(found.lastgroup or "", TokenKind.OTHER),
            _unquote(found.group()) if kind is TokenKind.QUOTED else found.group(),
            *found.span(),
        )
        for found in _TOKEN.finditer(statement)
        if found.lastgroup != "blank"
    )


def _unquote(text: str) -> str:
    quote = text[0]
    closing = "]" if quote == "[" else quote
    inner = text[1:-1] if len(text) > 1 and text.endswith(closing) else text[1:]
    return inner if quote == "[" else inner.replace(quote * 2, quote)


def names_in(tokens: Iterable[Token]) -> frozenset[str]:
    """Every word and every quoted text in lower case, so also the table in an option such as `content='…'`."""
    return frozenset(token.value.lower() for token in tokens if token.is_name)


def find_position(tokens: Sequence[Token], name: str) -> int | None:
    """Where a name stands that the engine complains about, by its last part; `None` if it stands in several places."""
    last = name.rpartition(".")[2].casefold()
    found = [
        token.start for token in tokens if token.kind is not TokenKind.PARAMETER and token.value.casefold() == last
    ]
    return found[0] if len(found) == 1 else None


def generated_from_closed(table: DatabaseTable, statement: str, access: DatabaseAccess) -> frozenset[str]:
    """Columns that the table computes from closed ones: they show what those hold. Names are in lower case; `statement`
    is the one that makes the table."""
    columns = {column.name.lower() for column in table.columns}
    closed = {column.name.lower() for column in table.columns if not access.allows_column(*table.name, column.name)}
    if not closed:
        return frozenset()
    generated = {
        definition[0].value.lower(): names_in(definition[1:])
        for definition in _column_definitions(tokenize(statement))
        if any(token.is_keyword("AS") and after.value == "(" for token, after in pairwise(definition))
    }
    while found := {column for column, names in generated.items() if column not in closed and names & closed}:
        closed |= found
    return frozenset(closed & columns & generated.keys())


def _column_definitions(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What stands between the commas of the outermost brackets."""
    depth, current = 0, list[Token]()
    for token in tokens:
        sign = token.value if token.kind is TokenKind.OTHER else ""
        depth -= sign == ")"
        if depth == 0 or (depth == 1 and sign == ","):
            if current:
                yield current
            current = []
        else:
            current.append(token)
        depth += sign == "("
