"""Text into terms: identifiers taken apart, letters folded, words brought to their stems. The same for both sides."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from unicodedata import combining, normalize

_PIECES: Final = re.compile(r"[^\W_]+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Scripts that are written without spaces between words, or nearly so."""

_LONGEST: Final = 64
"""Letters of one term: what is longer is no word that anybody would search for."""

_REMEMBERED: Final = 16_384
_SHORT: Final = 32
"""Letters up to which the terms of a piece are remembered: most are met again, and none takes much room."""

_VOWELS: Final = frozenset("aeiouy")

_COMMON: Final = (
    "a an and any are as at be been but by can could did do does for from had has have how i if in into is it its me "
    "my need of on or our please should so some than that the their them then there these this those to us use using "
    "want was we what when where which who will with would you your"
)
STOP_WORDS: Final = frozenset(_COMMON.split())


def terms(text: str) -> list[str]:
    """The terms of a text in their order: `createIssue` and `create_issue` both give `creat` and `issu`."""
    return [term for piece in _PIECES.findall(text) for term in _terms(piece)]


def query_terms(text: str) -> list[str]:
    """Each term once, in order, and without the words that every sentence has, if it has others."""
    pieces = _PIECES.findall(text)
    telling = [piece for piece in pieces if piece.lower() not in STOP_WORDS] or pieces
    return list(dict.fromkeys(term for piece in telling for term in _terms(piece)))


def _terms(piece: str) -> tuple[str, ...]:
    """Of one run of letters and digits."""
    return _remembered(piece) if len(piece) <= _SHORT else _terms_of(piece)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(piece: str) -> tuple[str, ...]:
    return _terms_of(piece)


def _terms_of(piece: str) -> tuple[str, ...]:
    if piece.isascii():
        return tuple(_identifier(piece))
    bare = "".join(letter for letter in normalize("NFKD", piece) if not combining(letter)).replace("ß", "ss")
    folded = normalize("NFKC", bare)
    spaced = _UNSPACED.sub(" ", folded).split()
    runs = (run[at : at + 2] for run in _UNSPACED.findall(folded) for at in range(max(1, len(run) - 1)))
    words = (term for word in spaced for term in (_identifier(word) if word.isascii() else [_short(word)]))
    return (*words, *runs)


def _identifier(piece: str) -> Iterator[str]:
    """The parts by capitals and digits, and before them the whole where it has several."""
    parts = _PARTS.findall(piece)
    if len(parts) > 1:
        yield stem(_short(piece))
    for part in parts:
        if len(part) > 1 or len(parts) == 1:
            yield stem(_short(part))


def _short(word: str) -> str:
    return word.casefold()[:_LONGEST]


def stem(word: str) -> str:
    """A light stem, for English: it need not be a word, it need only be the same for the forms of one word."""
    if len(word) <= 3 or not word.isalpha():
        return word
    word = _singular(word)
    for ending, shortest in (("ing", 3), ("ed", 3), ("ion", 5)):
        if word.endswith(ending) and len(word) - len(ending) >= shortest:
            bare = word[: -len(ending)]
            if _VOWELS.isdisjoint(bare):
                break
            word = bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "lsz" else bare
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
