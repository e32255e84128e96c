"""Native tool calling: the model server takes tools and returns calls apart from the text. Calls that a server leaves
in the text are read only if the whole text is calls of known tools.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.prompts.events import (
    BrokenCallEvent,
    CallDoneEvent,
    Markup,
    OutputEvent,
    ParsedCall,
    TextEvent,
    ThinkingEvent,
    source_text,
)
from pegboard.prompts.formats.base import FormatMessage, FormattedResult
from pegboard.prompts.formats.json_formats import FORMATS as JSON_FORMATS
from pegboard.prompts.scanner import Scanner
from pegboard.prompts.tool_shape import ToolShape

ANYTHING: Final = JSON_FORMATS["pipeline_default"]


class NativeScanner:
    """Text flows as it comes unless it begins like a call; then it waits until it is known to be nothing else."""

    def __init__(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> None:
        self._tools = tools
        self._inner: Scanner = ANYTHING.scanner(tools, in_thinking=in_thinking)
        self._waiting_events: list[OutputEvent] = []
        self._is_plain_text = not tools
        """Whether the rest is text and thinking alone."""

    def feed(self, text: str) -> list[OutputEvent]:
        return self._route_events(self._inner.feed(text))

    def finish(self) -> list[OutputEvent]:
        out = self._route_events(self._inner.finish())
        waiting, self._waiting_events = self._waiting_events, []
        return out + (waiting if _only_calls(waiting, self._inner) else _as_text(waiting))

    def _route_events(self, events: Sequence[OutputEvent]) -> list[OutputEvent]:
        out: list[OutputEvent] = []
        for event in events:
            if self._is_plain_text:
                out += _as_text([event])
            elif self._waiting_events:
                self._waiting_events.append(event)
                if isinstance(event, BrokenCallEvent) or (isinstance(event, TextEvent) and event.text.strip()):
                    out += _as_text(self._waiting_events)
                    self._waiting_events, self._is_plain_text = [], True
            elif isinstance(event, ThinkingEvent | Markup) or (isinstance(event, TextEvent) and not event.text.strip()):
                out.append(event)
            elif isinstance(event, TextEvent | BrokenCallEvent):
                self._is_plain_text = True
                out += _as_text([event])
            else:
                self._waiting_events.append(event)
        return out


def _only_calls(events: Sequence[OutputEvent], scanner: Scanner) -> bool:
    calls = [event.call for event in events if isinstance(event, CallDoneEvent)]
    return all(call.name in scanner.names.tools for call in calls)


def _as_text(events: Sequence[OutputEvent]) -> list[OutputEvent]:
    """What was taken for calls, as the text that it is. Thinking and its markers stay what they are."""
    out: list[OutputEvent] = []
    for event in events:
        if isinstance(event, ThinkingEvent) or (isinstance(event, Markup) and event.raw in _THINKING_MARKERS):
            out.append(event)
        elif said := source_text([event]):
            out.append(TextEvent(said))
    return out


_THINKING_MARKERS: Final = frozenset(marker for pair in ANYTHING.thinking_markers for marker in pair)


@dataclass(frozen=True)
class NativeFormat:
    name: str = "native"

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        return ANYTHING.thinking_markers

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        """None: the server's own template tells them."""
        return ""

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        """None: they go into the request beside the messages."""
        return ""

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        """As `tool_calls` of a message has them, as JSON."""
        told = [
            {"type": "function", "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))}}
            for call in calls
        ]
        return json.dumps({"tool_calls": told}, ensure_ascii=False) if told else ""

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        return tuple(FormatMessage("tool", fed.text) for fed in results)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> NativeScanner:
        return NativeScanner(tools, in_thinking=in_thinking)


FORMAT: Final = NativeFormat()
