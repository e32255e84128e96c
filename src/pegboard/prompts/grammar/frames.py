"""What stands around the arguments of calls in a format: found by having the format write some."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.prompting import CODE_MODE
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import Format
from pegboard.prompts.shapes import ToolShape

_KEY: Final = "pegboard_argument"
_WRITTEN_ARGUMENTS: Final = (f'{{"{_KEY}": 0}}', f'{{"{_KEY}":0}}')
_KEYWORD: Final = f"({_KEY}=0)"


@dataclass(frozen=True)
class CallFrame:
    """Of each tool, by its name: what stands before its arguments in a first call, and in a further one."""

    first: dict[str, str]
    further: dict[str, str]
    """From the end of the arguments before to the beginning of its own."""
    last: str
    """Behind the arguments of the last call."""
    uses_keywords: bool = False
    """Whether arguments are written as in Python, name=value, between parentheses which are part of the rest."""


def find_frame(format: Format, tools: Sequence[ToolShape]) -> CallFrame | None:
    """`None` where the format writes arguments neither as one JSON object nor as keywords, or has no tool to call. In
    CodeMode a model writes programs, which are more than their calls."""
    if not tools or format.name == CODE_MODE:
        return None
    for written in (*_WRITTEN_ARGUMENTS, _KEYWORD):
        alone = [_split(format, [tool], written) for tool in tools]
        if all(parts is not None for parts in alone):
            return _build_frame(format, tools, written)
    return None


def _build_frame(format: Format, tools: Sequence[ToolShape], written: str) -> CallFrame | None:
    opens, closes = ("(", ")") if written == _KEYWORD else ("", "")
    first: dict[str, str] = {}
    further: dict[str, str] = {}
    lasts: set[str] = set()
    for tool in tools:
        alone, beside = _split(format, [tool], written), _split(format, [tools[0], tool], written)
        other = _split(format, [tools[-1], tool], written)
        if alone is None or beside is None or other is None or beside[1] != other[1]:
            return None
        first[tool.name] = alone[0] + opens
        further[tool.name] = closes + beside[1] + opens
        lasts |= {alone[1], beside[2]}
    return CallFrame(first, further, closes + lasts.pop(), written == _KEYWORD) if len(lasts) == 1 else None


def _split(format: Format, tools: Sequence[ToolShape], written: str) -> list[str] | None:
    """Calls of these tools, with their arguments taken out."""
    parts = format.calls_text([ParsedCall(tool.name, {_KEY: 0}) for tool in tools]).split(written)
    return parts if len(parts) == len(tools) + 1 else None
