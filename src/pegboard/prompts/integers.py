"""Integers in model outputs, exact at any length."""

import re
from typing import Final

MAX_INTEGER_DIGITS: Final = 4300
"""Python reads and writes no longer integer as decimal text, because that would cost quadratic time."""
LEADING_ZEROS: Final = "a number that begins with 0 was read as text"
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9_]*[0-9]\Z", re.ASCII).match


def read_integer(text: str, base: int = 10) -> int | None:
    """The integer that a text of digits is, or None: it is none, or longer than `MAX_INTEGER_DIGITS`."""
    if len(text) > MAX_INTEGER_DIGITS:
        return None
    try:
        value = int(text, base)
        # Python's own limit can be set lower, and a number in base 16 has more digits in base 10.
        if base != 10:
            str(value)
    except ValueError:
        return None
    return value


def has_leading_zero(text: str) -> bool:
    """Whether digits begin with a zero too many. `00123` may be a number or a code, and 123 would not be that code."""
    return _LEADING_ZERO(text) is not None
