"""How many values a JSON text holds, told without making a single one of them.

A few bytes of text can become many of memory: two brackets are an object of sixty. Whoever reads a text of a stranger
counts first.
"""

import re
from typing import Final

MOST_VALUES: Final = 200_000
SMALL: Final = 65_536
"""Bytes of text that need no counting."""

# The end of a text ends a string too, so that nothing is looked at twice, whatever it holds.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def holds_too_much(text: bytes) -> bool:
    if len(text) <= SMALL:
        return False
    bare = _STRING.sub(b"", text)
    return bare.count(b",") + bare.count(b"[") + bare.count(b"{") > MOST_VALUES
