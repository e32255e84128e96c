"""Characters that draw nothing, or that change how others are drawn: one list for core, CLI and web UI.

What a person decides by must be what is there, so such characters are written out as visible escapes. `web/build.py`
loads this file by its path and writes the same patterns for TypeScript: it imports the standard library only.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

HIDDEN: Final[Ranges] = (
    (0x0000, 0x0008),  # controls, but for tab and line feed
    (0x000B, 0x001F),
    (0x007F, 0x009F),
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x0600, 0x0605),  # Arabic signs that enclose what follows
    (0x061C, 0x061C),  # Arabic letter mark
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer vowels without a form
    (0x180B, 0x180F),  # Mongolian selectors and vowel separator
    (0x200B, 0x200F),  # zero width, joiners, marks of direction
    (0x2028, 0x202E),  # line separators, embeddings, overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates
    (0x2800, 0x2800),  # braille without a dot
    (0x2D7F, 0x2D7F),  # Tifinagh consonant joiner
    (0x3164, 0x3164),  # Hangul filler
    (0xD800, 0xF8FF),  # halves of characters, private use
    (0xFDD0, 0xFDEF),  # no characters at all
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),  # Hangul filler
    (0xFFF0, 0xFFFC),  # annotations, object replacement
    (0xFFFE, 0xFFFF),
    (0x1107F, 0x1107F),  # Brahmi number joiner
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),  # hieroglyph controls
    (0x16FE4, 0x16FE4),  # Khitan filler
    (0x1BCA0, 0x1BCA3),  # shorthand format controls
    (0x1D159, 0x1D159),  # musical null notehead
    (0x1D173, 0x1D17A),  # musical format controls
    (0xE0000, 0xE0FFF),  # tags, further variation selectors
    (0xF0000, 0x10FFFF),  # private use
)
"""In order, without overlap."""

ODD_SPACES: Final[Ranges] = (
    (0x00A0, 0x00A0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
"""They look like a space and are none to a program. Ordinary in prose; never in a name or in what is decided on."""

_JOINED_SCRIPTS: Final[Ranges] = (
    (0x0600, 0x0DFF),
    (0x0E00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x18AF),
    (0xA840, 0xABFF),
    (0xFB50, 0xFEFC),
)
"""Scripts that are spelt with joiners and non-joiners, such as Persian and Hindi."""

_EMOJI: Final[Ranges] = (
    (0x00A9, 0x00A9),
    (0x00AE, 0x00AE),
    (0x203C, 0x203C),
    (0x2049, 0x2049),
    (0x2122, 0x2122),
    (0x2139, 0x2139),
    (0x2190, 0x21FF),
    (0x2300, 0x23FF),
    (0x2460, 0x24FF),
    (0x25A0, 0x27BF),
    (0x2900, 0x297F),
    (0x2B00, 0x2BFF),
    (0x3030, 0x3030),
    (0x303D, 0x303D),
    (0x3297, 0x3297),
    (0x3299, 0x3299),
    (0x1F000, 0x1FAFF),
)


def strict_pattern(*, for_javascript: bool = False) -> str:
    """Every hidden character and every odd space: for names, and for what a person decides on."""
    return f"[{_character_class((*HIDDEN, *ODD_SPACES), for_javascript)}]"


def prose_pattern(*, for_javascript: bool = False) -> str:
    """Hidden characters, but for the joiners and selectors that emoji and some scripts are written with."""

    def class_of(*ranges: tuple[int, int]) -> str:
        return _character_class(ranges, for_javascript)

    hidden, pictures = class_of(*HIDDEN), class_of(*_EMOJI)
    scripts = class_of(*_subtract_ranges(_JOINED_SCRIPTS, HIDDEN))
    joiner, joiners = class_of((0x200D, 0x200D)), class_of((0x200C, 0x200D))
    selector, selectors, keycap = class_of((0xFE0F, 0xFE0F)), class_of((0xFE0E, 0xFE0F)), class_of((0x20E3, 0x20E3))
    natural = (
        f"(?<=[{pictures}{selector}])[{joiner}](?=[{pictures}])",
        f"(?<=[{scripts}])[{joiners}](?![{hidden}])",
        f"(?<=[{pictures}])[{selectors}]",
        f"(?<=[0-9#*])[{selector}](?=[{keycap}])",
    )
    # The class comes first as well: at most characters nothing else is tried.
    return f"(?=[{hidden}])(?!{'|'.join(natural)})[{hidden}]"


def escape_strictly(text: str) -> str:
    """With every hidden character and odd space written out. Line feeds and tabs stay."""
    return text if _is_plain(text) else _STRICT.sub(_escape, text)


def escape_prose(text: str) -> str:
    """For descriptions, where nothing is decided: emoji and joined scripts stay as they are written."""
    return text if _is_plain(text) else _PROSE.sub(_escape, text)


def escape_json(text: str) -> str:
    """The same JSON document, with hidden characters and odd spaces in its strings as JSON escapes."""
    return text if _is_plain(text) else _STRICT.sub(_json_escape, text)


def escape_name(name: str) -> str:
    """On one line, with spaces at either end written out as well: no other name looks like it."""
    if _is_plain(name) and " " not in name:
        return name
    return escape_outer_spaces(escape_strictly(name).replace("\n", "\\n").replace("\t", "\\t"))


def escape_outer_spaces(line: str) -> str:
    """With spaces at either end written out, and those at the beginning of a name within the id of a tool."""
    return _OUTER_SPACES.sub(_escape_spaces, line) if " " in line else line


def outer_space_pattern() -> str:
    """One space of those that `escape_outer_spaces` writes out. In the dialect of JavaScript alone, where what stands
    before may have any length."""
    return f"(?<=^(?:{_ID_PREFIX})? *) | (?= *$)"


def is_deceptive_name(name: str) -> bool:
    """Whether it holds what does not show, or begins or ends with a space of any kind."""
    return name != name.strip() or (not _is_plain(name) and _NOT_IN_NAMES.search(name) is not None)


def remove_hidden(text: str) -> str:
    """Without hidden characters: what is left is what shows."""
    return text if _is_plain(text) else _HIDDEN.sub("", text)


def first_hidden(text: str) -> str | None:
    """The code of the first hidden character, as in `U+202E`."""
    found = None if _is_plain(text) else _HIDDEN.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def hidden_class(but: str = "") -> str:
    """The inside of a character class with all hidden characters but these."""
    return _character_class(_subtract_ranges(HIDDEN, tuple((ord(each), ord(each)) for each in but)), False)


def _character_class(ranges: Iterable[tuple[int, int]], for_javascript: bool) -> str:
    def escape_code(code: int) -> str:
        return f"\\u{{{code:x}}}" if for_javascript else f"\\U{code:08x}"

    return "".join(
        escape_code(first) if first == last else f"{escape_code(first)}-{escape_code(last)}" for first, last in ranges
    )


def _subtract_ranges(ranges: Ranges, taken: Ranges) -> Ranges:
    def remaining_ranges() -> Iterator[tuple[int, int]]:
        for first, last in ranges:
            for start, end in sorted(taken):
                if end < first or start > last:
                    continue
                if first < start:
                    yield first, start - 1
                first = end + 1
            if first <= last:
                yield first, last

    return tuple(remaining_ranges())


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _escape_spaces(found: re.Match[str]) -> str:
    before, *spaces = found.groups("")
    return before + "\\x20" * len("".join(spaces))


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def _json_escape(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


_ID_PREFIX: Final = "mcp:[^: ]+:"
_OUTER_SPACES: Final = re.compile(rf"^((?:{_ID_PREFIX})?)( +)|( +)$")
_HIDDEN: Final = re.compile(f"[{hidden_class()}]")
_STRICT: Final = re.compile(strict_pattern())
_PROSE: Final = re.compile(prose_pattern())
_NOT_IN_NAMES: Final = re.compile(f"{strict_pattern()}|[\\n\\t]")
