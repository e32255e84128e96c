"""Letters that look like others: a word of two alphabets, or one in letters made for mathematics."""

# such letters are what this module is about

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from .excerpt import excerpt_around, make_excerpt, remove_invisible
from .finding import ScanFindingKind, TextMark
from .words import LOOKALIKES

_MIXED_ALPHABETS: Final = re.compile(
    "(?<![^\\W\\d_])(?=[^\\W\\d_]{0,63}?[A-Za-z])(?=[^\\W\\d_]{0,63}?[\u0400-\u052f\u0370-\u03ff\u13a0-\u13ff])[^\\W\\d_]{2,64}"
)
_CYRILLIC: Final = re.compile("[\u0400-\u052f]")
_GREEK_ALONE: Final = re.compile("[\u0370-\u03ff][A-Za-z]{1,2}|[A-Za-z]{1,3}[\u0370-\u03ff]")
"""Δt, λmax, kΩ: quantities and units."""
_STYLED_LETTERS: Final = re.compile(
    "[\U0001d400-\U0001d7ff\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001f130-\U0001f189]{3,}"
    "|[ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ]{3,}"
)
_ONE_STYLED: Final = re.compile("[ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ]")
_LATIN: Final = re.compile("[A-Za-z]")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
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
    return _SEPARATORS.sub("_", _CAMEL.sub("_", alike).casefold())
