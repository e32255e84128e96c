"""A model's answer in pieces that lie one behind the other: which characters are text, thinking, a call, or broken."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .events import Broken, Called, Done, Event, Markup, Text, Thinking, joined
from .formats import Format
from .shapes import ToolShape


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` up to but without `end`, in characters."""

    kind: str
    """`text`, `thinking`, `markup`, `call` or `broken`."""
    start: int
    end: int
    call: Called | None = None
    why: str = ""
    """Of what is broken: what was wrong with it, in words for the model."""


def spans(format: Format, text: str, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> tuple[Span, ...]:
    """The whole text, in order. Several calls in one piece of text have that piece in common."""
    scanner = format.scanner(tools, in_thinking=in_thinking)
    return tuple(_spans(joined([*scanner.feed(text), *scanner.finish()])))


def _spans(events: Iterable[Event]) -> Iterable[Span]:
    at, began = 0, 0
    for event in events:
        match event:
            case Done(_, call):
                # The next of several in one piece has nothing of its own, and neither has one that stood in thinking.
                began = at if call.raw else began
                at += len(call.raw)
                yield Span("call", began, at, call)
                continue
            case Text(said):
                yield Span("text", at, at := at + len(said))
            case Thinking(said):
                yield Span("thinking", at, at := at + len(said))
            case Markup(said):
                yield Span("markup", at, at := at + len(said))
            case Broken(said, why):
                yield Span("broken", at, at := at + len(said), why=why)
            case _:
                continue
        began = at
