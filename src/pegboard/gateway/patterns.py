"""What a pattern may cost: how large it becomes when its repetitions are written out, and what a search then takes."""

import re
from typing import Final

from .measure import TextSizes

MAX_COUNT: Final = 10**9
"""Counting ends here."""

_UNICODE_CLASS_SIZE: Final = 500
"""What a class of Unicode, as `\\p{L}`, is compiled into."""

_BACKTRACK_LIMIT: Final = 1000
"""For each text and part: a search that goes back and forth is stopped after its backtracks, not before."""

_PATTERN_PARTS: Final = re.compile(
    r"\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<least>\d{1,9})(?P<open>,(?P<most>\d{0,9}))?\}|.", re.DOTALL
)


def expanded_size(pattern: str, *, compiled: bool = False) -> int:
    """Its parts, with each repetition counted as often as it may occur; compiled, a class counts by its size.

    An upper bound for the searches that keep all parts alive at once; what is no pattern is counted as text.
    """
    # Where a pattern looks around, its words are those of Unicode too.
    large = re.compile(r"\\[pPwW]" if "(?" in pattern else r"\\[pP]")
    totals, last = [0], 0
    for part in _PATTERN_PARTS.finditer(pattern):
        text = part.group()
        if text == "(":
            totals[-1] += last
            totals.append(0)
            last = 0
        elif text == ")" and len(totals) > 1:
            last = max(1, totals.pop() + last)
        elif part["least"] is not None:
            last *= max(1, int(part["most"] or part["least"]))
        else:
            totals[-1] += last
            last = 1 + (_UNICODE_CLASS_SIZE * len(large.findall(text)) if compiled else 0)
        last = min(last, MAX_COUNT)
    return min(sum(totals) + last, MAX_COUNT)


def search_steps(parts: int, texts: TextSizes, *, back_and_forth: bool) -> int:
    """Of holding patterns of so many parts against every text."""
    if back_and_forth:
        return parts * (texts.characters * texts.longest // 8 + texts.count * _BACKTRACK_LIMIT)
    return parts * texts.characters
