"""What calls gave, as a model is told it: bounded, with both ends kept, and with the schema beside every error.

A small model does not look back. What it needs to do better stands where it reads what went wrong.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from pegboard.core.json.values import materialize
from pegboard.core.model.references import closest_names
from pegboard.core.model.settings import DEFAULT_RESULT_CHARS, MIN_RESULT_CHARS
from pegboard.prompts.events import BrokenCallEvent
from pegboard.prompts.formats import Format, FormatMessage, FormattedResult
from pegboard.prompts.tool_shape import ToolShape

_TAIL_SHARE: Final = 3
"""One part of so many is kept of the end: results tell what they are at their beginning."""
_LINE_BREAK_SHARE: Final = 10
"""A cut moves back to the end of a line within one part of so many."""
_MAX_NAMED: Final = 20
EMPTY_RESULT: Final = "The tool gave back nothing."


def shorten_result(text: str, limit: int = DEFAULT_RESULT_CHARS) -> str:
    """At most so many characters: of a longer text both ends, and between them how much was cut. No less than
    `MIN_RESULT_CHARS`, in which that can be said."""
    limit = max(limit, MIN_RESULT_CHARS)
    if len(text) <= limit:
        return text
    room = limit - len(_cut_notice(text, len(text), text.count("\n") + 1))
    tail = room // _TAIL_SHARE
    head = _line_end(text, room - tail)
    start = _line_start(text, len(text) - tail)
    gap = text[head:start]
    return text[:head] + _cut_notice(text, len(gap), gap.strip("\n").count("\n") + 1) + text[start:]


def format_result(name: str, text: str, *, id: str = "", limit: int = DEFAULT_RESULT_CHARS) -> FormattedResult:
    """What a tool gave back."""
    return FormattedResult(name, shorten_result(text, limit) or EMPTY_RESULT, id)


def format_error(
    name: str, why: str, shape: ToolShape | None = None, *, id: str = "", limit: int = DEFAULT_RESULT_CHARS
) -> FormattedResult:
    """What went wrong with a call, and how its tool is called."""
    schema = "" if shape is None else _schema(shape, limit)
    said = shorten_result(why.strip() or "The call failed.", max(limit - len(schema), MIN_RESULT_CHARS))
    return FormattedResult(name, said + schema, id, is_error=True)


def format_unknown_tool(name: str, known: Iterable[str], *, id: str = "", search: str = "") -> FormattedResult:
    """A call of what is no tool here, with the names that are near. `search` finds others, where there is one."""
    names = [*dict.fromkeys(known)]
    near = closest_names(name, names)
    told = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" There are: {_list_names(names)}."
    more = f" Find others with {search}." if search else ""
    return FormattedResult(
        name, f"There is no tool {name[:200]!r}, so nothing was called.{told if names else ''}{more}", id, is_error=True
    )


def format_broken_calls(
    broken: Sequence[BrokenCallEvent], format: Format, tools: Sequence[ToolShape], limit: int = DEFAULT_RESULT_CHARS
) -> FormatMessage:
    """What looked like calls and were none: what was wrong, what was written, and how it is written right."""
    each = [f"{one.why}\nYou wrote: {shorten_result(one.raw.strip(), MIN_RESULT_CHARS)}" for one in broken]
    meant = [tool for tool in tools if any(tool.name in one.raw for one in broken)]
    schemas = "".join(_schema(tool, limit // max(len(meant), 1)) for tool in meant)
    said = shorten_result("\n\n".join(each), limit)
    return FormatMessage("user", f"{said}{schemas}\n\n{format.instructions(tools)}")


def _schema(shape: ToolShape, limit: int) -> str:
    text = json.dumps(dict(shape.parameters), ensure_ascii=False, default=materialize)
    return (
        f"\n\n{shape.name} takes these arguments (JSON "
        f"Schema):\n{shorten_result(text, max(limit // 2, MIN_RESULT_CHARS))}"
    )


def _cut_notice(text: str, characters: int, lines: int) -> str:
    return (
        f"\n[… {characters} of {len(text)} characters, about {lines} lines, were cut here. Ask for less, or for "
        "another part, if you need them. …]\n"
    )


def _line_end(text: str, at: int) -> int:
    """The end of a line shortly before a place, if there is one; else the place."""
    found = text.rfind("\n", at - at // _LINE_BREAK_SHARE, at)
    return at if found < 0 else found


def _line_start(text: str, at: int) -> int:
    found = text.find("\n", at, at + (len(text) - at) // _LINE_BREAK_SHARE)
    return at if found < 0 else found + 1


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}"
