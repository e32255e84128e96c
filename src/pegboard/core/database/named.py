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
_WITH_FROM: Final = frozenset({"extract", "trim", "substring", "substr", "overlay", "position"})
"""Functions among whose arguments is a FROM."""
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


_END: Final = _Piece((), False, "")


def named(statement: str) -> Named:
    pieces = [*_pieces(statement[:MOST_LETTERS])]
    defined = {*_defined(pieces)}
    tables: dict[Chain, None] = {}
    aliases: dict[str, Chain] = {}
    others: dict[Chain, None] = {}
    is_table, is_function, last = False, False, None
    waiting: list[Chain | None] = []
    """For each bracket, the table that it stands behind or for: without a name where it has none."""
    words = ["", *(piece.word for piece in pieces)][: len(pieces)]
    for piece, before, after, within in zip(
        pieces, words, [*pieces[1:], _END][: len(pieces)], _calls(pieces), strict=True
    ):
        if piece.mark == "(":
            waiting.append(last if is_function else () if is_table else None)
            is_function, last = False, None
        elif piece.mark == ")":
            is_table, last = False, waiting.pop() if waiting else None
        elif piece.mark:
            is_table, last = piece.mark == "," and last is not None, None
        elif piece.word in _BEFORE_TABLES:
            # In EXTRACT(YEAR FROM x) and in IS DISTINCT FROM x stands no table.
            is_table, last = piece.word != "from" or not (within in _WITH_FROM or before == "distinct"), None
        elif is_table and piece.word not in _NO_NAMES:
            is_table, last = False, piece.names
            # With a bracket behind it, it is a function: but for INTO, which has columns there.
            is_function = after.mark == "(" and before != "into"
            if not is_function and (len(piece.names) > 1 or piece.names[0].casefold() not in defined):
                tables[piece.names] = None
        elif piece.word == "as" and last is not None:
            continue
        elif piece.word in _NO_NAMES:
            is_table, last = False, None
        elif last is not None and len(piece.names) == 1:
            # After it a comma still begins another table.
            if last:
                aliases.setdefault(piece.names[0].casefold(), last)
        else:
            others[piece.names] = None
            last = None
    return Named(tuple(tables), aliases, tuple(others))


def _defined(pieces: Sequence[_Piece]) -> Iterator[str]:
    """What a statement calls queries of its own: `name AS (`, `name (columns) AS (`, `name AS MATERIALIZED (`."""
    opened: list[int] = []
    name: dict[int, int] = {}
    """Where a bracket that ends there was opened."""
    for place, piece in enumerate(pieces):
        if piece.mark == "(":
            opened.append(place)
        elif piece.mark == ")" and opened:
            name[place] = opened.pop()
        if piece.word != "as" or not place:
            continue
        behind = [each for each in pieces[place + 1 : place + 4] if each.word not in ("not", "materialized")]
        before = name.get(place - 1, place) - 1
        if behind and behind[0].mark == "(" and before >= 0 and pieces[before].names:
            yield pieces[before].names[-1].casefold()


def _calls(pieces: Sequence[_Piece]) -> Iterator[str]:
    """For each piece, the function within whose brackets it stands at once, if any."""
    within = [""]
    before = ""
    for piece in pieces:
        if piece.mark == ")" and len(within) > 1:
            within.pop()
        yield within[-1]
        if piece.mark == "(":
            within.append(before)
        before = piece.word


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
