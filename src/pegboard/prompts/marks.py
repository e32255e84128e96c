"""Markers in running text: where the first one stands, and how much of one that may be cut must be held back."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, cast

Matcher: TypeAlias = Callable[[str, int], re.Match[str]]


def matcher(pattern: str) -> Matcher:
    """A pattern that matches at every place, if only nothing: whoever asks need not ask whether it did."""
    return cast(Matcher, re.compile(pattern).match)


def is_cut_off(word: str, text: str, place: int, end: int) -> bool:
    """Whether the text ends inside of what may become the word. Looks at no more of it than the word is long."""
    return end - place < len(word) and word.startswith(text[place:end])


class MarkerSet:
    """A set of literal markers. Building one costs more than reading a small call, so take them from `marks`."""

    def __init__(self, words: tuple[str, ...]) -> None:
        kept = sorted({word for word in words if word}, key=lambda word: (-len(word), word))
        self.words = tuple(kept)
        # A pattern that matches nothing stands for the empty set.
        pattern = re.compile("|".join(map(re.escape, kept)) or r"(?!)")
        self.search, self._match_whole = pattern.search, pattern.match
        self.prefixes = frozenset(word[:size] for word in kept for size in range(1, len(word)))
        self.first_characters = "".join(sorted({word[0] for word in kept}))
        self.max_length = max(map(len, kept), default=0)
        self.open_ended = frozenset(word for word in kept if word in self.prefixes)
        """Markers with which a longer one begins."""
        self._search_first = re.compile("[" + re.escape(self.first_characters) + "]" if kept else r"(?!)").search

    def safe_end(self, text: str, start: int, end: int) -> int:
        """Where a marker that the end of the text may have cut begins: `end` if there is none."""
        at = max(start, end - self.max_length + 1)
        while at < end:
            found = self._search_first(text, at)
            if found is None:
                return end
            at = found.start()
            if text[at:] in self.prefixes:
                return at
            # The rest of a whole marker is the beginning of none: of "```" nothing is held.
            whole = self._match_whole(text, at)
            at = at + 1 if whole is None else whole.end()
        return end

    def match_at(self, text: str, place: int, end: int, final: bool) -> str | None:
        """The marker at a place: "" if there is none, None if more text must come to tell."""
        if text[place : place + 1] not in self.first_characters:
            return ""
        for word in self.words:
            if text.startswith(word, place):
                return None if not final and self.may_continue(word, text, place, end) else word
        if not final and end - place < self.max_length and text[place:] in self.prefixes:
            return None
        return ""

    def may_continue(self, word: str, text: str, place: int, end: int) -> bool:
        """Whether the marker found there may yet become a longer one."""
        return word in self.open_ended and end - place < self.max_length and text[place:] in self.prefixes


marker_set = lru_cache(maxsize=512)(MarkerSet)
