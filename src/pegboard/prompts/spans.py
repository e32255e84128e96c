"""A code block that is exactly one call of a tool that programs cannot call."""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.json.values import Json
from pegboard.core.model.python_text import parse_module
from pegboard.prompts.events import (
    BrokenCallEvent,
    CallDoneEvent,
    Markup,
    OutputEvent,
    ParsedCall,
    TextEvent,
    ThinkingEvent,
    join_events,
)
from pegboard.prompts.formats import Format
from pegboard.prompts.tool_shape import ToolShape

# A model's answer in pieces that lie one behind the other: which characters are text, thinking, a call, or broken.


@dataclass(frozen=True, slots=True)
class OutputSpan:
    """From `start` up to but without `end`, in characters."""

    kind: str
    """`text`, `thinking`, `markup`, `call` or `broken`."""
    start: int
    end: int
    call: ParsedCall | None = None
    why: str = ""
    """Of what is broken: what was wrong with it, in words for the model."""


def output_spans(
    format: Format, text: str, tools: Sequence[ToolShape], *, in_thinking: bool = False
) -> tuple[OutputSpan, ...]:
    """The whole text, in order. Several calls in one piece of text have that piece in common."""
    scanner = format.scanner(tools, in_thinking=in_thinking)
    return tuple(_spans(join_events([*scanner.feed(text), *scanner.finish()])))


def _spans(events: Iterable[OutputEvent]) -> Iterable[OutputSpan]:
    at, began = 0, 0
    for event in events:
        match event:
            case CallDoneEvent(_, call):
                # The next of several in one piece has nothing of its own, and neither has one that stood in thinking.
                began = at if call.raw else began
                at += len(call.raw)
                yield OutputSpan("call", began, at, call)
                continue
            case TextEvent(said):
                yield OutputSpan("text", at, at := at + len(said))
            case ThinkingEvent(said):
                yield OutputSpan("thinking", at, at := at + len(said))
            case Markup(said):
                yield OutputSpan("markup", at, at := at + len(said))
            case BrokenCallEvent(said, why):
                yield OutputSpan("broken", at, at := at + len(said), why=why)
            case _:
                continue
        began = at


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
