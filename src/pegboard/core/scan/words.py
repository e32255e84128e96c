"""A text as the words a model reads in it: one case, one alphabet, nothing invisible, no marks between.

Chinese and Japanese characters are a word each, since nothing stands between theirs.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .excerpt import remove_invisible

_CHARACTERS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f"
_MAX_WORD_CHARS: Final = 48
_WORD: Final = re.compile(rf"[{_CHARACTERS}]|[^\W_{_CHARACTERS}]{{1,{_MAX_WORD_CHARS}}}")
_ASCII_WORD: Final = re.compile(rf"[a-z0-9]{{1,{_MAX_WORD_CHARS}}}")
_ENDS: Final = frozenset(".!?;\n\u3002\uff01\uff1f\uff1b")
_END: Final = r"[!?;\n\u3002\uff01\uff1f\uff1b]|\.(?!\S)"
_TOKEN: Final = re.compile(rf"{_WORD.pattern}|{_END}")
_ASCII_TOKEN: Final = re.compile(rf"{_ASCII_WORD.pattern}|[!?;\n]|\.(?!\S)")
SENTENCE: Final = re.compile(rf"(?:(?!{_END}).)+", re.DOTALL)
"""One, as it stands."""
_CAMEL: Final = re.compile(r"[a-z0-9][A-Z]")
_CAMEL_JOINT: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DIGIT: Final = re.compile(r"[0-9]")
_SIGN_WITHIN: Final = re.compile(r"[A-Za-z0-9][@$!|][A-Za-z0-9]")
_WORD_OR_SIGNS: Final = re.compile(r"[^\W_@$!|]+(?:[@$!|]+[^\W_@$!|]+)+|[^\W_]+")
_SIGNS: Final = str.maketrans("01345789@$!|", "oieastbgasil")

LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝвкмнтгАВЕКМНОРСТУХІЈЅοαερτυικνχΑΒΕΗΙΚΜΝΟΡΤΥΧΖᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "aeopcyxijshdqwbkmhtrABEKMHOPCTYXIJSoaeptuikvxABEHIKMNOPTYXZabcdefghijklmnoprstuvwyz",
)


_LOOKALIKE: Final = re.compile(f"[{''.join(map(chr, LOOKALIKES))}]")


@dataclass(frozen=True)
class WordSequence:
    words: Sequence[str]

    @cached_property
    def word_set(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """Where each word stands, in order."""
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word, []).append(place)
        return places

    def text_between(self, first: int, end: int) -> str:
        return " ".join(self.words[first:end])


def parse_word_set(text: str) -> frozenset[str]:
    """A set of words, written as a line of them."""
    return frozenset(text.split())


def normalize_text(text: str) -> str:
    """What is left to read of it: compatible forms made one, and without what does not show."""
    seen = remove_invisible(text)
    return seen if seen.isascii() else unicodedata.normalize("NFKC", seen)


def split_words(text: str) -> list[str]:
    """Of a text as `shown`. A name is split where its parts begin."""
    text = _split_camel_case(text)
    return _ASCII_WORD.findall(text.lower()) if text.isascii() else _WORD.findall(text.casefold())


def split_sentences(text: str) -> list[list[str]]:
    """The same words, sentence by sentence."""
    text = _split_camel_case(text)
    tokens = _ASCII_TOKEN.findall(text.lower()) if text.isascii() else _TOKEN.findall(text.casefold())
    found: list[list[str]] = []
    start = 0
    for place, token in enumerate(tokens):
        if token in _ENDS:
            if place > start:
                found.append(tokens[start:place])
            start = place + 1
    if start < len(tokens):
        found.append(tokens[start:])
    return found


def _split_camel_case(text: str) -> str:
    if "'" in text or "\u2019" in text:
        text = text.replace("\u2019", "'").replace("n't", " not").replace("N'T", " NOT")
    return _CAMEL_JOINT.sub(" ", text) if _CAMEL.search(text) else text


def text_readings(text: str, vocabulary: Collection[str]) -> list[WordSequence]:
    """The ways to read it: as it stands, and with letters of other alphabets or digits read as the letters they stand
    for, where that brings out a word that matters."""
    plain = WordSequence(split_words(text))
    ways = [plain]
    if not text.isascii() and _LOOKALIKE.search(text):
        ways += _restore_words(split_words(text.translate(LOOKALIKES)), plain, vocabulary)
    if _has_signs(text, plain, vocabulary):
        signs = [found.casefold().translate(_SIGNS) for found in _WORD_OR_SIGNS.findall(text)]
        ways += _restore_words([word[:_MAX_WORD_CHARS] for word in signs], plain, vocabulary)
    if len(plain.word_set & _LETTERS) >= _MIN_LETTERS and (spelt := _join_spelled_words(plain.words, vocabulary)):
        ways.append(WordSequence(spelt))
    return ways


def all_readings(text: str, plain: WordSequence, vocabulary: Collection[str]) -> Iterator[WordSequence]:
    """Of a text that many others were put together to, none with lookalikes: every way to read any of them. `plain` are
    its words as they stand."""
    yield plain
    if _has_signs(text, plain, vocabulary):
        yield WordSequence(
            [found.casefold().translate(_SIGNS)[:_MAX_WORD_CHARS] for found in _WORD_OR_SIGNS.findall(text)]
        )
    if len(plain.word_set & _LETTERS) >= _MIN_LETTERS:
        yield WordSequence(_join_spelled_words(plain.words, vocabulary))


def _has_signs(text: str, words: WordSequence, vocabulary: Collection[str]) -> bool:
    """Whether digits or signs stand within words that matter without them, as in `1gn0re`."""
    if ("@" in text or "$" in text or "!" in text or "|" in text) and _SIGN_WITHIN.search(text):
        return True
    return _DIGIT.search(text) is not None and any(
        word.translate(_SIGNS) in vocabulary for word in words.word_set if not word.isalpha() and not word.isdigit()
    )


def _restore_words(words: list[str], plain: WordSequence, vocabulary: Collection[str]) -> list[WordSequence]:
    other = WordSequence(words)
    return [other] if any(word in vocabulary for word in other.word_set - plain.word_set) else []


_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
_MIN_LETTERS: Final = 4
_MIN_SPELLED_LETTERS: Final = 8


def _join_spelled_words(words: Sequence[str], vocabulary: Collection[str]) -> list[str]:
    """Words that were written letter by letter, put together again."""
    letters = "".join(word if len(word) == 1 else " " for word in words)
    put_together: list[str] = []
    for run in letters.split():
        if len(run) >= _MIN_SPELLED_LETTERS:
            put_together += _segment(run, vocabulary)
    return put_together


def _segment(run: str, vocabulary: Collection[str]) -> list[str]:
    """Cut into words that matter, the longest first; what fits none is left as it is."""
    cut: list[str] = []
    start = 0
    while start < len(run):
        for length in range(min(16, len(run) - start), 1, -1):
            if run[start : start + length] in vocabulary:
                cut.append(run[start : start + length])
                start += length
                break
        else:
            start += 1
    return cut
