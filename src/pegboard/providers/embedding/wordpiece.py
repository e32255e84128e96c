"""Texts as the numbers that the model was taught with: words taken apart into pieces of its vocabulary.

These are the rules of the uncased BERT models: accents and capitals fall, each Chinese character and each mark stands
alone, and of what is left the longest known piece is taken, from left to right.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

UNKNOWN, BEGIN, END = "[UNK]", "[CLS]", "[SEP]"
_CONTINUATION_PREFIX: Final = "##"
_MAX_WORD_CHARS: Final = 100
_CACHE_SIZE: Final = 16_384

_CHINESE_RANGES: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Raises `KeyError` for a vocabulary without the three tokens that every text needs."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown, self._begin, self._end = (vocabulary[name] for name in (UNKNOWN, BEGIN, END))
        self._max_piece_chars = max(map(len, vocabulary))
        self._cached_pieces = lru_cache(maxsize=_CACHE_SIZE)(self._pieces)

    def tokens(self, text: str, most: int) -> list[int]:
        """At most so many, the two at its ends included; what comes after is cut off."""
        found: list[int] = []
        for word in split_words(text):
            found += self._cached_pieces(word)
            if len(found) > most - 2:
                break
        return [self._begin, *found[: most - 2], self._end]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """A word of which any part is unknown is unknown."""
        if len(word) > _MAX_WORD_CHARS:
            return (self._unknown,)
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = _CONTINUATION_PREFIX if start else ""
            for end in range(min(len(word), start + self._max_piece_chars), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(found)


def split_words(text: str) -> list[str]:
    if not text.isascii():
        text = "".join(f" {letter} " if _is_chinese(letter) else letter for letter in text)
        text = "".join(letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter) != "Mn")
    return "".join(map(_normalize_character, text.lower())).split()


@lru_cache(maxsize=4096)
def _normalize_character(letter: str) -> str:
    """A letter as it is, a mark between spaces, a gap as a space, and nothing for what nobody sees."""
    category = unicodedata.category(letter)
    if letter in "\t\n\r" or category[0] == "Z":
        return " "
    if letter in "\0\ufffd" or category in ("Cc", "Cf", "Co"):
        return ""
    return f" {letter} " if category[0] == "P" or letter in "$+<=>^`|~" else letter


def _is_chinese(letter: str) -> bool:
    place = ord(letter)
    return any(first <= place <= last for first, last in _CHINESE_RANGES)
