"""Characters that a person reading a text does not see but a model does, or that make it look like another text.

Scripts need some of them: joiners in Persian, Hindi and emoji, marks in Hebrew and Arabic, breaks in Thai. Those are
let pass where such a script stands beside them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Final

from .excerpt import UNSEEN, around, excerpt
from .finding import Kind, Mark

_TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
_FLAGS: Final = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
"""England, Scotland and Wales: the only emoji that are spelt with tags."""

_RUNS: Final = tuple(
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
_JOINING: Final = re.compile("[\u0600-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u18af\ua840-\uabff\ufb50-\ufefc]")
"""Scripts in which joiners, non-joiners and invisible breaks are part of the spelling."""
_PICTURES: Final = re.compile("[\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff]")


def hidden(text: str) -> Iterator[Mark]:
    if text.isprintable() and text.isascii() and " " * 40 not in text:
        return
    for run in _BLANKS.finditer(text):
        if _hides(run):
            what = "has a long stretch of blank space with text behind it"
            yield Mark(False, Kind.HIDDEN, what, around(text, run.end(), run.end()))
            break
    if UNSEEN.search(text) is None:
        return
    plain = _FLAGS.sub("", text)
    if tags := "".join(_TAGS.findall(plain)):
        spelt = "".join(chr(ord(tag) - 0xE0000) for tag in tags if 0xE0020 <= ord(tag) < 0xE007F)
        what = f"has {len(tags)} invisible tag characters, which spell {excerpt(spelt)}"
        yield Mark(True, Kind.HIDDEN, what, around(spelt, 0, len(spelt)))
    told: set[str] = set()
    for hard, what, pattern in _RUNS:
        if (found := pattern.search(plain)) and not told & {what, f"runs of {what}"}:
            told.add(what)
            yield _mark(hard, Kind.HIDDEN, what, plain, found, pattern)
    yield from _directions(plain)
    yield from _zero_width(plain)


def _hides(run: re.Match[str]) -> bool:
    blank, more = run.group(), run.end() < len(run.string)
    return more and (blank.count("\n") >= 40 or len(blank) >= 200)


def _directions(text: str) -> Iterator[Mark]:
    written = _RIGHT_TO_LEFT.search(text) is not None
    for hard, what, pattern in (
        (True, "characters that turn the direction of the text around", _OVERRIDES),
        (not written, "characters that set the direction of the text", _EMBEDDINGS),
    ):
        if found := pattern.search(text):
            yield _mark(hard, Kind.DIRECTION, what, text, found, pattern)
    if not written and (found := _MARKS.search(text)):
        yield _mark(False, Kind.DIRECTION, "marks of direction in a text that has none", text, found, _MARKS)


def _mark(hard: bool, kind: Kind, what: str, text: str, found: re.Match[str], pattern: re.Pattern[str]) -> Mark:
    listed = _listed("".join(pattern.findall(text)))
    return Mark(hard, kind, f"has {what} ({listed})", around(text, found.start(), found.end()))


def _zero_width(text: str) -> Iterator[Mark]:
    """A stray one comes with text copied from a page. Runs, or many of several kinds, are how a message is spelt."""
    found: list[str] = []
    first, longest = -1, 0
    for run in _ZERO_WIDTH.finditer(text):
        if _belongs(text, run.start(), run.end()):
            continue
        first = run.start() if first < 0 else first
        found.append(run.group())
        longest = max(longest, run.end() - run.start())
    if found:
        strays = "".join(found)
        spelt = longest >= 3 or (len(strays) >= 8 and len({*strays}) >= 2)
        what = f"has characters without width ({_listed(strays)})"
        yield Mark(spelt, Kind.HIDDEN, what, around(text, first, first + 1))


def _belongs(text: str, start: int, end: int) -> bool:
    """One character between letters of a script that needs it, or joining two pictures; or a mark before the text."""
    if end - start > 1:
        return False
    if text[start] == "\ufeff":
        return start == 0
    before, after = text[start - 1 : start], text[end : end + 1]
    if _JOINING.match(before) or _JOINING.match(after):
        return True
    return text[start] == "\u200d" and bool(_PICTURES.match(before)) and bool(_PICTURES.match(after))


def _listed(found: str) -> str:
    counted = Counter(found).most_common(3)
    return ", ".join(f"{count} of U+{ord(char):04X} {unicodedata.name(char, 'unnamed')}" for char, count in counted)
