"""Results of calls in a conversation that has no role of their own for them: told in the user's name, and never to be
taken for the user's words."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .formats import Fed, Format, Message

FRAME: Final = ('<tool_response name="{name}">\n', "\n</tool_response>")
"""Around a result that the format itself leaves to the role of its message."""
_ODD: Final = re.compile(r"[^\w.:/-]")
_PROBE: Final = "PROBE"
_ENDS: Final = re.compile(r"<[^<>]+>|\[[^\[\]]+\]|```")


def framed(results: Sequence[Fed], format: Format) -> tuple[Message, ...]:
    """As the format tells them, each between marks, out of which nothing that it says leads."""
    return format.results([replace(fed, text=_inside(fed, format)) for fed in results])


def _inside(fed: Fed, format: Format) -> str:
    behind = _behind(fed, format)
    if behind.strip():
        return _blunted(fed.text, _ENDS.findall(behind))
    before, end = FRAME
    return before.format(name=_ODD.sub("_", fed.name)) + _blunted(fed.text, (end.strip(),)) + end


def _behind(fed: Fed, format: Format) -> str:
    told = "\n".join(message.text for message in format.results([replace(fed, text=_PROBE)]))
    return told.rpartition(_PROBE)[2]


def _blunted(text: str, ends: Sequence[str]) -> str:
    """A mark that would end the result stands in it as what it is: letters, with a space among them."""
    for end in ends:
        text = re.sub(
            re.escape(end), lambda found: f"{found.group()[0]} {found.group()[1:]}", text, flags=re.IGNORECASE
        )
    return text
