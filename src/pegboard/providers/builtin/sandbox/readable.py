"""Programs read as Python, once for all that is told of them before they run. What takes too long is not read."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pegboard.core.python_text import parse_module
from pegboard.ports.sandbox import SandboxFunction

from .awaiting import AwaitAnalysis
from .scopes import AnalysisLimitError, Scopes

_MAX_BRACKET_DEPTH: Final = 100
"""Brackets within brackets. What is nested deeper is not read here."""
_BRACKETS: Final = re.compile(r"[()\[\]{}]")
_LONG_PREFIX_RUN: Final = re.compile(r"(?:(?:[-+~]|\bnot\b|\bawait\b)[ \t\\\n]*){50}")
_MAX_OCCURRENCES: Final = {"lambda": 100, " else ": 300, "**": 300, "elif": 300}
"""What each may stand in the one before, and how often nobody writes it."""
UNREADABLE_ERRORS: Final = (SyntaxError, ValueError, RecursionError, MemoryError, AnalysisLimitError)


@dataclass(frozen=True)
class ParsedProgram:
    scopes: Scopes
    awaits: AwaitAnalysis


def parse_program(
    text: str, functions: Iterable[SandboxFunction], begun: frozenset[str] = frozenset()
) -> ParsedProgram | None:
    """`None` of what Python cannot read, or takes too long to. What is `begun` need not be awaited to run."""
    if _is_too_deep(text):
        return None
    try:
        scopes = Scopes(parse_module(text))
    except UNREADABLE_ERRORS:
        return None
    return ParsedProgram(
        scopes, AwaitAnalysis(scopes, frozenset((each.module, each.name) for each in functions), begun)
    )


def _is_too_deep(text: str) -> bool:
    """Whether a parser might need more of a thread's stack than there is."""
    if _LONG_PREFIX_RUN.search(text) or any(text.count(word) > most for word, most in _MAX_OCCURRENCES.items()):
        return True
    depth = 0
    for character in _BRACKETS.findall(text):
        depth += 1 if character in "([{" else -1
        if depth > _MAX_BRACKET_DEPTH:
            return True
    return False
