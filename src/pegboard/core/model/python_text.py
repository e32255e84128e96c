"""Parses Python from agents and bundles without letting its warnings reach the log."""

import ast
import re
import warnings
from typing import Final

AGENT_FILE: Final = "<agent>"
"""The file name under which Python would print the warnings of such a text."""
_PATTERN: Final = re.escape(AGENT_FILE)


def parse_python(text: str | bytes, mode: str = "exec") -> ast.AST:
    """As `ast.parse`, and raises as it does. A text of 60 kB could otherwise print half a megabyte of SyntaxWarnings.

    The filter is for this file name alone and stays: `warnings.catch_warnings` is not safe with several threads.
    """
    first = warnings.filters[0][3] if warnings.filters else None
    if getattr(first, "pattern", None) != _PATTERN:
        # The first that fits decides, so it must stand before what others put there.
        warnings.filterwarnings("ignore", module=_PATTERN)
    return ast.parse(text, AGENT_FILE, mode)


def parse_module(text: str | bytes) -> ast.Module:
    tree = parse_python(text)
    assert isinstance(tree, ast.Module), "what mode exec gives"
    return tree


def literal_value(text: str) -> object:
    """As `ast.literal_eval`, and raises as it does."""
    return ast.literal_eval(parse_python(text.lstrip(" \t"), "eval"))
