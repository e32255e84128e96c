"""What a scanner tells of a model's output, piece by piece, so that not one character is lost.

Joined in order, `TextEvent.text`, `ThinkingEvent.text`, `Markup.raw`, `BrokenCallEvent.raw` and the `raw` of each
call that is done are the model's output. `Arguments` previews what the call will hold and counts for nothing there.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

from pegboard.core.json.values import Json


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


# Markers in running text: where the first one stands, and how much of one that may be cut must be held back.

Matcher: TypeAlias = Callable[[str, int], re.Match[str]]


def matcher(pattern: str) -> Matcher:
    """A pattern that matches at every place, if only nothing: whoever asks need not ask whether it did."""
    return cast(Matcher, re.compile(pattern).match)


def is_cut_off(word: str, text: str, place: int, end: int) -> bool:
    """Whether the text ends inside of what may become the word. Looks at no more of it than the word is long."""
    return end - place < len(word) and word.startswith(text[place:end])


class MarkerSet:
    """A set of literal markers. Building one costs more than reading a small call, so take them from `marks`."""

    def __init__(self, words: tuple[str, ...]) -> None:
        kept = sorted({word for word in words if word}, key=lambda word: (-len(word), word))
        self.words = tuple(kept)
        # A pattern that matches nothing stands for the empty set.
        pattern = re.compile("|".join(map(re.escape, kept)) or r"(?!)")
        self.search, self._match_whole = pattern.search, pattern.match
        self.prefixes = frozenset(word[:size] for word in kept for size in range(1, len(word)))
        self.first_characters = "".join(sorted({word[0] for word in kept}))
        self.max_length = max(map(len, kept), default=0)
        self.open_ended = frozenset(word for word in kept if word in self.prefixes)
        """Markers with which a longer one begins."""
        self._search_first = re.compile("[" + re.escape(self.first_characters) + "]" if kept else r"(?!)").search

    def safe_end(self, text: str, start: int, end: int) -> int:
        """Where a marker that the end of the text may have cut begins: `end` if there is none."""
        at = max(start, end - self.max_length + 1)
        while at < end:
            found = self._search_first(text, at)
            if found is None:
                return end
            at = found.start()
            if text[at:] in self.prefixes:
                return at
            # The rest of a whole marker is the beginning of none: of "```" nothing is held.
            whole = self._match_whole(text, at)
            at = at + 1 if whole is None else whole.end()
        return end

    def match_at(self, text: str, place: int, end: int, final: bool) -> str | None:
        """The marker at a place: "" if there is none, None if more text must come to tell."""
        if text[place : place + 1] not in self.first_characters:
            return ""
        for word in self.words:
            if text.startswith(word, place):
                return None if not final and self.may_continue(word, text, place, end) else word
        if not final and end - place < self.max_length and text[place:] in self.prefixes:
            return None
        return ""

    def may_continue(self, word: str, text: str, place: int, end: int) -> bool:
        """Whether the marker found there may yet become a longer one."""
        return word in self.open_ended and end - place < self.max_length and text[place:] in self.prefixes


marker_set = lru_cache(maxsize=512)(MarkerSet)
