"""Words brought to their stems, for English: a stem need not be a word, it need only be one for the forms of a word.

On the sets of `benchmarks.retrieval` it finds as much as the Snowball stemmer, which would be a dependency in C.
"""

import re
from typing import Final

_VOWELS: Final = frozenset("aeiouy")
_SYLLABLE: Final = re.compile("[aeiouy][^aeiouy]")
_PLURALS: Final = ("ches", "shes", "sses", "xes", "zes")

_DERIVED_ENDINGS: Final = {
    "ational": "ate",
    "ization": "ize",
    "isation": "ize",
    "fulness": "ful",
    "iveness": "ive",
    "ousness": "ous",
    "ability": "able",
    "ibility": "able",
    "tional": "tion",
    "lessly": "less",
    "ation": "ate",
    "ivity": "ive",
    "ality": "al",
    "ously": "ous",
    "fully": "ful",
    "ently": "ent",
    "izer": "ize",
    "ator": "ate",
    "ably": "able",
    "ibly": "able",
    "ally": "al",
    "ly": "",
}
"""Endings that make one kind of word of another, the longest first, and what they were made of."""

_ENDINGS: Final = (
    *("ement", "ment", "ance", "ence", "able", "ible", "ness", "ical"),
    *("ful", "ant", "ent", "ism", "ate", "ity", "ous", "ive", "ize", "ise", "ion", "al", "er", "or", "ic"),
)
"""What may be left off a long word, the longest first."""


def stem(word: str) -> str:
    """Of a word in small letters. Digits, short words and other scripts are left as they are."""
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _strip_ending(_strip_derivation(_strip_inflection(_singular(word))))
    if len(word) > 2 and word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    return word[:-1] if word.endswith("e") and len(word) > 4 and _syllables(word[:-1]) else word


def _syllables(word: str) -> int:
    return len(_SYLLABLE.findall(word))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_PLURALS):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _strip_inflection(word: str) -> str:
    """Without -ing and -ed: stopping, stopped, filing and filed are stop and file."""
    if word.endswith("eed"):
        return word
    bare = next((word[: -len(ending)] for ending in ("ing", "ed") if word.endswith(ending)), word)
    if bare == word or len(bare) < 2 or _VOWELS.isdisjoint(bare):
        return word
    if len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "lsz":
        return bare[:-1]
    return bare + "e" if bare.endswith(("at", "bl", "iz")) or _is_short(bare) else bare


def _is_short(word: str) -> bool:
    """One syllable that ends in a consonant after a single vowel, as in fil(e) and mak(e)."""
    if len(word) < 3 or _syllables(word) != 1:
        return False
    before, vowel, last = word[-3], word[-2], word[-1]
    return before not in _VOWELS and vowel in _VOWELS and last not in _VOWELS and last not in "wx"


def _strip_derivation(word: str) -> str:
    for ending, origin in _DERIVED_ENDINGS.items():
        if word.endswith(ending):
            bare = word[: -len(ending)]
            return bare + origin if _syllables(bare) else word
    return word


def _strip_ending(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending):
            bare = word[: -len(ending)]
            if ending == "ion":
                return bare if bare.endswith(("s", "t")) and len(bare) > 4 else word
            return bare if _syllables(bare) > 1 else word
    return word
