"""Phrases to look for: words in an order, with so many others between them at most.

A phrase is written as its steps, with the longest gap between two as a number: `"ignore|forget 3 previous|prior 2
instructions"`. Each step is a choice of words or of words in a row. Finding one takes time in proportion to how often
its words occur, whatever the text: nothing is ever tried twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from .finding import ScanFindingKind
from .words import WordSequence, parse_word_set, split_words

Choice: TypeAlias = tuple[tuple[str, ...], ...]
_NEGATION_REACH_WORDS: Final = 7


@dataclass(frozen=True, slots=True)
class Phrase:
    is_hard: bool
    kind: ScanFindingKind
    description: str
    steps: tuple[Choice, ...]
    gaps: tuple[int, ...]
    unless: frozenset[str]
    """Words that turn it into its opposite when one stands shortly before it."""
    marker_words: tuple[frozenset[str], ...]
    """Of each step the words without which it is not there, to see quickly that the phrase is not."""

    def find(self, words: WordSequence) -> tuple[int, int] | None:
        """From which word to which it goes, where it stands first."""
        for start, end in self.find_spans(words):
            if self.unless.isdisjoint(words.words[max(0, start - _NEGATION_REACH_WORDS) : start]):
                return start, end
        return None

    def find_spans(self, words: WordSequence) -> list[tuple[int, int]]:
        """Wherever it ends, also where it is turned into its opposite."""
        for tellers in self.marker_words:
            if tellers.isdisjoint(words.word_set):
                return []
        reached: list[tuple[int, int]] = []
        for number, choice in enumerate(self.steps):
            spans = _choice_spans(choice, words)
            reached = spans if number == 0 else _chain_spans(reached, spans, self.gaps[number - 1])
            if not reached:
                return []
        return reached


def _choice_spans(choice: Choice, words: WordSequence) -> list[tuple[int, int]]:
    """Where any of the choice stands, by where it ends."""
    spans: list[tuple[int, int]] = []
    for item in choice:
        places = words.positions.get(item[0], ())
        length = len(item)
        if length == 1:
            spans += [(place, place + 1) for place in places]
        else:
            spans += [(p, p + length) for p in places if tuple(words.words[p : p + length]) == item]
    return sorted(spans)


def _chain_spans(reached: list[tuple[int, int]], spans: list[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
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


class PhraseSet:
    """Many of them, found by their first words."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self._by_word: dict[str, list[Phrase]] = {}
        vocabulary: set[str] = set()
        for phrase in phrases:
            for choice in phrase.steps:
                vocabulary |= {word for item in choice for word in item}
            for word in sorted(_index_words(phrase)):
                self._by_word.setdefault(word, []).append(phrase)
        self.vocabulary: Final = frozenset(vocabulary)

    def may_be_in(self, words: WordSequence) -> bool:
        """Whether any is there, or would be but for what stands before it."""
        return any(
            phrase.find_spans(words) for word in self._by_word.keys() & words.word_set for phrase in self._by_word[word]
        )

    def find_all(self, words: WordSequence) -> list[tuple[Phrase, str]]:
        """Those that the words hold, each with what stands there."""
        told: dict[str, tuple[Phrase, str]] = {}
        for word in sorted(self._by_word.keys() & words.word_set):
            for phrase in self._by_word[word]:
                if phrase.description in told:
                    continue
                if span := phrase.find(words):
                    told[phrase.description] = phrase, words.text_between(*span)
        return [*told.values()]


_COMMON: Final = parse_word_set(
    "this that it to and all any every each other in of is are be on as tool tools you your with before after first use"
    " call run the for from if when not no do if must should file files user users name text value list result results"
)


def _index_words(phrase: Phrase) -> frozenset[str]:
    """The words to look a phrase up by: those of the last step without such as every text has."""
    return next(
        (words for words in reversed(phrase.marker_words) if words.isdisjoint(_COMMON)), phrase.marker_words[-1]
    )


def build_phrases(hard: bool, kind: ScanFindingKind, what: str, *written: str, unless: str = "") -> Iterable[Phrase]:
    for each in written:
        steps: list[Choice] = []
        gaps: list[int] = []
        step: list[str] = []
        for piece in each.split():
            if piece.isascii() and piece.isdigit():
                steps.append(_parse_choice(step))
                gaps.append(int(piece))
                step = []
            else:
                step.append(piece)
        steps.append(_parse_choice(step))
        tellers = tuple(frozenset(map(_rarest_word, choice)) for choice in steps)
        yield Phrase(hard, kind, what, tuple(steps), tuple(gaps), frozenset(unless.split("|")), tellers)


def _rarest_word(item: tuple[str, ...]) -> str:
    """The longest word of some in a row, which is mostly the rarest."""
    return max(reversed(item), key=len)


def _parse_choice(step: list[str]) -> Choice:
    return tuple(tuple(split_words(item)) for item in " ".join(step).split("|"))
