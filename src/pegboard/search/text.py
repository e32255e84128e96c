"""Text into terms: identifiers taken apart, letters folded, words brought to their stems. The same for both sides."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import log
from sys import intern
from typing import Final
from unicodedata import combining, normalize

from .stemming import stem

_PIECES: Final = re.compile(r"[^\W_]+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Scripts that are written without spaces between words, or nearly so."""

_CLAUSES: Final = re.compile(
    r"(?<=[.!?;])\s+|[\u3002\uff01\uff1f\uff1b]|\b(?:and )?then\b|\balso\b|\bfinally\b|\bafter that\b|\bnext,",
    re.IGNORECASE,
)
_MIN_CLAUSE_WORDS: Final = 4
_MAX_CLAUSES: Final = 6

_IDENTIFIER: Final = re.compile(r"\w[_:.~/-]\w|[a-z][A-Z]")
"""What nobody writes within a word, unless it is the name of a thing."""

_MAX_NAME_WORDS: Final = 16
"""Words of a tool's name and its server's. A longer query is no name."""

_MAX_TERM_LENGTH: Final = 64
"""Letters of one term: what is longer is no word that anybody would search for."""

MAX_TERMS: Final = 64
"""Of a query: whoever sends a whole page is answered by its beginning."""

_CACHED_PIECES: Final = 16_384
_MAX_CACHED_LENGTH: Final = 32
"""Letters up to which the terms of a piece are remembered: most are met again, and none takes much room."""

_COMMON: Final = (
    "a also am an and any are as at be been but by can could did do does for from give had has have he help her his "
    "how i if in into is it its let like me my need of on or our please she should so some tell than that the their "
    "them then there these they this those to us use used using want was we were what when where which who will with "
    "would you your"
)
STOP_TERMS: Final = frozenset(stem(word) for word in _COMMON.split())
"""What every sentence has, and what a request is made of: it tells nothing of a tool."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What somebody looks for."""

    terms: Mapping[str, str]
    """Each term with the word in which it was first written; without those of every sentence, if it has others."""
    weights: tuple[float, ...]
    """Of each term: what is said again counts a little more."""
    clauses: tuple[tuple[float, ...], ...]
    """The same of each clause alone, where there are several: one request may be about several tools."""
    names: tuple[tuple[str, ...], ...]
    """What may be a tool's own name, as its words: the whole query, and whatever in it looks like an identifier."""
    ignored: tuple[str, ...]
    """The words that were left out because every sentence has them."""

    @classmethod
    def of(cls, text: str) -> "ParsedQuery":
        counted, ignored = _count_terms(text)
        chosen = dict([*counted.items()][:MAX_TERMS])
        clauses = (_count_terms(clause)[0] for clause in split_clauses(text))
        written = (tuple(split_words(name)) for name in (text, *filter(_IDENTIFIER.search, text.split())))
        names = dict.fromkeys(name for name in written if 0 < len(name) <= _MAX_NAME_WORDS)
        return cls(
            {term: word for term, (word, _) in chosen.items()},
            tuple(1 + log(count) for _, count in chosen.values()),
            tuple(tuple(1 + log(clause[term][1]) if term in clause else 0.0 for term in chosen) for clause in clauses),
            tuple(names),
            tuple(ignored),
        )


def terms(text: str) -> list[str]:
    """The terms of a text in their order: `createIssue` and `create_issue` both give `creat` and `issu`."""
    return [term for piece in _PIECES.findall(text) for term in _terms(piece)]


def content_terms(text: str) -> list[str]:
    """Without the words of every sentence."""
    return [term for piece in _PIECES.findall(text) for term in _terms(piece) if term not in STOP_TERMS]


def split_words(text: str) -> list[str]:
    """Each once: `createIssue` is two words, and not also a third that is both."""
    pieces = ((piece, _terms(piece)) for piece in _PIECES.findall(text))
    return [*dict.fromkeys(t for piece, own in pieces for t in (own[1:] if len(own) > 1 and piece.isascii() else own))]


def split_name(name: str) -> Iterator[str]:
    """The parts of a name as it is written: `createIssue` and `create_issue` both have two."""
    for piece in _PIECES.findall(name):
        yield from _PARTS.findall(piece) if piece.isascii() else [piece]


def _count_terms(text: str) -> tuple[dict[str, tuple[str, int]], dict[str, None]]:
    """How often each term is said, with the word that says it first; and the words that are passed over."""
    said: dict[str, tuple[str, int]] = {}
    ignored: dict[str, None] = {}
    for piece in _PIECES.findall(text):
        for term in _terms(piece):
            word, count = said.get(term, (piece, 0))
            said[term] = word, count + 1
    if any(term not in STOP_TERMS for term in said):
        ignored = {word: None for term, (word, _) in said.items() if term in STOP_TERMS}
        said = {term: each for term, each in said.items() if term not in STOP_TERMS}
    return said, ignored


def split_clauses(text: str) -> list[str]:
    """The parts of a query that may each ask for a tool of its own; none where it has one part, or too many."""
    clauses = [clause for clause in _CLAUSES.split(text) if len(terms(clause)) >= _MIN_CLAUSE_WORDS]
    return clauses if 1 < len(clauses) <= _MAX_CLAUSES else []


def _terms(piece: str) -> tuple[str, ...]:
    """Of one run of letters and digits."""
    return _cached_terms(piece) if len(piece) <= _MAX_CACHED_LENGTH else _terms_of(piece)


@lru_cache(maxsize=_CACHED_PIECES)
def _cached_terms(piece: str) -> tuple[str, ...]:
    return _terms_of(piece)


def _terms_of(piece: str) -> tuple[str, ...]:
    # One text for one term: every list of tools has the same words, and keeps them.
    return tuple(map(intern, _identifier_terms(piece) if piece.isascii() else _fold_terms(piece)))


def _fold_terms(piece: str) -> Iterator[str]:
    bare = "".join(letter for letter in normalize("NFKD", piece) if not combining(letter)).replace("ß", "ss")
    folded = normalize("NFKC", bare)
    for word in _UNSPACED.sub(" ", folded).split():
        yield from _identifier_terms(word) if word.isascii() else [_normalize_word(word)]
    for run in _UNSPACED.findall(folded):
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))


def _identifier_terms(piece: str) -> Iterator[str]:
    """The parts by capitals and digits, and before them the whole where it has several."""
    parts = _PARTS.findall(piece)
    if len(parts) > 1:
        yield stem(_normalize_word(piece))
    for part in parts:
        if len(part) > 1 or len(parts) == 1:
            yield stem(_normalize_word(part))


def _normalize_word(word: str) -> str:
    return word.casefold()[:_MAX_TERM_LENGTH]
