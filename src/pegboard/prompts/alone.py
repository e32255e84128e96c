"""A block of code that is one call and nothing else, of a tool that no program can call by itself."""

import ast
import re
from collections.abc import Sequence
from typing import Final

from pegboard.core.folded import Json
from pegboard.core.python_text import parse_module

from .events import ParsedCall
from .shapes import ToolShape

_MAX_CODE_LENGTH: Final = 4_000
_MAX_BRACKETS: Final = 100
"""What is nested deeper is never read: a parser has its bounds, and this is not the place to find them."""
_BRACKETS: Final = re.compile(r"[\[({]")
_START: Final = re.compile(r"\s*(?:print\s*\(\s*)?(?:await\s+)?([A-Za-z_]\w*)\s*\(", re.ASCII)


def parse_lone_call(code: str, tools: Sequence[ToolShape]) -> ParsedCall | None:
    """`tool_search(query="…")`, also within print, also awaited: with values that stand there as they are."""
    start = _START.match(code) if len(code) <= _MAX_CODE_LENGTH else None
    if start is None or len(_BRACKETS.findall(code)) > _MAX_BRACKETS:
        return None
    name = start.group(1)
    if not any(tool.name == name and tool.stub is None for tool in tools):
        return None
    try:
        body = parse_module(code.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    call = _call(body[0].value) if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if call is None or not isinstance(call.func, ast.Name) or call.func.id != name or call.args:
        return None
    arguments: dict[str, Json] = {}
    for each in call.keywords:
        try:
            value = ast.literal_eval(each.value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return None
        if each.arg is None or not _is_json(value):
            return None
        arguments[each.arg] = value
    return ParsedCall(name, arguments)


def _call(node: ast.expr) -> ast.Call | None:
    while isinstance(node, ast.Await) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ):
        if isinstance(node, ast.Await):
            node = node.value
        elif len(node.args) == 1 and not node.keywords:
            node = node.args[0]
        else:
            return None
    return node if isinstance(node, ast.Call) else None


def _is_json(value: object) -> bool:
    match value:
        case None | bool() | int() | float() | str():
            return True
        case list():
            return all(map(_is_json, value))
        case dict():
            return all(isinstance(key, str) and _is_json(each) for key, each in value.items())
        case _:
            return False
