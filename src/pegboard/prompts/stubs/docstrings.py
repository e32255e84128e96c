"""Descriptions as docstrings. They come from servers that nobody vouches for, and none ends the string it stands in."""

import re
from collections.abc import Iterable
from typing import Final

MAX_DOCSTRING_LENGTH: Final = 1_600
MAX_LINE_LENGTH: Final = 300
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
_LINE_ENDS: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANKS: Final = re.compile(r"\s+")
_QUOTES: Final = re.compile(r'"{3,}|"+\Z')
"""That would end the string."""
_LINES: Final = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def format_docstring(description: str, lines: Iterable[str], indent: str = "    ") -> str:
    """The whole statement, `""` where there is nothing to say."""
    text = _cut_text(_LINES.sub("\n\n", _clean_text(description).strip()), MAX_DOCSTRING_LENGTH)
    said = [*text.split("\n"), *filter(None, map(one_line, lines))]
    body = "\n".join(line.rstrip() and f"{indent}{line.rstrip()}" for line in said).strip()
    if not body:
        return ""
    quoted = _QUOTES.sub(lambda found: '\\"' * len(found.group()), body.replace("\\", "\\\\"))
    end = f"\n{indent}" if "\n" in quoted else ""
    return f'{indent}"""{quoted}{end}"""'


def one_line(text: str) -> str:
    return _cut_text(_BLANKS.sub(" ", _clean_text(text)).strip(), MAX_LINE_LENGTH)


def _clean_text(text: str) -> str:
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", text[: 8 * MAX_DOCSTRING_LENGTH]))


def _cut_text(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
