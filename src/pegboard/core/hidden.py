"""Characters that a person reading a text does not see but a model does, or that make it look like another text.

Scripts need some of them: joiners in Persian, Hindi and emoji, marks in Hebrew and Arabic, breaks in Thai. Those are
let pass where such a script stands beside them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
_FLAGS: Final = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
"""England, Scotland and Wales: the only emoji that are spelt with tags."""

_OVERRIDES: Final = re.compile("[\u202d\u202e]")
_EMBEDDINGS: Final = re.compile("[\u202a-\u202c\u2066-\u2069]")
_MARKS: Final = re.compile("[\u200e\u200f\u061c]")
_ESCAPES: Final = re.compile("[\x1b\x90\x9b\x9d]")
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_ODD_CONTROLS: Final = re.compile("[\x0b\x0c\x80-\x8f\x91-\x9a\x9c\x9e\x9f]")
_ANNOTATIONS: Final = re.compile("[\ufff9-\ufffb]")
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}")
_ZERO_WIDTH: Final = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff\u180e]+")
_FILLERS: Final = re.compile("[\u00ad\u115f\u1160\u3164\uffa0\u2800]")
_HALVES: Final = re.compile("[\ud800-\udfff]")
_BLANKS: Final = re.compile(r"\s{40,}+")

_ANY: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2069\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
)

_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_JOINING: Final = re.compile("[\u0600-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u18af\ua840-\uabff\ufb50-\ufefc]")
"""Scripts in which joiners, non-joiners and invisible breaks are part of the spelling."""
_PICTURES: Final = re.compile("[\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff]")


@dataclass(frozen=True, slots=True)
class Hidden:
    """`hard` is what no ordinary text has."""

    hard: bool
    what: str


def hidden(text: str) -> Iterator[Hidden]:
    if any(_hides(run) for run in _BLANKS.finditer(text)):
        yield Hidden(False, "a long stretch of blank space with text behind it")
    if _ANY.search(text) is None:
        return
    plain = _FLAGS.sub("", text)
    if tags := "".join(_TAGS.findall(plain)):
        spelt = "".join(chr(ord(tag) - 0xE0000) for tag in tags if 0xE0020 <= ord(tag) < 0xE007F)
        yield Hidden(True, f"{len(tags)} invisible tag characters, which spell {excerpt(spelt)}")
    for hard, pattern, what in (
        (True, _ESCAPES, "terminal escapes"),
        (True, _CONTROLS, "control characters"),
        (False, _ODD_CONTROLS, "control characters"),
        (True, _OVERRIDES, "characters that turn the direction of the text around"),
        (True, _ANNOTATIONS, "invisible annotations"),
        (True, _SELECTORS, "runs of invisible selectors"),
        (False, _FILLERS, "letters that show as nothing"),
        (False, _HALVES, "halves of characters"),
    ):
        if found := pattern.findall(plain):
            yield Hidden(hard, f"{what} ({_listed(found)})")
    yield from _directions(plain)
    yield from _zero_width(plain)


def visible(text: str) -> str:
    """The text without what does not show, so that nothing is hidden by being interrupted."""
    return _ANY.sub("", text) if _ANY.search(text) else text


def excerpt(text: str, longest: int = 24) -> str:
    """Enough to recognise it by: short, on one line, with nothing in it that does not show."""
    cut = text[:longest]
    shown = cut if cut.isprintable() else cut.encode("unicode_escape", "surrogatepass").decode("ascii")[: 2 * longest]
    return f"{shown!r}…" if len(text) > longest else f"{shown!r}"


def _hides(run: re.Match[str]) -> bool:
    blank, more = run.group(), run.end() < len(run.string)
    return more and (blank.count("\n") >= 40 or len(blank) >= 200)


def _directions(text: str) -> Iterator[Hidden]:
    written = _RIGHT_TO_LEFT.search(text) is not None
    if found := _EMBEDDINGS.findall(text):
        yield Hidden(not written, f"characters that set the direction of the text ({_listed(found)})")
    if not written and (found := _MARKS.findall(text)):
        yield Hidden(False, f"marks of direction in a text that has none ({_listed(found)})")


def _zero_width(text: str) -> Iterator[Hidden]:
    """A stray one comes with text copied from a page. Runs, or many of several kinds, are how a message is spelt."""
    found: list[str] = []
    longest = 0
    for run in _ZERO_WIDTH.finditer(text):
        if _belongs(text, run.start(), run.end()):
            continue
        found += run.group()
        longest = max(longest, run.end() - run.start())
    if found:
        spelt = longest >= 3 or (len(found) >= 8 and len({*found}) >= 2)
        yield Hidden(spelt, f"characters without width ({_listed(found)})")


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


def _listed(found: list[str]) -> str:
    counted = Counter("".join(found)).most_common(3)
    return ", ".join(f"{count} of U+{ord(char):04X} {unicodedata.name(char, 'unnamed')}" for char, count in counted)
