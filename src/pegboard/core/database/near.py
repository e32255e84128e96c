"""Names like a name: misspelt, shortened, or with its words in another order."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

_WORDS: Final = re.compile(r"[^\W\d_]+|\d+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LEAST: Final = 0.6
_OF_A_WORD: Final = 0.75
_LONGEST: Final = 100
_SHORTEST: Final = 3


def near(name: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """The best first; equals in their order. A name is near itself in other capitals."""
    wanted = name[:_LONGEST].casefold()
    own = _words(name)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    found: list[tuple[float, int, str]] = []
    for place, candidate in enumerate(dict.fromkeys(candidates)):
        if (score := _score(matcher, wanted, own, candidate[:_LONGEST])) >= _LEAST:
            found.append((-score, place, candidate))
    return [candidate for _, _, candidate in sorted(found)[:most]]


def _score(matcher: SequenceMatcher[str], wanted: str, own: frozenset[str], candidate: str) -> float:
    small = candidate.casefold()
    if small == wanted:
        return 1.0
    shared = own & _words(candidate)
    by_words = 0.5 + 0.5 * len(shared) / max(len(own), len(_words(candidate))) if shared else 0.0
    holds = (wanted in small or small in wanted) and min(len(wanted), len(small)) >= _SHORTEST
    by_part = 0.6 + 0.4 * min(len(wanted), len(small)) / max(len(wanted), len(small)) if holds else 0.0
    # A single word of it may be what was misspelt: `nme` is near `full_name`.
    by_letters = max((_OF_A_WORD * _ratio(matcher, word) for word in _words(candidate) - {small}), default=0.0)
    return max(by_words, by_part, by_letters, _ratio(matcher, small))


def _ratio(matcher: SequenceMatcher[str], text: str) -> float:
    matcher.set_seq1(text)
    likely = matcher.real_quick_ratio() >= _LEAST and matcher.quick_ratio() >= _LEAST
    return matcher.ratio() if likely else 0.0


def _words(name: str) -> frozenset[str]:
    return frozenset(word.casefold() for part in _CAMEL.split(name) for word in _WORDS.findall(part))
