"""What calls gave, as a model is told it: bounded, with both ends kept, and with the schema beside every error.

A small model does not look back. What it needs to do better stands where it reads what went wrong.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from pegboard.core.folded import plain
from pegboard.core.prompting import LEAST_RESULT, RESULT
from pegboard.core.reference import closest

from .events import Broken
from .formats import Fed, Format, Message
from .shapes import ToolShape

_TAIL: Final = 3
"""One part of so many is kept of the end: results tell what they are at their beginning."""
_NEAR: Final = 10
"""A cut moves back to the end of a line within one part of so many."""
_NAMED: Final = 20
NOTHING: Final = "The tool gave back nothing."


def shortened(text: str, limit: int = RESULT) -> str:
    """At most so many characters: of a longer text both ends, and between them how much was cut. No less than
    `LEAST_RESULT`, in which that can be said."""
    limit = max(limit, LEAST_RESULT)
    if len(text) <= limit:
        return text
    room = limit - len(_cut(text, len(text), text.count("\n") + 1))
    tail = room // _TAIL
    head = _line_end(text, room - tail)
    start = _line_start(text, len(text) - tail)
    gap = text[head:start]
    return text[:head] + _cut(text, len(gap), gap.strip("\n").count("\n") + 1) + text[start:]


def fed(name: str, text: str, *, id: str = "", limit: int = RESULT) -> Fed:
    """What a tool gave back."""
    return Fed(name, shortened(text, limit) or NOTHING, id)


def fed_error(name: str, why: str, shape: ToolShape | None = None, *, id: str = "", limit: int = RESULT) -> Fed:
    """What went wrong with a call, and how its tool is called."""
    schema = "" if shape is None else _schema(shape, limit)
    said = shortened(why.strip() or "The call failed.", max(limit - len(schema), LEAST_RESULT))
    return Fed(name, said + schema, id, failed=True)


def fed_unknown(name: str, known: Iterable[str], *, id: str = "", search: str = "") -> Fed:
    """A call of what is no tool here, with the names that are near. `search` finds others, where there is one."""
    names = [*dict.fromkeys(known)]
    near = closest(name, names)
    told = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" There are: {_listed(names)}."
    more = f" Find others with {search}." if search else ""
    return Fed(
        name, f"There is no tool {name[:200]!r}, so nothing was called.{told if names else ''}{more}", id, failed=True
    )


def told_broken(broken: Sequence[Broken], format: Format, tools: Sequence[ToolShape], limit: int = RESULT) -> Message:
    """What looked like calls and were none: what was wrong, what was written, and how it is written right."""
    each = [f"{one.why}\nYou wrote: {shortened(one.raw.strip(), LEAST_RESULT)}" for one in broken]
    meant = [tool for tool in tools if any(tool.name in one.raw for one in broken)]
    schemas = "".join(_schema(tool, limit // max(len(meant), 1)) for tool in meant)
    said = shortened("\n\n".join(each), limit)
    return Message("user", f"{said}{schemas}\n\n{format.instructions(tools)}")


def _schema(shape: ToolShape, limit: int) -> str:
    text = json.dumps(dict(shape.parameters), ensure_ascii=False, default=plain)
    return f"\n\n{shape.name} takes these arguments (JSON Schema):\n{shortened(text, max(limit // 2, LEAST_RESULT))}"


def _cut(text: str, characters: int, lines: int) -> str:
    return (
        f"\n[… {characters} of {len(text)} characters, about {lines} lines, were cut here. Ask for less, or for "
        "another part, if you need them. …]\n"
    )


def _line_end(text: str, at: int) -> int:
    """The end of a line shortly before a place, if there is one; else the place."""
    found = text.rfind("\n", at - at // _NEAR, at)
    return at if found < 0 else found


def _line_start(text: str, at: int) -> int:
    found = text.find("\n", at, at + (len(text) - at) // _NEAR)
    return at if found < 0 else found + 1


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
