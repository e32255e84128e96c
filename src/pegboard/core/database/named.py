"""The names that a statement uses, found without understanding it: it is a wrong one, or there would be no question.

Nothing is decided by this, least of all what may be read: it only says which tables somebody seems to have meant.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

MOST_LETTERS: Final = 20_000

Chain: TypeAlias = tuple[str, ...]
"""Names with dots between them."""

_TOKENS: Final = re.compile(
    r"""
    (?P<nothing> --[^\n]* | /\*.*?(?:\*/|\Z) | '(?:[^']|'')*(?:'|\Z) | \$\$.*?(?:\$\$|\Z) )
    | "(?P<double>(?:[^"]|"")*)(?:"|\Z) | `(?P<back>(?:[^`]|``)*)(?:`|\Z) | \[(?P<bracket>[^\]\[]*)\]
    | (?P<word>[^\W\d][\w$]*) | (?P<dot>\.) | (?P<other>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_BEFORE_TABLES: Final = frozenset({"from", "join", "into", "update", "table", "describe"})
_CLAUSES: Final = """
    where on using group order having limit union except intersect join inner left right full cross natural set values
    select window offset fetch qualify returning as lateral for straight_join asof anti semi positional tablesample when
    then
"""
_NO_NAMES: Final = _BEFORE_TABLES | frozenset(_CLAUSES.split())


@dataclass(frozen=True, slots=True)
class Named:
    tables: tuple[Chain, ...]
    """What stands where tables stand, but for what the statement itself defines."""
    aliases: dict[str, Chain]
    """By the small letters of what a table is called in it."""
    others: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    names: Chain
    is_bare: bool
    """One word without quotes: it may be a word of the language."""
    mark: str = ""
    """Anything else than a name."""

    @property
    def word(self) -> str:
        return self.names[0].casefold() if self.is_bare else ""


def named(statement: str) -> Named:
    pieces = [*_pieces(statement[:MOST_LETTERS])]
    defined = {
        piece.names[-1].casefold()
        for piece, after, opening in zip(pieces, pieces[1:], pieces[2:], strict=False)
        if piece.names and after.word == "as" and opening.mark == "("
    }
    tables: dict[Chain, None] = {}
    aliases: dict[str, Chain] = {}
    others: dict[Chain, None] = {}
    is_table, last = False, None
    for piece in pieces:
        if piece.mark:
            is_table, last = piece.mark == "," and last is not None, None
        elif piece.word in _BEFORE_TABLES:
            is_table, last = True, None
        elif is_table and piece.word not in _NO_NAMES:
            is_table, last = False, piece.names
            if len(piece.names) > 1 or piece.names[0].casefold() not in defined:
                tables[piece.names] = None
        elif piece.word == "as" and last is not None:
            continue
        elif piece.word in _NO_NAMES:
            is_table, last = False, None
        elif last is not None and len(piece.names) == 1:
            # After it a comma still begins another table.
            aliases.setdefault(piece.names[0].casefold(), last)
        else:
            others[piece.names] = None
            last = None
    return Named(tuple(tables), aliases, tuple(others))


def _pieces(statement: str) -> Iterator[_Piece]:
    chain: list[str] = []
    is_bare, is_open = True, False
    for found in _TOKENS.finditer(statement):
        if found.lastgroup == "nothing":
            continue
        if found.lastgroup == "dot":
            is_open = bool(chain)
            continue
        name = _name(found)
        if chain and not (is_open and name is not None):
            yield _Piece(tuple(chain), is_bare and len(chain) == 1)
            chain = []
        if name is None:
            yield _Piece((), False, found.group())
        else:
            is_bare = found.lastgroup == "word" and not chain
            chain.append(name)
        is_open = False
    if chain:
        yield _Piece(tuple(chain), is_bare and len(chain) == 1)


def _name(found: re.Match[str]) -> str | None:
    match found.lastgroup:
        case "double":
            return found.group("double").replace('""', '"')
        case "back":
            return found.group("back").replace("``", "`")
        case "bracket" | "word":
            return found.group(found.lastgroup)
        case _:
            return None


def endings(chains: Sequence[Chain]) -> Iterator[str]:
    return (chain[-1] for chain in chains if chain)
