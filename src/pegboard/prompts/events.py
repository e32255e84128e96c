"""What a scanner tells of a model's output, piece by piece, so that not one character is lost.

Joined in order, `Text.text`, `Thinking.text`, `Markup.raw`, `Broken.raw` and the `raw` of each call that is done are
the model's output. `Arguments` previews what the call will hold and counts for nothing there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pegboard.core.folded import Json


@dataclass(frozen=True, slots=True)
class Called:
    """One complete call, as the model made it."""

    name: str
    arguments: Mapping[str, Json]
    raw: str = ""
    """All that it was written in, markers included. Of several calls in one piece of text the first has all of it."""
    written: str = ""
    """The arguments as the model wrote them: what its `Arguments` add up to, unless something was repaired."""
    repairs: tuple[str, ...] = ()
    """What had to be bent to read it, in words; empty where it was right as it stood."""
    recovered: bool = False
    """Its end, or the end of the thinking it stood in, never came: it runs only where the settings say so."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    text: str


@dataclass(frozen=True, slots=True)
class Markup:
    """Tags, separators and white space around calls and thinking: for nobody to read."""

    raw: str


@dataclass(frozen=True, slots=True)
class Started:
    """A call has begun, its tool is known. It may still turn out broken."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """More of the text of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Done:
    index: int
    call: Called


@dataclass(frozen=True, slots=True)
class Broken:
    """What looked like a call and is none."""

    raw: str
    why: str
    """For the model: what was wrong with it and what to write instead."""


Event: TypeAlias = Text | Thinking | Markup | Started | Arguments | Done | Broken


def joined(events: Iterable[Event]) -> list[Event]:
    """The same events without the seams that chunks leave: equal for equal texts, however they were cut."""
    out: list[Event] = []
    parts: list[str] = []
    for event in events:
        last = out[-1] if out else None
        match last, event:
            case (Text(), Text(more)) | (Thinking(), Thinking(more)) | (Markup(), Markup(more)):
                parts.append(more)
            case Arguments(index), Arguments(same, more) if index == same:
                parts.append(more)
            case _:
                _close(out, parts)
                out.append(event)
                parts = [_said(event)]
    _close(out, parts)
    return out


def accounted(events: Iterable[Event]) -> str:
    """Every character that the events account for: the model's output, if nothing was lost."""
    kept: list[str] = []
    for event in events:
        match event:
            case Text(said) | Thinking(said) | Markup(said) | Broken(said):
                kept.append(said)
            case Done(call=call):
                kept.append(call.raw)
            case _:
                pass
    return "".join(kept)


def _said(event: Event) -> str:
    match event:
        case Text(said) | Thinking(said) | Markup(said) | Arguments(text=said):
            return said
        case _:
            return ""


def _close(out: list[Event], parts: list[str]) -> None:
    if len(parts) < 2:
        return
    said = "".join(parts)
    match out[-1]:
        case Text():
            out[-1] = Text(said)
        case Thinking():
            out[-1] = Thinking(said)
        case Markup():
            out[-1] = Markup(said)
        case Arguments(index):
            out[-1] = Arguments(index, said)
