"""Programs read as Python, once for all that is told of them before they run. What takes too long is not read."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pegboard.core.python_text import parse_module
from pegboard.ports.sandbox import Function

from .awaiting import Awaiting
from .scopes import Scopes, TooLarge

_DEEPEST: Final = 100
"""Brackets within brackets. What is nested deeper is not read here."""
_BRACKETS: Final = re.compile(r"[()\[\]{}]")
_PREFIXES: Final = re.compile(r"(?:(?:[-+~]|\bnot\b|\bawait\b)[ \t\\\n]*){50}")
_MANY: Final = {"lambda": 100, " else ": 300, "**": 300, "elif": 300}
"""What each may stand in the one before, and how often nobody writes it."""
UNREADABLE: Final = (SyntaxError, ValueError, RecursionError, MemoryError, TooLarge)


@dataclass(frozen=True)
class Readable:
    scopes: Scopes
    awaiting: Awaiting


def readable(text: str, functions: Iterable[Function], begun: frozenset[str] = frozenset()) -> Readable | None:
    """`None` of what Python cannot read, or takes too long to. What is `begun` need not be awaited to run."""
    if _is_deep(text):
        return None
    try:
        scopes = Scopes(parse_module(text))
    except UNREADABLE:
        return None
    return Readable(scopes, Awaiting(scopes, frozenset((each.module, each.name) for each in functions), begun))


def _is_deep(text: str) -> bool:
    """Whether a parser might need more of a thread's stack than there is."""
    if _PREFIXES.search(text) or any(text.count(word) > most for word, most in _MANY.items()):
        return True
    depth = 0
    for character in _BRACKETS.findall(text):
        depth += 1 if character in "([{" else -1
        if depth > _DEEPEST:
            return True
    return False
