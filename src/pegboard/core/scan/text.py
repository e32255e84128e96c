"""A text as the words a model reads in it: one case, one alphabet, nothing invisible, no marks between.

Chinese and Japanese characters are a word each, since nothing stands between theirs.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from pegboard.core.json.values import Json
from pegboard.core.model.tool import ToolSpec
from pegboard.core.scan.findings import (
    INVISIBLE,
    FindingPath,
    ScanFindingKind,
    TextMark,
    excerpt_around,
    make_excerpt,
    remove_invisible,
)

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


# Letters that look like others: a word of two alphabets, or one in letters made for mathematics.

# such letters are what this module is about


_MIXED_ALPHABETS: Final = re.compile(
    "(?<![^\\W\\d_])(?=[^\\W\\d_]{0,63}?[A-Za-z])(?=[^\\W\\d_]{0,63}?[\u0400-\u052f\u0370-\u03ff\u13a0-\u13ff])[^\\W\\d_]{2,64}"
)
_GREEK_ALONE: Final = re.compile("[\u0370-\u03ff][A-Za-z]{1,2}|[A-Za-z]{1,3}[\u0370-\u03ff]")
"""Δt, λmax, kΩ: quantities and units."""
_STYLED_LETTERS: Final = re.compile(
    "[\U0001d400-\U0001d7ff\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001f130-\U0001f189]{3,}"
    "|[ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ]{3,}"
)
_ONE_STYLED: Final = re.compile("[ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ]")
_LATIN: Final = re.compile("[A-Za-z]")
_LETTERS_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS: Final = re.compile(r"[\W_]+")
_MIN_MIXED_WORDS: Final = 3


def has_styled_letters(text: str) -> bool:
    return _STYLED_LETTERS.search(text) is not None or _ONE_STYLED.search(text) is not None


def lookalike_marks(text: str, *, is_name: bool) -> Iterator[TextMark]:
    """One slip of the keyboard is soft; several words of two alphabets, or a name of two, are a disguise."""
    seen = remove_invisible(text)
    mixed = [
        found
        for found in _MIXED_ALPHABETS.finditer(seen.replace("_", " "))
        if not _GREEK_ALONE.fullmatch(found.group())
    ]
    if mixed:
        # A text in Russian or Greek has slips into Latin letters more easily than one in English the other way.
        home = len(_LATIN.findall(seen)) * 2 > sum(map(str.isalpha, seen))
        hard = is_name or (home and len({found.group() for found in mixed}) >= _MIN_MIXED_WORDS)
        first = mixed[0]
        what = f"mixes letters of two alphabets in one word, at {make_excerpt(first.group())}"
        yield TextMark(hard, ScanFindingKind.LOOKALIKE, what, excerpt_around(seen, first.start(), first.end()))
    if found := _STYLED_LETTERS.search(seen):
        plain = unicodedata.normalize("NFKC", found.group()).translate(LOOKALIKES)
        what = f"is partly in letters of another style, which read {make_excerpt(plain)}"
        yield TextMark(False, ScanFindingKind.LOOKALIKE, what, excerpt_around(seen, found.start(), found.end()))
    if is_name and not mixed and (_is_foreign_but_reads_latin(seen)):
        yield TextMark(
            False,
            ScanFindingKind.LOOKALIKE,
            f"reads like {make_excerpt(lookalike_key(seen))} but is in other letters",
            seen[:64],
        )


def _is_foreign_but_reads_latin(name: str) -> bool:
    letters = [character for character in name if character.isalpha()]
    return bool(letters) and not any(map(str.isascii, letters)) and "".join(letters).translate(LOOKALIKES).isascii()


@lru_cache(maxsize=1 << 16)
def lookalike_key(name: str) -> str:
    """One form for names that a reader takes for each other."""
    alike = unicodedata.normalize("NFKC", remove_invisible(name[:256])).translate(LOOKALIKES)
    return _SEPARATORS.sub("_", _LETTERS_CAMEL.sub("_", alike).casefold())


# Characters that a person reading a text does not see but a model does, or that make it look like another text.
#
# Scripts need some of them: joiners in Persian, Hindi and emoji, marks in Hebrew and Arabic, breaks in Thai. Those
# are
# let pass where such a script stands beside them.

_TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
_FLAGS: Final = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
"""England, Scotland and Wales: the only emoji that are spelt with tags."""

_SUSPICIOUS_RUNS: Final = tuple(
    (hard, what, re.compile(pattern))
    for hard, what, pattern in (
        (True, "terminal escapes", "[\x1b\x90\x9b\x9d]"),
        (True, "control characters", "[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]"),
        (False, "control characters", "[\x0b\x0c\x80-\x84\x86-\x8f\x91-\x9a\x9c\x9e\x9f]"),
        (True, "invisible annotations", "[\ufff0-\ufffb]"),
        (True, "runs of invisible selectors", "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"),
        (True, "characters that nobody has defined", "[\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]"),
        (True, "runs of letters that show as nothing", "[\u00ad\u034f\u115f\u1160\u2800\u3164\uffa0]{4,}"),
        (
            False,
            "letters that show as nothing",
            "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u206a-\u206f\u2800\u3164\uffa0"
            "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]",
        ),
        (True, "runs of characters of private use", "[\ue000-\uf8ff\U000f0000-\U0010ffff]{4,}"),
        (False, "characters of private use", "[\ue000-\uf8ff\U000f0000-\U0010ffff]"),
        (False, "halves of characters", "[\ud800-\udfff]"),
    )
)
_OVERRIDES: Final = re.compile("[\u202d\u202e]")
_EMBEDDINGS: Final = re.compile("[\u202a-\u202c\u2066-\u2069]")
_MARKS: Final = re.compile("[\u200e\u200f\u061c]")
_ZERO_WIDTH: Final = re.compile("[\u200b-\u200d\u2060-\u2065\ufeff\u180e]+")
_BLANKS: Final = re.compile(r"\s{40,}+")

_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_JOINED_SCRIPT: Final = re.compile("[\u0600-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u18af\ua840-\uabff\ufb50-\ufefc]")
"""Scripts in which joiners, non-joiners and invisible breaks are part of the spelling."""
_EMOJI: Final = re.compile("[\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff]")


def hidden_character_marks(text: str) -> Iterator[TextMark]:
    if text.isprintable() and text.isascii() and " " * 40 not in text:
        return
    for run in _BLANKS.finditer(text):
        if _is_hiding_run(run):
            what = "has a long stretch of blank space with text behind it"
            yield TextMark(False, ScanFindingKind.HIDDEN, what, excerpt_around(text, run.end(), run.end()))
            break
    if INVISIBLE.search(text) is None:
        return
    plain = _FLAGS.sub("", text)
    if tags := "".join(_TAGS.findall(plain)):
        spelt = "".join(chr(ord(tag) - 0xE0000) for tag in tags if 0xE0020 <= ord(tag) < 0xE007F)
        what = f"has {len(tags)} invisible tag characters, which spell {make_excerpt(spelt)}"
        yield TextMark(True, ScanFindingKind.HIDDEN, what, excerpt_around(spelt, 0, len(spelt)))
    told: set[str] = set()
    for hard, what, pattern in _SUSPICIOUS_RUNS:
        if (found := pattern.search(plain)) and not told & {what, f"runs of {what}"}:
            told.add(what)
            yield _mark_at(hard, ScanFindingKind.HIDDEN, what, plain, found, pattern)
    yield from _direction_marks(plain)
    yield from _zero_width_marks(plain)


def _is_hiding_run(run: re.Match[str]) -> bool:
    blank, more = run.group(), run.end() < len(run.string)
    return more and (blank.count("\n") >= 40 or len(blank) >= 200)


def _direction_marks(text: str) -> Iterator[TextMark]:
    written = _RIGHT_TO_LEFT.search(text) is not None
    for hard, what, pattern in (
        (True, "characters that turn the direction of the text around", _OVERRIDES),
        (not written, "characters that set the direction of the text", _EMBEDDINGS),
    ):
        if found := pattern.search(text):
            yield _mark_at(hard, ScanFindingKind.DIRECTION, what, text, found, pattern)
    if not written and (found := _MARKS.search(text)):
        yield _mark_at(
            False, ScanFindingKind.DIRECTION, "marks of direction in a text that has none", text, found, _MARKS
        )


def _mark_at(
    hard: bool, kind: ScanFindingKind, what: str, text: str, found: re.Match[str], pattern: re.Pattern[str]
) -> TextMark:
    listed = _list_codes("".join(pattern.findall(text)))
    return TextMark(hard, kind, f"has {what} ({listed})", excerpt_around(text, found.start(), found.end()))


def _zero_width_marks(text: str) -> Iterator[TextMark]:
    """A stray one comes with text copied from a page. Runs, or many of several kinds, are how a message is spelt."""
    found: list[str] = []
    first, longest = -1, 0
    for run in _ZERO_WIDTH.finditer(text):
        if _is_legitimate(text, run.start(), run.end()):
            continue
        first = run.start() if first < 0 else first
        found.append(run.group())
        longest = max(longest, run.end() - run.start())
    if found:
        strays = "".join(found)
        spelt = longest >= 3 or (len(strays) >= 8 and len({*strays}) >= 2)
        what = f"has characters without width ({_list_codes(strays)})"
        yield TextMark(spelt, ScanFindingKind.HIDDEN, what, excerpt_around(text, first, first + 1))


def _is_legitimate(text: str, start: int, end: int) -> bool:
    """One character between letters of a script that needs it, or joining two pictures; or a mark before the text."""
    if end - start > 1:
        return False
    if text[start] == "\ufeff":
        return start == 0
    before, after = text[start - 1 : start], text[end : end + 1]
    if _JOINED_SCRIPT.match(before) or _JOINED_SCRIPT.match(after):
        return True
    return text[start] == "\u200d" and bool(_EMOJI.match(before)) and bool(_EMOJI.match(after))


def _list_codes(found: str) -> str:
    counted = Counter(found).most_common(3)
    return ", ".join(f"{count} of U+{ord(char):04X} {unicodedata.name(char, 'unnamed')}" for char, count in counted)


# Every text that a model sees of a tool, and where it stands.


class TextPosition(NamedTuple):
    """Linked, because a path of its own for every text of a deep schema would be costly; and a tuple, because there is
    one for every key of every schema."""

    parent: "TextPosition | None"
    key: str | int
    is_key: bool = False
    """The text is the key itself and not what stands under it."""

    @property
    def is_parameter(self) -> bool:
        return self.is_key and self.parent is not None and self.parent.key == "properties"

    @property
    def is_name(self) -> bool:
        return self.is_parameter or (self.parent is None and self.key == "name")

    def path(self) -> FindingPath:
        keys: list[str | int] = []
        place: TextPosition | None = self
        while place is not None:
            keys.append(place.key)
            place = place.parent
        return tuple(reversed(keys))

    def __str__(self) -> str:
        if self.parent is None:
            return f"The {self.key}"
        where = make_excerpt(".".join(map(str, self.path())), 80)
        return f"The name at {where}" if self.is_key else f"The text at {where}"


def spec_texts(spec: ToolSpec) -> Iterator[tuple[TextPosition, str]]:
    yield TextPosition(None, "name"), spec.name
    yield TextPosition(None, "title"), spec.title or ""
    yield TextPosition(None, "description"), spec.description
    for root, value in (
        ("inputSchema", spec.input_schema),
        ("outputSchema", spec.output_schema),
        ("annotations", spec.annotations),
    ):
        if value is not None:
            yield from _walk_strings(TextPosition(None, root), value)


def spec_strings(spec: ToolSpec) -> tuple[list[str], list[str]]:
    """The same texts in no order and without their places, and the names of the parameters among them."""
    found = [spec.name, spec.title or "", spec.description]
    parameters: list[str] = []
    waiting: list[tuple[str | None, Json | Mapping[str, Json]]] = [
        (None, value) for value in (spec.input_schema, spec.output_schema, spec.annotations) if value is not None
    ]
    while waiting:
        above, item = waiting.pop()
        if isinstance(item, Mapping):
            if above == "properties":
                parameters += [key for key in item if key not in _KEYWORDS]
            for key, below in item.items():
                if key not in _KEYWORDS:
                    found.append(key)
                if isinstance(below, str):
                    if not (key == "type" and below in _TYPES):
                        found.append(below)
                elif isinstance(below, list | Mapping):
                    waiting.append((key, below))
        elif isinstance(item, list):
            found += [element for element in item if isinstance(element, str)]
            waiting += [(None, element) for element in item if isinstance(element, list | Mapping)]
    return found, parameters


def _walk_strings(root: TextPosition, value: Mapping[str, Json]) -> Iterator[tuple[TextPosition, str]]:
    """Every key and every text, by a stack of its own: a schema may be deeper than the interpreter recurses."""
    waiting: list[tuple[TextPosition, Json | Mapping[str, Json]]] = [(root, value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, str):
            yield place, item
        elif isinstance(item, Mapping):
            yield from ((TextPosition(place, key, is_key=True), key) for key in item if key not in _KEYWORDS)
            waiting += [
                (TextPosition(place, key), below)
                for key, below in reversed([*item.items()])
                if isinstance(below, str | list | Mapping) and not (key == "type" and below in _TYPES)
            ]
        elif isinstance(item, list):
            waiting += [
                (TextPosition(place, number), element)
                for number, element in reversed([*enumerate(item)])
                if isinstance(element, str | list | Mapping)
            ]


_KEYWORDS: Final = frozenset(
    {
        *(
            "type",
            "properties",
            "required",
            "items",
            "description",
            "title",
            "default",
            "enum",
            "$defs",
            "anyOf",
            "format",
        ),
        *(
            "additionalProperties",
            "$schema",
            "$ref",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "pattern",
            "oneOf",
        ),
        *("allOf", "examples", "const", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"),
    }
)
"""Keys of nearly every schema, which say nothing."""

_TYPES: Final = ("string", "object", "integer", "number", "boolean", "array", "null")
