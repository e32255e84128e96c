"""How deep a JSON text is nested and how many values it has: found without building anything, and in pieces, so that
other threads get on."""

import re
from collections.abc import Iterator
from typing import Final

from .folded import Json

MAX_VALUES: Final = 1_000_000
"""In one request, unless the operator says otherwise: a table of 50,000 rows has a third of them."""

MAX_READABLE_DEPTH: Final = 150
"""Levels of a result that every client can be expected to read."""

# Possessive throughout: a text that ends within a string full of quotes would be tried from each of them otherwise.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_WHOLE: Final = re.compile(rb'(?:[^"]*+' + _STRING.pattern + rb')*+[^"]*+', re.DOTALL)
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_NON_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_PIECE_BYTES: Final = 65_536
_TOKEN: Final = re.compile(_STRING.pattern + rb"|[\[\]{}]", re.DOTALL)
MAX_TOKENS: Final = 500_000
"""Texts and brackets that are looked at to find what stands outside: a fraction of a second."""


def is_deeper_than(levels: int, text: bytes) -> bool:
    """Of JSON. Exact, and cheap for what is flat or small."""
    if len(text) <= levels or text.count(b"[") + text.count(b"{") <= levels:
        return False
    depth = 0
    for piece in _without_strings(text):
        highest, depth = _climb(depth, piece.translate(_BRACKETS, _NON_BRACKETS), levels)
        if highest > levels:
            return True
    return False


def flatten_members(text: bytes) -> bytes | None:
    """A JSON object with `null` in place of each list and object in it; `None` for what is none, or too long to say.

    Nothing is built and nothing recurses, so no depth is too much.
    """
    kept: list[bytes] = []
    depth = start = 0
    for number, token in enumerate(_TOKEN.finditer(text)):
        if number >= MAX_TOKENS:
            return None
        bracket = text[token.start()]
        if bracket in b"[{":
            depth += 1
            if depth == 2:
                kept += (text[start : token.start()], b"null")
        elif bracket in b"]}":
            depth -= 1
            if depth == 1:
                start = token.end()
            elif depth < 0:
                return None
    return None if depth else b"".join((*kept, text[start:]))


def has_more_values_than(most: int, text: bytes) -> bool:
    """Of JSON, lists and objects counted as well. Costs next to nothing for a text of fewer bytes, or of long texts."""
    if len(text) <= most or _separators(text) < most:
        return False
    found = 1
    for piece in _without_strings(text):
        found += _separators(piece)
        if found > most:
            return True
    return False


def count_values(value: Json, most: int) -> int:
    """How many values this one has, itself, lists and objects counted as well. No further than to more than `most`."""
    found, left = 1, [value]
    while left and found <= most:
        outer = left.pop()
        if isinstance(outer, dict | list):
            found += len(outer)
            left += outer.values() if isinstance(outer, dict) else outer
    return found


def _separators(text: bytes) -> int:
    """One before each value but the first of all. An empty list or object is counted for two."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _without_strings(text: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(text):
        end = min(start + _PIECE_BYTES, len(text))
        # Up to a string that the piece cuts in two, if it does.
        whole = _WHOLE.match(text, start, end)
        assert whole is not None, "it matches nothing, too"
        yield _STRING.sub(b"", whole.group())
        start = whole.end()
        if start < end:
            string = _STRING.match(text, start)
            if string is None:
                return  # it ends within a string, so it is no JSON
            start = string.end()


def _climb(depth: int, brackets: bytes, levels: int) -> tuple[int, int]:
    """The highest level on the way, or one that is no lower but within the bound, and the level at the end."""
    rest, rounds = brackets, 0
    while rounds <= levels and len(inner := rest.replace(b"[]", b"")) < len(rest):
        rest, rounds = inner, rounds + 1
    closing = rest.count(b"]")
    end = depth + len(rest) - 2 * closing
    if max(depth, end) + rounds <= levels:
        return max(depth, end) + rounds, end
    highest = depth
    for bracket in brackets:
        depth += 1 if bracket == 91 else -1
        highest = max(highest, depth)
    return highest, depth
