"""What the words of one text say, wherever it stands. Also of a name: its parts are words too."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from .asking import PRIVATE_WORDS, names_private_file, private_file_marks, request_phrases
from .encoded import MIN_PAYLOAD_CHARS, decoding_phrases, encoded_text_marks
from .excerpt import excerpt_around, make_excerpt
from .finding import ScanFindingKind, TextMark
from .hidden import hidden_character_marks
from .letters import lookalike_marks
from .orders import order_phrases
from .phrase import PhraseSet
from .tongues import translated_phrases
from .weighing import find_order, may_hold_order
from .words import (
    WordSequence,
    all_readings,
    normalize_text,
    parse_word_set,
    split_sentences,
    split_words,
    text_readings,
)

_PHRASES: Final = PhraseSet((*order_phrases(), *translated_phrases(), *request_phrases(), *decoding_phrases()))

_TEMPLATE: Final = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|end|endoftext|eot_id|start_header_id|end_header_id|begin_of_text)\|>"
    r"|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"
    r"|(?:^|\n)[ \t]{0,8}#{2,4} ?(?:System|Instruction|Assistant|Human)s?(?: prompt| message)?:"
    r"|end of (?:the )?(?:tool )?(?:description|definition|documentation)\b.{0,40}\bsystem\b"
    r"|\n\n(?:Human|Assistant): |</(?:tool_)?(?:description|definition)>",
    re.IGNORECASE,
)
_ASIDES: Final = re.compile(
    r"<(?:important|system|secret|hidden|admin|instructions?|system[-_]?(?:prompt|message|reminder)|override"
    r"|critical)>|<!--"
    r"|<[a-z]{1,10} [^>]{0,100}(?:display: ?none|font-size: ?0|visibility: ?hidden)",
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(
    r"(?:^|[\n.!?>\"'-]\s{0,4})(?:(?:SYSTEM|ASSISTANT|DEVELOPER|ADMIN)|(?:System|Assistant|Developer|Admin)"
    r"(?: message| prompt| note| notice| override)?)\s?:\s{0,4}(?=\S{1,64} \S)"
)
_MIN_CHARS: Final = 6
_MAX_CACHED_CHARS: Final = 80


def text_marks(text: str, *, is_name: bool) -> Iterable[TextMark]:
    """What is wrong with it. Short texts come again and again, in one schema as in the next."""
    return _cached_marks(text, is_name) if len(text) <= _MAX_CACHED_CHARS else tuple(_marks(text, is_name))


def may_be_marked(texts: str) -> bool:
    """Whether any of the texts that were put together to this one may hold what is to be marked."""
    told = split_sentences(texts)
    plain = WordSequence([*chain.from_iterable(told)])
    if any(map(_PHRASES.may_be_in, all_readings(texts, plain, _PHRASES.vocabulary))):
        return True
    known = plain.word_set
    return (
        may_hold_order(texts, told)
        or next(_imitation_marks(texts, known), None) is not None
        or (not PRIVATE_WORDS.isdisjoint(known) and names_private_file(texts))
        or next(encoded_text_marks(texts, known, _is_telltale), None) is not None
    )


@lru_cache(maxsize=1 << 14)
def _cached_marks(text: str, is_name: bool) -> tuple[TextMark, ...]:
    return tuple(_marks(text, is_name))


def _marks(text: str, is_name: bool) -> Iterator[TextMark]:
    yield from hidden_character_marks(text)
    if not text.isascii():
        yield from lookalike_marks(text, is_name=is_name)
    if len(text) < _MIN_CHARS and text.isascii():
        return
    seen = normalize_text(text)
    ways = text_readings(seen, _PHRASES.vocabulary)
    yield from _gravest([mark for words in ways for mark in _phrase_marks(words)], find_order(seen))
    known = ways[0].word_set
    yield from _imitation_marks(seen, known)
    if not PRIVATE_WORDS.isdisjoint(known):
        yield from private_file_marks(seen)
    if len(seen) >= MIN_PAYLOAD_CHARS:
        yield from encoded_text_marks(seen, known, _is_telltale)


def _phrase_marks(words: WordSequence) -> Iterator[TextMark]:
    for phrase, held in _PHRASES.find_all(words):
        yield TextMark(
            phrase.is_hard,
            phrase.kind,
            f"{phrase.description}: {make_excerpt(held)}",
            excerpt_around(held, 0, len(held)),
        )


def _gravest(phrases: Sequence[TextMark], order: TextMark | None) -> Iterator[TextMark]:
    """What is told in the hard way needs no telling in the soft one, and what a phrase tells none by its weight."""
    found = [*dict.fromkeys(phrases)]
    if order is not None and all(mark.kind is not order.kind or (order.is_hard and not mark.is_hard) for mark in found):
        found.append(order)
    hard = {mark.kind for mark in found if mark.is_hard}
    yield from (mark for mark in found if mark.is_hard or mark.kind not in hard)


def _is_telltale(decoded: str) -> bool:
    """Whether a text that was found encoded is one that no ordinary tool holds."""
    seen = normalize_text(decoded)
    words = WordSequence(split_words(seen))
    return any(phrase.is_hard for phrase, _ in _PHRASES.find_all(words)) or any(True for _ in private_file_marks(seen))


_ROLES: Final = parse_word_set("system assistant developer admin human instruction instructions inst")


def _imitation_marks(text: str, words: frozenset[str]) -> Iterator[TextMark]:
    if "<" not in text and _ROLES.isdisjoint(words):
        return
    if found := _TEMPLATE.search(text):
        what = f"speaks as if it were the prompt itself: {make_excerpt(found.group().strip())}"
        yield TextMark(True, ScanFindingKind.INSTRUCTION, what, excerpt_around(text, found.start(), found.end()))
    elif found := _ASIDES.search(text):
        what = f"sets text apart for the model: {make_excerpt(found.group())}"
        yield TextMark(False, ScanFindingKind.INSTRUCTION, what, excerpt_around(text, found.start(), found.end()))
    elif found := _SPEAKER.search(text):
        what = f"speaks with somebody else's voice: {make_excerpt(found.group().strip())}"
        yield TextMark(False, ScanFindingKind.INSTRUCTION, what, excerpt_around(text, found.start(), found.end()))
