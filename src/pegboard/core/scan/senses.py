"""The senses of words: what each does in an order to a model, single, in a row, or joined to the next."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from .deeds import ORDER_WORDS
from .joined import UNSPACED_WORDS
from .speech import IDIOMS, SPEECH_WORDS

ExpressionRows: TypeAlias = Sequence[tuple[tuple[str, ...], int]]
"""What may follow, and what it does then."""

_NO_SENSE: Final = 0


def _word_senses() -> Iterator[tuple[str, int]]:
    """Idioms first, because they take their words out of the reckoning. Numbers, because a flag is slow to join."""
    for item in IDIOMS.split("|"):
        yield item, _NO_SENSE
    for sense, written in (*SPEECH_WORDS.items(), *ORDER_WORDS.items()):
        for item in written.split("|"):
            yield item, int(sense)


def _single_words(starred: bool) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for item, sense in _word_senses():
        if " " not in item and item.endswith("*") is starred:
            word = item.rstrip("*")
            found[word] = found.get(word, 0) | sense
    return found


def _expressions() -> Mapping[str, Mapping[str, ExpressionRows]]:
    """Expressions by their first word and the beginning of their second."""
    found: dict[str, dict[str, list[tuple[tuple[str, ...], int]]]] = {}
    for item, sense in _word_senses():
        if " " in item:
            first, *following = item.split()
            key = following[0][:_KEY_CHARS] if not following[0].endswith("*") else following[0][:-1][:_KEY_CHARS]
            found.setdefault(first, {}).setdefault(key, []).append((tuple(following), sense))
    return found


def _unspaced_words() -> Mapping[str, int]:
    found: dict[str, int] = {}
    for sense, written in UNSPACED_WORDS.items():
        for word in written.split("|"):
            found[word] = found.get(word, 0) | int(sense)
    return found


_KEY_CHARS: Final = 2
"""Letters. Short enough for every beginning that is followed by a star."""
_EXACT_WORDS: Final = _single_words(starred=False)
_PREFIXES: Final = _single_words(starred=True)
_EXPRESSIONS: Final = _expressions()
_UNSPACED_WORDS: Final = _unspaced_words()
_MIN_PREFIX_CHARS: Final = min(map(len, _PREFIXES))
_MAX_PREFIX_CHARS: Final = max(map(len, _PREFIXES))
_ANY_UNSPACED_WORD: Final = re.compile("|".join(sorted(_UNSPACED_WORDS, key=len, reverse=True)))
_UNSPACED_SCRIPT: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@lru_cache(maxsize=1 << 14)
def sense_of(word: str) -> int:
    """Of a single word, in any of the languages."""
    sense = _EXACT_WORDS.get(word, 0)
    for length in range(_MIN_PREFIX_CHARS, min(_MAX_PREFIX_CHARS, len(word)) + 1):
        sense |= _PREFIXES.get(word[:length], 0)
    return sense


def senses_of(words: Sequence[str]) -> int:
    """All that these words do, single or in a row."""
    found = after_idiom = 0
    for place, word in enumerate(words):
        if place < after_idiom:
            continue
        rows = _EXPRESSIONS.get(word)
        if rows is not None and place + 1 < len(words):
            for following, sense in rows.get(words[place + 1][:_KEY_CHARS], ()):
                if _continues_with(words, place + 1, following):
                    found |= sense
                    if sense == _NO_SENSE:
                        after_idiom = place + 1 + len(following)
            if after_idiom > place:
                continue
        found |= sense_of(word)
    return found


def has_unspaced_script(text: str) -> bool:
    """Whether it has letters of a script that puts nothing between words."""
    return not text.isascii() and _UNSPACED_SCRIPT.search(text) is not None


def senses_of_unspaced(text: str) -> int:
    """The same as `senses`, in such a script."""
    found = 0
    for word in {*_ANY_UNSPACED_WORD.findall(text)}:
        found |= _UNSPACED_WORDS[word]
    return found


def _continues_with(words: Sequence[str], start: int, following: Sequence[str]) -> bool:
    if start + len(following) > len(words):
        return False
    return all(
        words[start + number].startswith(word[:-1]) if word.endswith("*") else words[start + number] == word
        for number, word in enumerate(following)
    )
