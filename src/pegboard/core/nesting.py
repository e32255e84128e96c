"""How deep a JSON text is nested: found without building anything, and in pieces, so that other threads get on."""

import re
from typing import Final

_STRINGS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_OTHERS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_PIECE: Final = 65_536


def deeper_than(levels: int, text: bytes) -> bool:
    """Of JSON. Exact, and cheap for what is flat or small."""
    if len(text) <= levels or text.count(b"[") + text.count(b"{") <= levels:
        return False
    depth = start = 0
    while start < len(text):
        piece = _STRINGS.sub(b"", text[start : start + _PIECE])
        # The one quote that is left, if any, begins a string that the piece cuts in two.
        whole, quote, cut = piece.partition(b'"')
        highest, depth = _climb(depth, whole.translate(_BRACKETS, _OTHERS), levels)
        if highest > levels:
            return True
        start = min(start + _PIECE, len(text)) - len(quote) - len(cut)
        if quote:
            string = _STRINGS.match(text, start)
            if string is None:
                return False  # it ends within a string, so it is no JSON
            start = string.end()
    return False


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
