"""The senses of words: what each does in an order to a model, single, in a row, or joined to the next."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from .deeds import DEEDS
from .joined import JOINED
from .speech import IDIOMS, SPEECH

Rows: TypeAlias = Sequence[tuple[tuple[str, ...], int]]
"""What may follow, and what it does then."""

_NOTHING: Final = 0


def _items() -> Iterator[tuple[str, int]]:
    """Idioms first, because they take their words out of the reckoning. Numbers, because a flag is slow to join."""
    for item in IDIOMS.split("|"):
        yield item, _NOTHING
    for sense, written in (*SPEECH.items(), *DEEDS.items()):
        for item in written.split("|"):
            yield item, int(sense)


def _singles(starred: bool) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for item, sense in _items():
        if " " not in item and item.endswith("*") is starred:
            word = item.rstrip("*")
            found[word] = found.get(word, 0) | sense
    return found


def _rows() -> Mapping[str, Mapping[str, Rows]]:
    """Expressions by their first word and the beginning of their second."""
    found: dict[str, dict[str, list[tuple[tuple[str, ...], int]]]] = {}
    for item, sense in _items():
        if " " in item:
            first, *following = item.split()
            key = following[0][:_KEY] if not following[0].endswith("*") else following[0][:-1][:_KEY]
            found.setdefault(first, {}).setdefault(key, []).append((tuple(following), sense))
    return found


def _in_joined() -> Mapping[str, int]:
    found: dict[str, int] = {}
    for sense, written in JOINED.items():
        for word in written.split("|"):
            found[word] = found.get(word, 0) | int(sense)
    return found


_KEY: Final = 2
"""Letters. Short enough for every beginning that is followed by a star."""
_EXACT: Final = _singles(starred=False)
_BEGUN: Final = _singles(starred=True)
_ROWS: Final = _rows()
_JOINED: Final = _in_joined()
_SHORTEST: Final = min(map(len, _BEGUN))
_LONGEST: Final = max(map(len, _BEGUN))
_ANY_JOINED: Final = re.compile("|".join(sorted(_JOINED, key=len, reverse=True)))
_JOINING: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@lru_cache(maxsize=1 << 14)
def sense_of(word: str) -> int:
    """Of a single word, in any of the languages."""
    sense = _EXACT.get(word, 0)
    for length in range(_SHORTEST, min(_LONGEST, len(word)) + 1):
        sense |= _BEGUN.get(word[:length], 0)
    return sense


def senses(words: Sequence[str]) -> int:
    """All that these words do, single or in a row."""
    found = after_idiom = 0
    for place, word in enumerate(words):
        if place < after_idiom:
            continue
        rows = _ROWS.get(word)
        if rows is not None and place + 1 < len(words):
            for following, sense in rows.get(words[place + 1][:_KEY], ()):
                if _goes_on(words, place + 1, following):
                    found |= sense
                    if sense == _NOTHING:
                        after_idiom = place + 1 + len(following)
            if after_idiom > place:
                continue
        found |= sense_of(word)
    return found


def is_joined(text: str) -> bool:
    """Whether it has letters of a script that puts nothing between words."""
    return not text.isascii() and _JOINING.search(text) is not None


def senses_joined(text: str) -> int:
    """The same as `senses`, in such a script."""
    found = 0
    for word in {*_ANY_JOINED.findall(text)}:
        found |= _JOINED[word]
    return found


def _goes_on(words: Sequence[str], start: int, following: Sequence[str]) -> bool:
    if start + len(following) > len(words):
        return False
    return all(
        words[start + number].startswith(word[:-1]) if word.endswith("*") else words[start + number] == word
        for number, word in enumerate(following)
    )
