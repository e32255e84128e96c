"""Descriptions as docstrings. They come from servers that nobody vouches for, and none ends the string it stands in."""

import re
from collections.abc import Iterable
from typing import Final

LONGEST: Final = 1_600
LONGEST_LINE: Final = 300
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
_ENDS: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANKS: Final = re.compile(r"\s+")
_QUOTES: Final = re.compile(r'"{3,}|"+\Z')
"""That would end the string."""
_LINES: Final = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def docstring(description: str, lines: Iterable[str], indent: str = "    ") -> str:
    """The whole statement, `""` where there is nothing to say."""
    text = _cut(_LINES.sub("\n\n", _cleaned(description).strip()), LONGEST)
    said = [*text.split("\n"), *filter(None, map(one_line, lines))]
    body = "\n".join(line.rstrip() and f"{indent}{line.rstrip()}" for line in said).strip()
    if not body:
        return ""
    quoted = _QUOTES.sub(lambda found: '\\"' * len(found.group()), body.replace("\\", "\\\\"))
    end = f"\n{indent}" if "\n" in quoted else ""
    return f'{indent}"""{quoted}{end}"""'


def one_line(text: str) -> str:
    return _cut(_BLANKS.sub(" ", _cleaned(text)).strip(), LONGEST_LINE)


def _cleaned(text: str) -> str:
    return _CONTROLS.sub("", _ENDS.sub("\n", text[: 8 * LONGEST]))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
