"""Characters that a person reading a text does not see but a model does, or that make it look like another text.

Scripts need some of them: joiners in Persian, Hindi and emoji, marks in Hebrew and Arabic, breaks in Thai. Those are
let pass where such a script stands beside them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Final

from .excerpt import INVISIBLE, excerpt_around, make_excerpt
from .finding import ScanFindingKind, TextMark

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
