"""What a scanner tells of a model's output, piece by piece, so that not one character is lost.

Joined in order, `Text.text`, `Thinking.text`, `Markup.raw`, `Broken.raw` and the `raw` of each call that is done are
the model's output. `Arguments` previews what the call will hold and counts for nothing there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pegboard.core.folded import Json


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """One complete call, as the model made it."""

    name: str
    arguments: Mapping[str, Json]
    raw: str = ""
    """All that it was written in, markers included. Of several calls in one piece of text the first has all of it."""
    written_arguments: str = ""
    """The arguments as the model wrote them: what its `Arguments` add up to, unless something was repaired."""
    repairs: tuple[str, ...] = ()
    """What had to be bent to read it, in words; empty where it was right as it stood."""
    recovered: bool = False
    """Its end, or the end of the thinking it stood in, never came: it runs only where the settings say so."""


@dataclass(frozen=True, slots=True)
class TextEvent:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingEvent:
    text: str


@dataclass(frozen=True, slots=True)
class Markup:
    """Tags, separators and white space around calls and thinking: for nobody to read."""

    raw: str


@dataclass(frozen=True, slots=True)
class CallStartedEvent:
    """A call has begun, its tool is known. It may still turn out broken."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """More of the text of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallDoneEvent:
    index: int
    call: ParsedCall


@dataclass(frozen=True, slots=True)
class BrokenCallEvent:
    """What looked like a call and is none."""

    raw: str
    why: str
    """For the model: what was wrong with it and what to write instead."""


OutputEvent: TypeAlias = (
    TextEvent | ThinkingEvent | Markup | CallStartedEvent | Arguments | CallDoneEvent | BrokenCallEvent
)


def join_events(events: Iterable[OutputEvent]) -> list[OutputEvent]:
    """The same events without the seams that chunks leave: equal for equal texts, however they were cut."""
    out: list[OutputEvent] = []
    parts: list[str] = []
    for event in events:
        last = out[-1] if out else None
        match last, event:
            case (TextEvent(), TextEvent(more)) | (ThinkingEvent(), ThinkingEvent(more)) | (Markup(), Markup(more)):
                parts.append(more)
            case Arguments(index), Arguments(same, more) if index == same:
                parts.append(more)
            case _:
                _flush(out, parts)
                out.append(event)
                parts = [_event_text(event)]
    _flush(out, parts)
    return out


def source_text(events: Iterable[OutputEvent]) -> str:
    """Every character that the events account for: the model's output, if nothing was lost."""
    kept: list[str] = []
    for event in events:
        match event:
            case TextEvent(said) | ThinkingEvent(said) | Markup(said) | BrokenCallEvent(said):
                kept.append(said)
            case CallDoneEvent(call=call):
                kept.append(call.raw)
            case _:
                pass
    return "".join(kept)


def _event_text(event: OutputEvent) -> str:
    match event:
        case TextEvent(said) | ThinkingEvent(said) | Markup(said) | Arguments(text=said):
            return said
        case _:
            return ""


def _flush(out: list[OutputEvent], parts: list[str]) -> None:
    if len(parts) < 2:
        return
    said = "".join(parts)
    match out[-1]:
        case TextEvent():
            out[-1] = TextEvent(said)
        case ThinkingEvent():
            out[-1] = ThinkingEvent(said)
        case Markup():
            out[-1] = Markup(said)
        case Arguments(index):
            out[-1] = Arguments(index, said)
