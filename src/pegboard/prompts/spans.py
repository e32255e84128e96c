"""A model's answer in pieces that lie one behind the other: which characters are text, thinking, a call, or broken."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .events import (
    BrokenCallEvent,
    CallDoneEvent,
    Markup,
    OutputEvent,
    ParsedCall,
    TextEvent,
    ThinkingEvent,
    join_events,
)
from .formats import Format
from .shapes import ToolShape


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
