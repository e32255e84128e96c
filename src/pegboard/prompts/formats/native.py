"""Native: the model server takes tools and gives calls apart from the text. Some leave calls in the text all the same;
those are read only if the whole text is calls, and of known tools."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.prompts.events import Broken, Called, Done, Event, Markup, Text, Thinking, accounted
from pegboard.prompts.scanner import Scanner
from pegboard.prompts.shapes import ToolShape

from .anything import FORMAT as ANYTHING
from .format import Fed, Message


class NativeScanner:
    """Text flows as it comes unless it begins like a call; then it waits until it is known to be nothing else."""

    def __init__(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> None:
        self._tools = tools
        self._inner: Scanner = ANYTHING.scanner(tools, in_thinking=in_thinking)
        self._waiting: list[Event] = []
        self._plain = not tools
        """Whether the rest is text and thinking alone."""

    def feed(self, text: str) -> list[Event]:
        return self._sorted(self._inner.feed(text))

    def finish(self) -> list[Event]:
        out = self._sorted(self._inner.finish())
        waiting, self._waiting = self._waiting, []
        return out + (waiting if _only_calls(waiting, self._inner) else _as_text(waiting))

    def _sorted(self, events: Sequence[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if self._plain:
                out += _as_text([event])
            elif self._waiting:
                self._waiting.append(event)
                if isinstance(event, Broken) or (isinstance(event, Text) and event.text.strip()):
                    out += _as_text(self._waiting)
                    self._waiting, self._plain = [], True
            elif isinstance(event, Thinking | Markup) or (isinstance(event, Text) and not event.text.strip()):
                out.append(event)
            elif isinstance(event, Text | Broken):
                self._plain = True
                out += _as_text([event])
            else:
                self._waiting.append(event)
        return out


def _only_calls(events: Sequence[Event], scanner: Scanner) -> bool:
    calls = [event.call for event in events if isinstance(event, Done)]
    return all(call.name in scanner.names.tools for call in calls)


def _as_text(events: Sequence[Event]) -> list[Event]:
    """What was taken for calls, as the text that it is. Thinking and its markers stay what they are."""
    out: list[Event] = []
    for event in events:
        if isinstance(event, Thinking) or (isinstance(event, Markup) and event.raw in _THINKING):
            out.append(event)
        elif said := accounted([event]):
            out.append(Text(said))
    return out


_THINKING: Final = frozenset(marker for pair in ANYTHING.thinking for marker in pair)


@dataclass(frozen=True)
class Native:
    name: str = "native"
    aliases: tuple[str, ...] = ()

    @property
    def thinking(self) -> tuple[tuple[str, str], ...]:
        return ANYTHING.thinking

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        """None: the server's own template tells them."""
        return ""

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        """None: they go into the request beside the messages."""
        return ""

    def calls_text(self, calls: Sequence[Called]) -> str:
        """As `tool_calls` of a message has them, as JSON."""
        told = [
            {"type": "function", "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))}}
            for call in calls
        ]
        return json.dumps({"tool_calls": told}, ensure_ascii=False) if told else ""

    def results(self, results: Sequence[Fed]) -> tuple[Message, ...]:
        return tuple(Message("tool", fed.text) for fed in results)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> NativeScanner:
        return NativeScanner(tools, in_thinking=in_thinking)


FORMAT: Final = Native()
