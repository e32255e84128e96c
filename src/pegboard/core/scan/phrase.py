"""Phrases to look for: words in an order, with so many others between them at most.

A phrase is written as its steps, with the longest gap between two as a number: `"ignore|forget 3 previous|prior 2
instructions"`. Each step is a choice of words or of words in a row. Finding one takes time in proportion to how often
its words occur, whatever the text: nothing is ever tried twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from .finding import Kind
from .words import Words, split, words_of

Choice: TypeAlias = tuple[tuple[str, ...], ...]
_GUARDED: Final = 7


@dataclass(frozen=True, slots=True)
class Phrase:
    hard: bool
    kind: Kind
    what: str
    steps: tuple[Choice, ...]
    gaps: tuple[int, ...]
    unless: frozenset[str]
    """Words that turn it into its opposite when one stands shortly before it."""
    tellers: tuple[frozenset[str], ...]
    """Of each step the words without which it is not there, to see quickly that the phrase is not."""

    def found(self, words: Words) -> tuple[int, int] | None:
        """From which word to which it goes, where it stands first."""
        for start, end in self.reached(words):
            if self.unless.isdisjoint(words.all[max(0, start - _GUARDED) : start]):
                return start, end
        return None

    def reached(self, words: Words) -> list[tuple[int, int]]:
        """Wherever it ends, also where it is turned into its opposite."""
        for tellers in self.tellers:
            if tellers.isdisjoint(words.known):
                return []
        reached: list[tuple[int, int]] = []
        for number, choice in enumerate(self.steps):
            spans = _spans(choice, words)
            reached = spans if number == 0 else _following(reached, spans, self.gaps[number - 1])
            if not reached:
                return []
        return reached


def _spans(choice: Choice, words: Words) -> list[tuple[int, int]]:
    """Where any of the choice stands, by where it ends."""
    spans: list[tuple[int, int]] = []
    for item in choice:
        places = words.places.get(item[0], ())
        length = len(item)
        if length == 1:
            spans += [(place, place + 1) for place in places]
        else:
            spans += [(p, p + length) for p in places if tuple(words.all[p : p + length]) == item]
    return sorted(spans)


def _following(reached: list[tuple[int, int]], spans: list[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """The spans that begin at most `gap` words behind the end of one that was reached, with where that one began."""
    following: list[tuple[int, int]] = []
    ends = sorted((end, start) for start, end in reached)
    last = 0
    for start, end in spans:
        while last < len(ends) and ends[last][0] <= start:
            last += 1
        if last and start - ends[last - 1][0] <= gap:
            following.append((ends[last - 1][1], end))
    return following


class Phrases:
    """Many of them, found by their first words."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self._by_word: dict[str, list[Phrase]] = {}
        vocabulary: set[str] = set()
        for phrase in phrases:
            for choice in phrase.steps:
                vocabulary |= {word for item in choice for word in item}
            for word in sorted(_telling(phrase)):
                self._by_word.setdefault(word, []).append(phrase)
        self.vocabulary: Final = frozenset(vocabulary)

    def may_be_in(self, words: Words) -> bool:
        """Whether any is there, or would be but for what stands before it."""
        return any(
            phrase.reached(words) for word in self._by_word.keys() & words.known for phrase in self._by_word[word]
        )

    def found(self, words: Words) -> list[tuple[Phrase, str]]:
        """Those that the words hold, each with what stands there."""
        told: dict[str, tuple[Phrase, str]] = {}
        for word in sorted(self._by_word.keys() & words.known):
            for phrase in self._by_word[word]:
                if phrase.what in told:
                    continue
                if span := phrase.found(words):
                    told[phrase.what] = phrase, words.between(*span)
        return [*told.values()]


_COMMON: Final = words_of(
    "this that it to and all any every each other in of is are be on as tool tools you your with before after first use"
    " call run the for from if when not no do if must should file files user users name text value list result results"
)


def _telling(phrase: Phrase) -> frozenset[str]:
    """The words to look a phrase up by: those of the last step without such as every text has."""
    return next((words for words in reversed(phrase.tellers) if words.isdisjoint(_COMMON)), phrase.tellers[-1])


def phrases(hard: bool, kind: Kind, what: str, *written: str, unless: str = "") -> Iterable[Phrase]:
    for each in written:
        steps: list[Choice] = []
        gaps: list[int] = []
        step: list[str] = []
        for piece in each.split():
            if piece.isascii() and piece.isdigit():
                steps.append(_choice(step))
                gaps.append(int(piece))
                step = []
            else:
                step.append(piece)
        steps.append(_choice(step))
        tellers = tuple(frozenset(map(_teller, choice)) for choice in steps)
        yield Phrase(hard, kind, what, tuple(steps), tuple(gaps), frozenset(unless.split("|")), tellers)


def _teller(item: tuple[str, ...]) -> str:
    """The longest word of some in a row, which is mostly the rarest."""
    return max(reversed(item), key=len)


def _choice(step: list[str]) -> Choice:
    return tuple(tuple(split(item)) for item in " ".join(step).split("|"))
