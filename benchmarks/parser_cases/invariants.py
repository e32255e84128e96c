"""What must hold for every text, whatever is in it: no character lost, no chunking seen, no event out of turn."""

import random
from collections.abc import Iterator, Sequence

from pegboard.prompts.events import (
    Arguments,
    BrokenCallEvent,
    CallDoneEvent,
    CallStartedEvent,
    OutputEvent,
    ParsedCall,
    join_events,
    source_text,
)
from pegboard.prompts.formats import Format
from pegboard.prompts.tool_shape import ToolShape

SIZES = (1, 2, 4, 16, 64)
EVERY_PREFIX = 600
"""Characters up to which each prefix of a text is read as well."""
FENCES = ("`", "~", ">")


def chunks(text: str, chance: random.Random) -> Iterator[str]:
    most = chance.choice(SIZES)
    place = 0
    while place < len(text):
        size = chance.randint(1, most)
        yield text[place : place + size]
        place += size


def streamed(
    format: Format, parts: Iterator[str] | Sequence[str], tools: Sequence[ToolShape], thinking: bool
) -> list[OutputEvent]:
    scanner = format.scanner(tools, in_thinking=thinking)
    events = [event for part in parts for event in scanner.feed(part)]
    return events + scanner.finish()


def whole(format: Format, text: str, tools: Sequence[ToolShape], thinking: bool) -> list[OutputEvent]:
    return streamed(format, (text,), tools, thinking)


def faults(events: Sequence[OutputEvent], text: str) -> str | None:
    """What one reading got wrong by itself, or None."""
    kept = source_text(events)
    if kept != text:
        return f"the events account for {kept!r}"
    open_call: int | None = None
    told = ""
    count = 0
    for event in events:
        match event:
            case CallStartedEvent(index):
                if open_call is not None:
                    return f"call {open_call} was started and neither done nor broken"
                if index != count:
                    return f"call {count} is numbered {index}"
                open_call, told, count = index, "", count + 1
            case Arguments(index, more):
                if index != open_call:
                    return f"arguments of call {index} while {open_call} is open"
                told += more
            case CallDoneEvent(index, call):
                if index != open_call:
                    return f"call {index} is done while {open_call} is open"
                if not call.repairs and not call.recovered and told != call.written_arguments:
                    return f"arguments were told as {told!r} and written as {call.written_arguments!r}"
                open_call = None
            case BrokenCallEvent():
                open_call = None
            case _:
                pass
    return None if open_call is None else f"call {open_call} was started and neither done nor broken"


def broken_rule(
    format: Format, text: str, tools: Sequence[ToolShape], thinking: bool, chance: random.Random, *, times: int = 5
) -> str | None:
    """The first rule that a text makes a format break, whole, in random chunks and cut anywhere; None if none."""
    events = join_events(whole(format, text, tools, thinking))
    if wrong := faults(events, text):
        return wrong
    for _ in range(times):
        parts = list(chunks(text, chance))
        cut = join_events(streamed(format, parts, tools, thinking))
        if cut != events:
            return f"in chunks {parts!r} it gives {cut!r}, in one piece {events!r}"
    if len(text) < EVERY_PREFIX:
        for size in range(len(text)):
            prefix = whole(format, text[:size], tools, thinking)
            if wrong := faults(prefix, text[:size]) or cut_call(format, prefix, events):
                return f"cut after {size} characters: {wrong}"
    return None


def cut_call(format: Format, prefix: Sequence[OutputEvent], events: Sequence[OutputEvent]) -> str | None:
    """A call that is made of a text that was cut, and is not made of the whole. Native text is all calls or none, so
    more of it may take a call back; so may what follows a fence that was the very end of a block of code, and the rest
    of a string behind what seemed to be the end of a call in Python."""
    last = source_text(prefix).rstrip()[-1:]
    if (
        format.name == "native"
        or (format.name == "codemode" and last in FENCES)
        or (format.name.startswith("pythonic") and last in (")", "]"))
    ):
        return None
    made, all_made = ([(call.name, call.arguments) for call in _sure(told)] for told in (prefix, events))
    return None if made == all_made[: len(made)] else f"it calls {made[-1]!r}, the whole {all_made!r}"


def _sure(events: Sequence[OutputEvent]) -> list[ParsedCall]:
    return [event.call for event in events if isinstance(event, CallDoneEvent) and not event.call.recovered]
