"""What the words of one text say, wherever it stands. Also of a name: its parts are words too."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from .asking import PRIVATE_WORDS, asking, names_private_file, private_files
from .encoded import SHORTEST_PAYLOAD, decoding, encoded
from .excerpt import around, excerpt
from .finding import Kind, Mark
from .hidden import hidden
from .letters import lookalikes
from .orders import orders
from .phrase import Phrases
from .tongues import tongues
from .weighing import may_be_ordered, ordered
from .words import Words, all_readings, readings, sentences, shown, split, words_of

_PHRASES: Final = Phrases((*orders(), *tongues(), *asking(), *decoding()))

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
_SHORTEST: Final = 6
_CACHED: Final = 80


def wording(text: str, *, is_name: bool) -> Iterable[Mark]:
    """What is wrong with it. Short texts come again and again, in one schema as in the next."""
    return _remembered(text, is_name) if len(text) <= _CACHED else tuple(_marks(text, is_name))


def may_be_marked(texts: str) -> bool:
    """Whether any of the texts that were put together to this one may hold what is to be marked."""
    told = sentences(texts)
    plain = Words([*chain.from_iterable(told)])
    if any(map(_PHRASES.may_be_in, all_readings(texts, plain, _PHRASES.vocabulary))):
        return True
    known = plain.known
    return (
        may_be_ordered(texts, told)
        or next(_imitated(texts, known), None) is not None
        or (not PRIVATE_WORDS.isdisjoint(known) and names_private_file(texts))
        or next(encoded(texts, known, _tells), None) is not None
    )


@lru_cache(maxsize=1 << 14)
def _remembered(text: str, is_name: bool) -> tuple[Mark, ...]:
    return tuple(_marks(text, is_name))


def _marks(text: str, is_name: bool) -> Iterator[Mark]:
    yield from hidden(text)
    if not text.isascii():
        yield from lookalikes(text, is_name=is_name)
    if len(text) < _SHORTEST and text.isascii():
        return
    seen = shown(text)
    ways = readings(seen, _PHRASES.vocabulary)
    yield from _gravest([mark for words in ways for mark in _phrases(words)], ordered(seen))
    known = ways[0].known
    yield from _imitated(seen, known)
    if not PRIVATE_WORDS.isdisjoint(known):
        yield from private_files(seen)
    if len(seen) >= SHORTEST_PAYLOAD:
        yield from encoded(seen, known, _tells)


def _phrases(words: Words) -> Iterator[Mark]:
    for phrase, held in _PHRASES.found(words):
        yield Mark(phrase.hard, phrase.kind, f"{phrase.what}: {excerpt(held)}", around(held, 0, len(held)))


def _gravest(phrases: Sequence[Mark], order: Mark | None) -> Iterator[Mark]:
    """What is told in the hard way needs no telling in the soft one, and what a phrase tells none by its weight."""
    found = [*dict.fromkeys(phrases)]
    if order is not None and all(mark.kind is not order.kind or (order.hard and not mark.hard) for mark in found):
        found.append(order)
    hard = {mark.kind for mark in found if mark.hard}
    yield from (mark for mark in found if mark.hard or mark.kind not in hard)


def _tells(decoded: str) -> bool:
    """Whether a text that was found encoded is one that no ordinary tool holds."""
    seen = shown(decoded)
    words = Words(split(seen))
    return any(phrase.hard for phrase, _ in _PHRASES.found(words)) or any(True for _ in private_files(seen))


_ROLES: Final = words_of("system assistant developer admin human instruction instructions inst")


def _imitated(text: str, words: frozenset[str]) -> Iterator[Mark]:
    if "<" not in text and _ROLES.isdisjoint(words):
        return
    if found := _TEMPLATE.search(text):
        what = f"speaks as if it were the prompt itself: {excerpt(found.group().strip())}"
        yield Mark(True, Kind.INSTRUCTION, what, around(text, found.start(), found.end()))
    elif found := _ASIDES.search(text):
        what = f"sets text apart for the model: {excerpt(found.group())}"
        yield Mark(False, Kind.INSTRUCTION, what, around(text, found.start(), found.end()))
    elif found := _SPEAKER.search(text):
        what = f"speaks with somebody else's voice: {excerpt(found.group().strip())}"
        yield Mark(False, Kind.INSTRUCTION, what, around(text, found.start(), found.end()))
